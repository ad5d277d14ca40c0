import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunEvent } from '../../orchestrator/model/event.js';
import { applyLine, emptyRun, nextStates, targetState } from '../../orchestrator/machine/run-state.js';
import { isNotable, track, trackerOf } from '../../orchestrator/record/tracker.js';
import { abandoned, done, ended, failed, invalidated, paused, started } from '../helpers/core.js';

const NAMES = ['a', 'b', 'c'];

test('counts that follow every event are what a count of everything gives', () => {
  const name = fc.constantFrom(...NAMES);
  const events = fc.array(
    fc.oneof(
      name.map((target): RunEvent => started(target, { child: `00-${target}.1` })),
      name.map((target): RunEvent => ended(target)),
      name.map((target): RunEvent => done(target)),
      name.map((target): RunEvent => failed(target)),
      name.map((target): RunEvent => paused(target)),
      name.map((target): RunEvent => abandoned(target)),
      fc.tuple(name, fc.subarray(NAMES)).map(([target, also]): RunEvent => invalidated(target, { also })),
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(events, (candidates) => {
      const run = emptyRun('320');
      const tracker = trackerOf(run);
      for (const event of candidates) {
        const before = new Map(NAMES.map((each) => [each, targetState(run, each).value]));
        try {
          nextStates(run, event, 'now');
        } catch {
          continue;
        }
        applyLine(run, { v: 1, seq: run.seq + 1, at: 'now', event });
        for (const each of NAMES) track(tracker, run, each, before.get(each) ?? 'pending');
        const counted = trackerOf(run);
        expect({ ...tracker, notable: new Set(tracker.notable), front: 0 }).toEqual({ ...counted, front: 0 });
        expect(tracker.done).toBe(NAMES.filter((each) => targetState(run, each).value === 'done').length);
      }
    }),
    { numRuns: 40 },
  );
});

test('the hint for the search of the next target is given up when something is no longer done', () => {
  const run = emptyRun('320');
  const tracker = trackerOf(run);
  tracker.front = 2;
  applyLine(run, { v: 1, seq: 1, at: 'now', event: started('a') });
  track(tracker, run, 'a', 'pending');
  expect(tracker.front).toBe(2);
  track(tracker, run, 'a', 'done');
  expect(tracker.front).toBe(0);
});

test('pending, done and abandoned are at rest; the others are worth a line', () => {
  const values = [
    'pending',
    'running',
    'gating',
    'waiting',
    'paused',
    'failed',
    'done',
    'abandoned',
  ] as const;
  expect(values.filter(isNotable)).toEqual(['running', 'gating', 'waiting', 'paused', 'failed']);
});
