import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addUsage, UNKNOWN_USAGE, type Verdict } from '../../orchestrator/model/child.js';
import type { JournalLine, RunEvent } from '../../orchestrator/model/event.js';
import {
  applyLine,
  emptyRun,
  factOf,
  nextStates,
  recordedPipeline,
  targetState,
  type RunState,
} from '../../orchestrator/machine/run-state.js';
import { INITIAL } from '../../orchestrator/machine/target-machine.js';
import {
  abandoned,
  answered,
  decided,
  digest,
  done,
  ended,
  failed,
  invalidated,
  opened,
  paused,
  RECEIPT,
  sealed,
  started,
} from '../helpers/core.js';

const timeOf = (seq: number): string =>
  new Date(Date.parse('2025-11-30T12:00:00.000Z') + seq * 1_000).toISOString();
const lineOf = (seq: number, event: RunEvent): JournalLine => ({ v: 1, seq, at: timeOf(seq), event });

const apply = (run: RunState, ...events: readonly RunEvent[]): RunState => {
  for (const event of events) applyLine(run, lineOf(run.seq + 1, event));
  return run;
};

const replay = (...events: readonly RunEvent[]): RunState => apply(emptyRun('320'), ...events);

const plain = (run: RunState): unknown => JSON.parse(JSON.stringify({ ...run, targets: [...run.targets] }));
/** As the checkpoint writes and reads it. */
const reloaded = (run: RunState): RunState => {
  const stored = plain(run) as RunState & { readonly targets: Iterable<readonly [string, never]> };
  return { ...stored, targets: new Map(stored.targets) };
};

const VERDICT: Verdict = {
  verdict: 'REJECTED',
  nonce: '0',
  blockers: [],
  pillars: {},
  dismissed: ['d'],
  deadEnds: [],
  pages: [],
};

test('R2: a target that no event names has no entry', () => {
  const run = replay(opened(), started('a'));
  expect([...run.targets.keys()]).toEqual(['a']);
  expect(targetState(run, 'b')).toBe(INITIAL);
});

describe('R1: the state is what the lines come to', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const events: fc.Arbitrary<RunEvent> = fc.oneof(
    name.map((target) => started(target, { child: `01-${target}.1`, directives: [1] })),
    name.map((target) => ended(target)),
    name.map((target) => sealed(target, { receipt: RECEIPT })),
    name.map((target) => answered(target, { outcome: 'awaiting' })),
    name.map((target) =>
      answered(target, {
        kind: 'verdict',
        outcome: 'refused',
        documents: [{ name: '30.md', append: true, text: 'r\n' }],
      }),
    ),
    name.map((target) => decided(target)),
    name.map((target) => done(target, { facts: { base: target } })),
    fc.tuple(name, fc.boolean()).map(([target, retry]) => failed(target, { retry })),
    fc
      .tuple(name, fc.subarray(['a', 'b', 'c']))
      .map(([target, also]) => invalidated(target, { also, round: 2 })),
    name.map((target) => paused(target)),
    name.map((target) => abandoned(target)),
    fc.constantFrom<RunEvent>(
      { type: 'directive.read', id: 1, digest: digest('d'), text: 'x' },
      { type: 'run.stopped', by: 'SIGINT', left: 0 },
      { type: 'run.finished' },
    ),
  );

  const canFollow = (run: RunState, event: RunEvent): boolean => {
    try {
      nextStates(run, event, timeOf(run.seq + 1));
      return true;
    } catch {
      return false;
    }
  };

  test('a replay gives the same state, also from a checkpoint at any line', () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 60 }), fc.nat(60), (candidates, cut) => {
        const live = replay(opened());
        let resumed = emptyRun('320');
        const accepted: RunEvent[] = [opened()];
        for (const event of candidates) {
          if (!canFollow(live, event)) continue;
          accepted.push(event);
          apply(live, event);
        }
        for (const [index, event] of accepted.entries()) {
          if (index === cut) resumed = reloaded(resumed);
          apply(resumed, event);
        }
        expect(plain(replay(...accepted))).toEqual(plain(live));
        expect(plain(resumed)).toEqual(plain(live));
      }),
      { numRuns: 40 },
    );
  });

  test('asking what an event would lead to changes nothing, and an event that cannot follow is refused', () => {
    const run = replay(opened(), started('a'));
    const before = plain(run);
    expect(nextStates(run, done('a'), timeOf(3)).get('a')?.value).toBe('done');
    expect(() => nextStates(run, ended('b'), timeOf(3))).toThrow(
      'child.ended cannot follow: target `b` is pending',
    );
    expect(() => applyLine(run, lineOf(3, ended('b')))).toThrow('cannot follow');
    expect(plain(run)).toEqual(before);
  });
});

