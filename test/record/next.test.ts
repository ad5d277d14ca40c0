import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../orchestrator/model/event.js';
import { applyLine, emptyRun, type RunState } from '../../orchestrator/machine/run-state.js';
import { approveCommand, nextActionOf, summaryOf } from '../../orchestrator/record/next.js';
import { track, trackerOf } from '../../orchestrator/record/tracker.js';
import { nextActionDocument } from '../../orchestrator/state/next-action.js';
import {
  abandoned,
  answered,
  digest,
  done,
  ended,
  failed,
  invalidated,
  KEY,
  paused,
  pipelineOf,
  sealed,
  started,
  target,
} from '../helpers/core.js';

const PIPELINE = pipelineOf([target('a'), target('b', ['a']), target('c', ['b'])]);

const replay = (...events: readonly RunEvent[]): RunState => {
  const run = emptyRun('320');
  for (const event of events)
    applyLine(run, { v: 1, seq: run.seq + 1, at: '2025-11-30T12:00:00.000Z', event });
  return run;
};

const made = (name: string): RunEvent[] => [started(name), done(name)];
const waiting = (name: string): RunEvent[] => [
  started(name),
  ended(name),
  sealed(name),
  answered(name, { outcome: 'awaiting' }),
];

const summary = (...events: readonly RunEvent[]): string => {
  const run = replay(...events);
  return summaryOf(PIPELINE, run, trackerOf(run));
};

describe('what a run is', () => {
  test.each<[string, readonly RunEvent[]]>([
    ['running', []],
    ['running', [...made('a'), started('b')]],
    ['running', [...made('a'), started('b'), ended('b')]],
    ['waiting', [...made('a'), ...waiting('b')]],
    ['paused', [...made('a'), started('b'), paused('b')]],
    ['failed', [...made('a'), started('b'), failed('b')]],
    ['refused', [...made('a'), started('b'), failed('b', { kind: 'evidence-refused' })]],
    ['refused', [...made('a'), started('b'), failed('b', { kind: 'record-refused' })]],
    ['abandoned', [...made('a'), abandoned('b')]],
    ['stopped', [...made('a'), { type: 'run.stopped', by: 'SIGINT', left: 0 }]],
    ['done', [...made('a'), ...made('b'), ...made('c')]],
    ['done', [...made('a'), ...made('b'), ...made('c'), { type: 'run.stopped', by: 'SIGINT', left: 0 }]],
    ['running', [...made('a'), ...made('b'), ...made('c'), invalidated('b')]],
  ])('%s', (value, events) => {
    expect(summary(...events)).toBe(value);
  });

  test('the worst of several targets counts', () => {
    expect(summary(...waiting('a'), started('b'), failed('b'))).toBe('failed');
    expect(summary(...waiting('a'), started('b'), paused('b'))).toBe('paused');
    expect(summary(...waiting('a'), started('b'))).toBe('running');
  });

  test('a target that the pipeline no longer has counts for nothing', () => {
    const without = pipelineOf([target('a'), target('new', ['a'])]);
    const of = (...events: readonly RunEvent[]): string => {
      const run = replay(...events);
      return summaryOf(without, run, trackerOf(run));
    };
    expect(of(...made('a'), started('b'), failed('b'))).toBe('running');
    expect(of(...made('a'), ...made('b'), ...made('c'))).toBe('running');
    expect(of(...made('a'), ...made('new'), abandoned('b'))).toBe('done');
  });
});

describe('99', () => {
  const nextOf = (...events: readonly RunEvent[]) => {
    const run = replay(...events);
    return nextActionOf(PIPELINE, run, trackerOf(run));
  };

  test.each<[string, readonly RunEvent[]]>([
    ['make 0 a', []],
    ['make 1 b', made('a')],
    ['wait for child 01-b.1; its outcome is unknown', [...made('a'), started('b', { child: '01-b.1' })]],
    [`a person answers: \`${approveCommand('320', 'b', digest('plan'))}\``, [...made('a'), ...waiting('b')]],
    [
      '`orchestrate run --ticket 320` after 2026-01-01T00:00:00.000Z',
      [...made('a'), started('b'), paused('b')],
    ],
    [
      '`orchestrate run --ticket 320` after the limit is over',
      [...made('a'), started('b'), paused('b', { until: null })],
    ],
    ['`orchestrate run --ticket 320` tries `b` again', [...made('a'), started('b'), failed('b')]],
    ['mend it', [...made('a'), started('b'), failed('b', { next: 'mend it' })]],
    ['nothing: every target is up to date', [...made('a'), ...made('b'), ...made('c')]],
  ])('permits next: %s', (action, events) => {
    expect(nextOf(...events).nextAction).toBe(action);
  });

  test('has every target of a small pipeline with its mark and note', () => {
    const {
      board,
      done: count,
      total,
    } = nextOf(...made('a'), started('b'), failed('b', { message: 'exit status 1' }));
    expect(board).toEqual([
      { number: 0, name: 'a', mark: 'x', note: '' },
      { number: 1, name: 'b', mark: '!', note: 'exit status 1' },
      { number: 2, name: 'c', mark: ' ', note: '' },
    ]);
    expect([count, total]).toEqual([1, 3]);
    expect(nextOf(...waiting('a'), abandoned('b')).board.map(({ mark }) => mark)).toEqual(['>', '-', ' ']);
  });

  test('the last completed step is a recorded one, named with its journal line', () => {
    expect(nextOf().lastCompleted).toBe('none');
    expect(nextOf(...made('a'), started('b')).lastCompleted).toBe('0 a (journal line 2)');
  });

  test('unfinished work says no more than that: the outcome is unknown', () => {
    const next = nextOf(...made('a'), started('b', { child: '01-b.1' }));
    expect(next.state).toBe('running');
    expect(next.board[1]?.note).toBe('child 01-b.1');
  });

  test('directives say whether a worker has got them', () => {
    const read = (id: number): RunEvent => ({
      type: 'directive.read',
      id,
      digest: digest('d'),
      text: `text ${id}`,
    });
    expect(nextOf(read(1), read(2), started('a', { child: '00-a.1', directives: [1] })).directives).toEqual([
      { id: 1, text: 'text 1', delivered: true },
      { id: 2, text: 'text 2', delivered: false },
    ]);
  });

  test('is pure: the same record gives the same bytes', () => {
    const events = [...made('a'), ...waiting('b')];
    expect(nextActionDocument(nextOf(...events), KEY)).toBe(nextActionDocument(nextOf(...events), KEY));
  });
});

test('writing 99 after each of 2,000 targets looks at each of them a few times, not at all of them each time', () => {
  const size = 2_000;
  const plain = Array.from({ length: size }, (_, index) => target(`t-${index}`));
  let looks = 0;
  const targets = new Proxy(plain, {
    get: (of, key, receiver): unknown => {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks += 1;
      return Reflect.get(of, key, receiver);
    },
  });
  const pipeline = { ...pipelineOf([]), targets };
  const run = emptyRun('320');
  const tracker = trackerOf(run);
  for (const { name } of plain) {
    applyLine(run, { v: 1, seq: run.seq + 1, at: 'now', event: done(name) });
    track(tracker, run, name, 'pending');
    nextActionOf(pipeline, run, tracker);
  }
  expect(summaryOf(pipeline, run, tracker)).toBe('done');
  expect(looks).toBeLessThan(10 * size);
});
