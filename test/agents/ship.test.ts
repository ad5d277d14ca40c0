import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentWorld, isHere } from '../helpers/agents.js';
import type { Rule } from '../helpers/llm-server.mjs';
import { createRig, prepareDemo, type Rig } from '../helpers/rig.js';
import { found } from '../helpers/sandboxes.js';

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signal } from '../src/signal.js';
test('an equal value is not a change', () => {
  const place = signal({ x: 0 }, { equals: (a, b) => a.x === b.x });
  const told = [];
  place.subscribe((value) => told.push(value));
  place.set({ x: 0 });
  assert.deepEqual(told, []);
});
`;

const done = (...summary: string[]) => ({ status: 'done', summary });
const structured = (value: unknown) => ({ tool: { name: 'StructuredOutput', input: value } });

const verdict = (word: 'APPROVED' | 'REJECTED', blockers: readonly unknown[]) => ({
  json: {
    ...done(`${word} by a model that is a script`),
    verdict: {
      verdict: word,
      nonce: '{{^nonce: (\\S+)$}}',
      blockers,
      pillars: Object.fromEntries(
        ['correctness', 'tests', 'security', 'performance', 'api-compatibility', 'simplicity'].map(
          (pillar) => [pillar, 'none'],
        ),
      ),
      dismissed: [],
      deadEnds: [],
      pages: { $each: '^page: (\\S+) ' },
    },
  },
});

const role = (makes: string, round: number, steps: Rule['steps']): Rule => ({
  match: `\\nround: ${round}\\nmakes: ${makes}\\n`,
  steps,
});

const WRONG = `sed -i 's/export function signal(initial)/export function signal(initial, { equals = Object.is } = {})/; s/if (Object.is(value, next)) return;/if (equals(initial, next)) return;/' src/signal.js`;

/** What the models say: a plan, a failing test, a fix with a defect, a rejection, the fix of that, an approval, a scar. */
const RULES: readonly Rule[] = [
  role('plan', 1, [
    { shell: 'git log --oneline | head -3; cat src/signal.js' },
    {
      write: {
        path: '{{^out: (.+)$}}/plan.md',
        content:
          '---\npaths: [src/signal.js, "test/**"]\nfiles: 2\nlines: 30\n---\n# Plan\n\nAsk `equals` in `set`.\n',
      },
    },
    structured(done('planned: src/signal.js and one test')),
  ]),
  role('diff', 1, [
    { write: { path: '{{^tree: (.+)$}}/test/signal-equals.test.js', content: TEST } },
    { shell: 'node --test test/signal-equals.test.js > /dev/null 2>&1; echo "exit $?"' },
    { shell: `${WRONG} && node --test; echo "exit $?"`, usage: { input: 300, output: 40, cacheRead: 1_000 } },
    structured(done('test first: seen to fail, then to pass')),
  ]),
  role('diff', 2, [
    {
      shell: `sed -i 's/if (equals(initial, next)) return;/if (equals(value, next)) return;/' src/signal.js && node --test; echo "exit $?"`,
    },
    structured(done('compares with the current value')),
  ]),
  role('review', 1, [
    { shell: 'cat "{{^page: \\S+ (.+)$}}"; cp -r . "$TMPDIR/copy" 2>/dev/null; node --test; echo "exit $?"' },
    verdict('REJECTED', [
      { title: 'compares with the first value', path: 'src/signal.js', detail: 'set twice' },
    ]),
  ]),
  role('review', 2, [{ shell: 'cat "{{^page: \\S+ (.+)$}}"' }, verdict('APPROVED', [])]),
  role('notes', 1, [
    {
      write: {
        path: '{{^out: (.+)$}}/notes/equals.md',
        content: '# equals gets the current value\n\n## Wound\nx\n## Trap\ny\n## Reflex\nz\n',
      },
    },
    { write: { path: '{{^return: (.+)$}}', content: JSON.stringify(done('one scar')) } },
    { text: 'Done.' },
  ]),
];

const pipeline = (args: (name: 'codex' | 'pi') => string, sandbox: string): string => `name: real
extends: builtin
sandbox: ${sandbox}
workers:
  archaeologist: { adapter: claude, model: claude-sonnet-4-5 }
  builder: { adapter: claude, model: claude-sonnet-4-5, maxTurns: 20 }
  critic: { adapter: codex, model: gpt-5.1-codex, args: ${args('codex')} }
  scribe: { adapter: pi, model: m1, args: ${args('pi')} }
targets:
  approved-plan:
    gates: [{ approval: { policy: { paths: ["src/**", "test/**"], maxFiles: 5, maxLines: 100 } } }]
  implementation-diff:
    gates: [not-empty, blast-radius, { check: { name: tests, run: node --test, timeout: 1m } }]
`;

const ship = async (rig: Rig, sandbox: string) => {
  const world = await agentWorld(rig, ['claude', 'codex', 'pi'], RULES);
  await prepareDemo(rig);
  rig.write({ 'targets.yaml': pipeline(world.args, sandbox) });
  const ended = await rig.run(['run', '--ticket', '320'], { env: world.env });
  return { world, ended };
};

test
  .skipIf(!(['claude', 'codex', 'pi'] as const).every(isHere))
  .each(found.kind === 'bubblewrap' ? ['required', 'off'] : ['off'])(
  'claude, codex and pi ship a ticket of the sample repository with sandbox: %s',
  async (sandbox) => {
    const rig = createRig();
    const { world, ended } = await ship(rig, sandbox);
    expect(ended.code, `${ended.stdout}${ended.stderr}`).toBe(0);
    const remote = (...args: string[]) => rig.gitIn(join(rig.repo, '.git/origin.git'), ...args);
    expect(remote('show', 'main:src/signal.js')).toContain('if (equals(value, next)) return;');
    expect(remote('show', 'main:test/signal-equals.test.js')).toContain('an equal value is not a change');
    const record = rig.read('.orchestrate/320/state/30_critic_summary.md');
    expect(record.match(/^## Round \d: \w+/gm)).toEqual(['## Round 1: REJECTED', '## Round 2: APPROVED']);
    // The test failed first, and what the model was told is what really happened.
    const results = world.llm.log.flatMap(
      (entry) => (entry['lastResults'] as readonly string[] | undefined) ?? [],
    );
    expect(results.some((text) => text.includes('exit 1'))).toBe(true);
    const builders = rig
      .events()
      .filter(({ type, target }) => type === 'child.ended' && target === 'implementation-diff');
    expect(builders[0]).toMatchObject({
      usage: { cacheReadTokens: expect.any(Number), costUsd: expect.any(Number) },
    });
    // Nothing of a session is left, and nothing was written to the user's folders.
    expect(rig.has('.orchestrate/320/children/03-implementation-diff.1/agent')).toBe(false);
    expect(rig.processes()).toEqual([]);
  },
  120_000,
);