describe('target.invalidated', () => {
  test('takes along what stands between; feedback is for the target itself', () => {
    const run = replay(
      started('a'),
      done('a'),
      started('b'),
      done('b'),
      invalidated('a', { also: ['b'], round: 2, feedback: ['blocker'] }),
    );
    expect(targetState(run, 'a')).toMatchObject({
      value: 'pending',
      context: { feedback: ['blocker'], round: 2 },
    });
    expect(targetState(run, 'b')).toMatchObject({ value: 'pending', context: { feedback: [], round: 2 } });
  });

  test('leaves alone what was never made and what is abandoned', () => {
    const run = replay(started('a'), done('a'), abandoned('c'), invalidated('a', { also: ['b', 'c'] }));
    expect([...run.targets.keys()]).toEqual(['a', 'c']);
    expect(targetState(run, 'c').value).toBe('abandoned');
  });
});

test('usage adds up; what is unknown stays unknown and does not count as nothing', () => {
  const none = UNKNOWN_USAGE;
  expect(addUsage(none, none)).toEqual(none);
  expect(addUsage(none, { ...none, inputTokens: 3 })).toEqual({ ...none, inputTokens: 3 });
  expect(addUsage({ ...none, inputTokens: 3 }, none)).toEqual({ ...none, inputTokens: 3 });
  expect(
    addUsage(
      { inputTokens: 0, outputTokens: 1, costUsd: 0.5, cacheReadTokens: 7 },
      { inputTokens: 2, outputTokens: 2, costUsd: 0.25, cacheReadTokens: 1, cacheWriteTokens: 0 },
    ),
  ).toEqual({ inputTokens: 2, outputTokens: 3, costUsd: 0.75, cacheReadTokens: 8, cacheWriteTokens: 0 });
  expect(
    replay(started('a'), ended('a'), failed('a', { retry: true }), started('a', { attempt: 2 }), ended('a'))
      .usage,
  ).toMatchObject({ inputTokens: 20, outputTokens: 10, costUsd: null });
});

test('forks are children, not work in process', () => {
  expect(replay(started('a'), done('a'), started('b', { child: '01-b.1' }), done('b')).forks).toBe(1);
});

test('the last completed step is a line of the journal', () => {
  expect(replay(opened()).lastCompleted).toBeUndefined();
  expect(replay(opened(), started('a'), done('a'), started('b')).lastCompleted).toEqual({
    target: 'a',
    seq: 3,
    at: timeOf(3),
  });
});

describe('documents', () => {
  test('are created and appended as the events say', () => {
    const run = replay(
      opened('320', { documents: [{ name: '00.md', text: 'laws' }] }),
      started('a'),
      ended('a'),
      answered('a', { outcome: 'refused', documents: [{ name: '30.md', append: true, text: 'one ' }] }),
      answered('a', { outcome: 'refused', documents: [{ name: '30.md', append: true, text: 'two' }] }),
    );
    expect(run.documents).toEqual({ '00.md': 'laws', '30.md': 'one two' });
  });

  test('only what the last line wrote is fresh', () => {
    const run = replay(opened('320', { documents: [{ name: '00.md', text: 'laws' }] }));
    expect(run.freshDocuments).toEqual(['00.md']);
    expect(apply(run, started('a')).freshDocuments).toEqual([]);
  });
});

describe('review rounds', () => {
  const review = (outcome: 'passed' | 'refused', verdict?: Verdict): RunState =>
    replay(
      started('r', { child: '04-r.1', receipt: RECEIPT, round: 2 }),
      ended('r', verdict === undefined ? {} : { verdict }),
      answered('r', { kind: 'verdict', outcome, detail: ['why'] }),
    );

  test.each([
    ['APPROVED', review('passed', { ...VERDICT, verdict: 'APPROVED' })],
    ['REJECTED', review('refused', VERDICT)],
    ['REFUSED', review('refused', { ...VERDICT, verdict: 'APPROVED' })],
    ['REFUSED', review('refused')],
  ] as const)('%s is kept with its receipt, its verdict and the child', (outcome, run) => {
    expect(run.rounds).toHaveLength(1);
    expect(run.rounds[0]).toMatchObject({
      round: 2,
      outcome,
      target: 'r',
      child: '04-r.1',
      receipt: RECEIPT,
      detail: ['why'],
      at: timeOf(3),
    });
  });

  test('other gates are no rounds', () => {
    expect(replay(started('a'), ended('a'), answered('a', { kind: 'check tests' })).rounds).toEqual([]);
  });
});

