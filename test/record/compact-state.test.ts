import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Digest } from '../../orchestrator/model/digest.js';
import type { FileStat } from '../../orchestrator/model/event.js';
import type { TargetContext } from '../../orchestrator/machine/target-context.js';
import type { TargetState } from '../../orchestrator/machine/target-machine.js';
import { compact, expand } from '../../orchestrator/record/compact-state.js';

const NAMES = ['a', 'b', 'c', 'file', 'd-1'];
const digests = fc.constantFrom<Digest>(
  ...['1', '2', '3'].map((digit): Digest => `sha256:${digit.repeat(64)}`),
);
const keys = fc.constantFrom(...NAMES, 'file:src/x.txt', 'file:gone.txt');

/** What `target.done` leaves: no failures, no feedback; everything else may be anything. */
const context = fc.record(
  {
    attempt: fc.nat(3),
    failures: fc.constant(0),
    round: fc.integer({ min: 1, max: 3 }),
    gate: fc.nat(2),
    feedback: fc.constant<readonly string[]>([]),
    summary: fc.array(fc.string(), { maxLength: 2 }),
    reason: fc.constantFrom('it was never made', 'input a changed', ''),
    inputs: fc.dictionary(keys, digests, { maxKeys: 3 }),
    output: digests,
    child: fc.string(),
    startedAt: fc.string(),
  },
  { requiredKeys: ['attempt', 'failures', 'round', 'gate', 'feedback'] },
);

const states = fc.oneof(
  context.map((of): TargetState => ({ value: 'done', context: of as TargetContext })),
  context.map((of): TargetState => ({
    value: 'failed',
    context: { ...(of as TargetContext), failures: 2, feedback: ['x'] },
  })),
);

const stat = (digest: Digest): FileStat => ({ size: 1, mtimeMs: 2, ctimeMs: 3, ino: 4, digest });

test('what is left out comes back, also through JSON', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...NAMES), states), digests, (byName, digest) => {
      const targets = new Map(Object.entries(byName));
      const stats = { 'src/x.txt': stat(digest) };
      const rows = JSON.parse(JSON.stringify(compact({ targets, stats }))) as ReturnType<typeof compact>;
      expect(expand(rows, stats)).toEqual(targets);
    }),
  );
});

test('ten finished targets take less than half of what their states say', () => {
  const targets = new Map(
    Array.from({ length: 10 }, (_, index): [string, TargetState] => [
      `t${index}`,
      {
        value: 'done',
        context: {
          attempt: 1,
          failures: 0,
          round: 1,
          gate: 0,
          feedback: [],
          summary: [],
          reason: 'it was never made',
          output: `sha256:${String(index).repeat(64)}`,
          inputs: index === 0 ? {} : { [`t${index - 1}`]: `sha256:${String(index - 1).repeat(64)}` },
        },
      },
    ]),
  );
  const whole = JSON.stringify([...targets]).length;
  expect(JSON.stringify(compact({ targets, stats: {} })).length).toBeLessThan(whole / 2);
});
