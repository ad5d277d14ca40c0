import { expect, test } from 'vitest';
import type { ChildEnd } from '../../orchestrator/model/child.js';
import { policyOf, type Policy } from '../../orchestrator/scheduler/policy.js';

const ENDS: readonly [ChildEnd, Policy['kind'], string][] = [
  [{ kind: 'exited', code: 0 }, 'succeeded', ''],
  [{ kind: 'exited', code: 1 }, 'retry', 'exit status 1'],
  [{ kind: 'exited', code: 137 }, 'retry', 'exit status 137'],
  [{ kind: 'signalled', signal: 'SIGKILL' }, 'retry', 'ended by signal SIGKILL'],
  [{ kind: 'idle-timeout', idleMs: 600_000 }, 'retry', 'no output for 600 s, so it was ended'],
  [{ kind: 'timeout', timeoutMs: 1_500 }, 'retry', 'not finished after 1.5 s, so it was ended'],
  [{ kind: 'stopped', by: 'SIGINT' }, 'interrupted', 'stopped by SIGINT'],
  [
    { kind: 'lost', detail: 'the machine was started again' },
    'retry',
    'its end is not known: the machine was started again',
  ],
  [{ kind: 'not-started', detail: 'no such program' }, 'fail', 'could not be started: no such program'],
  [
    { kind: 'usage-limit', detail: 'weekly limit', resetAt: '2026-01-01T00:00:00.000Z' },
    'pause',
    "the provider's usage limit is reached: weekly limit",
  ],
  [
    { kind: 'usage-limit', detail: 'weekly limit' },
    'pause',
    "the provider's usage limit is reached: weekly limit",
  ],
  [{ kind: 'auth', detail: 'token expired' }, 'fail', 'not logged in: token expired'],
  [{ kind: 'overloaded', detail: '529' }, 'retry', 'the provider is overloaded: 529'],
  [{ kind: 'network', detail: 'ECONNREFUSED' }, 'retry', 'the provider cannot be reached: ECONNREFUSED'],
  [{ kind: 'max-turns', detail: '30' }, 'retry', 'it used up its turns: 30'],
  [{ kind: 'max-budget', detail: '$5' }, 'fail', 'it used up its own budget: $5'],
  [{ kind: 'permission-denied', detail: 'Bash' }, 'fail', 'it was denied what it needs: Bash'],
  [{ kind: 'refusal', detail: 'no' }, 'retry', 'the model refused: no'],
  [{ kind: 'truncated', detail: 'length' }, 'retry', 'its answer was cut off: length'],
  [{ kind: 'agent-failed', detail: 'no such model' }, 'retry', 'the agent failed: no such model'],
  [
    { kind: 'context-overflow', detail: 'too long' },
    'fail',
    "the prompt or the session is longer than the model's window: too long",
  ],
  [{ kind: 'finished' }, 'succeeded', ''],
  [{ kind: 'contract', problems: ['a', 'b'] }, 'retry', 'what it returned is not valid: a; b'],
  [{ kind: 'empty' }, 'retry', 'exit status 0, but it produced nothing'],
];

test.each(ENDS)('%j: %s', (end, kind, message) => {
  expect({ message: '', ...policyOf(end) }).toMatchObject({ kind, message });
});

test('only an exit with status 0, or a last word after which it had to be ended, is success', () => {
  expect(ENDS.filter(([end]) => policyOf(end).kind === 'succeeded').map(([end]) => end)).toEqual([
    { kind: 'exited', code: 0 },
    { kind: 'finished' },
  ]);
});

test('what trying again cannot help says what does', () => {
  const hopeless = ENDS.map(([end]) => policyOf(end)).filter((policy) => policy.kind === 'fail');
  expect(hopeless).toHaveLength(5);
  for (const { next } of hopeless) expect(next).toMatch(/run` again|run again|split the ticket/);
});

test('a limit pauses until its reset time, or until somebody tries', () => {
  expect(
    policyOf({ kind: 'usage-limit', detail: 'weekly limit', resetAt: '2026-01-01T00:00:00.000Z' }),
  ).toMatchObject({
    until: '2026-01-01T00:00:00.000Z',
  });
  expect(policyOf({ kind: 'usage-limit', detail: 'weekly limit' })).toMatchObject({ until: null });
});