describe('directives', () => {
  const read: RunEvent = { type: 'directive.read', id: 1, digest: digest('d'), text: 'x' };
  const told = started('a', { child: '01-a.1', directives: [1] });

  test('count as delivered by the attempt that carried them', () => {
    expect(replay(read).directivesDelivered).toEqual([]);
    expect(replay(read, told, ended('a'), done('a')).directivesDelivered).toEqual([1]);
  });

  test.each<[string, RunEvent]>([
    ['failed', failed('a', { retry: true })],
    ['was never forked', failed('a', { retry: true, kind: 'interrupted' })],
    ['was paused by a limit', paused('a')],
  ])('are for the next attempt when that one %s: no directive is lost', (_, event) => {
    const run = replay(read, told, event);
    expect(run.directivesDelivered).toEqual([]);
    expect(run.directivesRead).toHaveLength(1);
    expect(
      apply(run, started('a', { attempt: 2, directives: [1] }), ended('a'), done('a')).directivesDelivered,
    ).toEqual([1]);
  });

  test('of another target stay delivered', () => {
    const run = replay(read, told, ended('a'), done('a'), started('b', { child: '02-b.1' }), failed('b'));
    expect(run.directivesDelivered).toEqual([1]);
  });
});

test('facts: the latest wins, whoever found it first', () => {
  const run = replay(
    started('a'),
    done('a', { facts: { commit: '1', base: 'x' } }),
    started('b'),
    done('b', { facts: { commit: '2' } }),
  );
  expect(factOf(run, 'commit')).toBe('2');
  expect(factOf(run, 'base')).toBe('x');
  apply(run, started('a', { attempt: 2 }), done('a', { facts: { commit: '3' } }));
  expect(factOf(run, 'commit')).toBe('3');
  expect(factOf(reloaded(run), 'commit')).toBe('3');
  expect(factOf(run, 'landed')).toBeUndefined();
});

describe('the circuit breaker sees', () => {
  test('the signatures of failures in a row; success and interruption add none', () => {
    const fail = failed('a', { retry: true });
    const run = replay(started('a'), fail, started('a', { attempt: 2 }), fail);
    expect(run.failures).toEqual(['a: worker-failed: exit status 1', 'a: worker-failed: exit status 1']);
    apply(run, started('a', { attempt: 3 }), failed('a', { retry: true, kind: 'interrupted' }));
    expect(run.failures).toHaveLength(2);
    apply(run, started('a', { attempt: 4 }), done('a'));
    expect(run.failures).toEqual([]);
  });

  test('a bounded number of them', () => {
    const run = emptyRun('320');
    for (let attempt = 1; attempt <= 30; attempt += 1)
      apply(run, started('a', { attempt }), failed('a', { retry: true }));
    expect(run.failures).toHaveLength(10);
  });
});

test('a run that goes on is neither finished nor stopped', () => {
  const run = replay(
    opened(),
    started('a'),
    done('a'),
    { type: 'run.finished' },
    { type: 'run.stopped', by: 'SIGINT', left: 0 },
  );
  expect([run.finishedAt, run.stoppedBy]).toEqual([timeOf(4), 'SIGINT']);
  apply(run, started('a', { attempt: 2 }));
  expect([run.finishedAt, run.stoppedBy]).toEqual([undefined, undefined]);
});

test('the pipeline is the one of the epoch, or the one that it changed to since', () => {
  const run = replay(opened());
  expect(recordedPipeline(run)?.digest).toBe(digest('pipeline'));
  apply(run, { type: 'pipeline.changed', digest: digest('new'), sources: [] });
  expect(recordedPipeline(run)?.digest).toBe(digest('new'));
  expect(recordedPipeline(emptyRun('320'))).toBeUndefined();
});
