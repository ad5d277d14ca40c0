import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../orchestrator/model/event.js';
import type { TargetEvent } from '../../orchestrator/machine/target-context.js';
import {
  advance,
  INITIAL,
  neverMade,
  type TargetState,
  type TargetValue,
} from '../../orchestrator/machine/target-machine.js';
import {
  abandoned,
  answered,
  decided,
  digest,
  done,
  ended,
  failed,
  invalidated,
  paused,
  RECEIPT,
  sealed,
  started,
} from '../helpers/core.js';

const AT = '2025-11-30T12:00:00.000Z';
type Event = Extract<RunEvent, { readonly target: string }>;

const at = (event: Event, time = AT): TargetEvent => ({ ...event, at: time });
const after = (...events: readonly Event[]): TargetState =>
  events.reduce((state, event) => advance(state, at(event)), INITIAL);
/** Without the keys that say `undefined`: what a checkpoint keeps. */
const known = (state: TargetState): unknown => JSON.parse(JSON.stringify(state));

const asked = answered('t', { outcome: 'awaiting' });

/** The shortest way to each state. */
const WAYS: Readonly<Record<TargetValue, readonly Event[]>> = {
  pending: [],
  running: [started('t')],
  gating: [started('t'), ended('t')],
  waiting: [started('t'), ended('t'), sealed('t'), asked],
  paused: [started('t'), paused('t')],
  failed: [started('t'), failed('t')],
  done: [started('t'), done('t')],
  abandoned: [abandoned('t')],
};

const EVENTS: Readonly<Record<string, Event>> = {
  'target.started': started('t', { attempt: 2 }),
  'child.ended': ended('t'),
  'work.sealed': sealed('t'),
  'gate passed': answered('t'),
  'gate refused': answered('t', { outcome: 'refused' }),
  'gate awaiting': asked,
  approved: decided('t'),
  'approved, other bytes': decided('t', { digest: digest('other') }),
  'approved by policy': decided('t', { how: 'policy', by: 'policy (…)' }),
  rejected: decided('t', { answer: 'rejected', note: 'no' }),
  'rejected, other bytes': decided('t', { answer: 'rejected', digest: digest('other') }),
  'rejected by policy': decided('t', { how: 'policy', answer: 'rejected' }),
  'target.done': done('t'),
  'failed, tried again': failed('t', { retry: true }),
  failed: failed('t'),
  'target.invalidated': invalidated('t'),
  'target.paused': paused('t'),
  'target.abandoned': abandoned('t'),
};

/** Every state and every event: where it leads; `-` is refused with an error, so that nothing is ignored by accident. */
const TABLE = `
                       pending   running   gating    waiting   paused    failed    done      abandoned
target.started         running   -         -         -         running   running   running   -
child.ended            -         gating    -         -         -         -         -         -
work.sealed            -         -         gating    -         -         -         -         -
gate passed            -         -         gating    -         -         -         -         -
gate refused           -         -         gating    -         -         -         -         -
gate awaiting          -         -         waiting   -         -         -         -         -
approved               -         -         -         gating    -         -         -         -
approved, other bytes  -         -         -         -         -         -         -         -
approved by policy     -         -         gating    gating    -         -         -         -
rejected               -         -         -         pending   -         -         -         -
rejected, other bytes  -         -         -         -         -         -         -         -
rejected by policy     -         -         -         pending   -         -         -         -
target.done            done      done      done      -         -         -         -         -
failed, tried again    -         pending   pending   -         -         -         -         -
failed                 -         failed    failed    -         -         -         -         -
target.invalidated     pending   pending   pending   pending   pending   pending   pending   -
target.paused          -         paused    paused    -         -         -         -         -
target.abandoned       abandoned abandoned abandoned abandoned abandoned abandoned -         -
`;

const valueAfter = (state: TargetState, event: Event): string => {
  try {
    return advance(state, at(event)).value;
  } catch (error) {
    expect((error as Error).message).toBe(`${event.type} cannot follow: target \`t\` is ${state.value}`);
    return '-';
  }
};

test('every event in every state goes where the table says', () => {
  const values = Object.keys(WAYS) as TargetValue[];
  const rows = Object.entries(EVENTS).map(
    ([name, event]) =>
      name.padEnd(23) + values.map((value) => valueAfter(after(...WAYS[value]), event).padEnd(10)).join(''),
  );
  const table = [' '.repeat(23) + values.map((value) => value.padEnd(10)).join(''), ...rows].map((row) =>
    row.trimEnd(),
  );
  expect(`\n${table.join('\n')}\n`).toBe(TABLE);
});

describe('a new attempt', () => {
  const first = [
    started('t', { child: '03-t.1', nonce: digest('nonce'), receipt: RECEIPT, directives: [1] }),
    ended('t', {
      status: 'done',
      verdict: {
        verdict: 'REJECTED',
        nonce: '0',
        blockers: [],
        pillars: {},
        dismissed: [],
        deadEnds: [],
        pages: [],
      },
    }),
    sealed('t', { receipt: RECEIPT }),
    answered('t', { gate: 0 }),
    answered('t', { gate: 1, outcome: 'awaiting' }),
    decided('t', { note: 'fine' }),
  ];

  test.each<[string, readonly Event[]]>([
    ['after a failure', [failed('t', { retry: true })]],
    ['out of date', [invalidated('t')]],
    ['after it was done', [done('t')]],
  ])('inherits nothing of the old seal, approval, verdict, end or child: %s', (_, between) => {
    const { context } = advance(
      after(...first, ...between),
      at(started('t', { attempt: 2 }), '2025-12-01T00:00:00.000Z'),
    );
    for (const key of [
      'artifacts',
      'receipt',
      'approval',
      'verdict',
      'status',
      'end',
      'endedAt',
      'child',
      'nonce',
      'summary',
      'usage',
      'waitingFor',
      'failure',
      'until',
      'directives',
    ] as const) {
      expect([key, context[key]]).toEqual([key, undefined]);
    }
    expect(context).toMatchObject({ attempt: 2, gate: 0, startedAt: '2025-12-01T00:00:00.000Z' });
  });

  test('keeps the last output and facts, so that the same result changes nothing downstream', () => {
    const facts = { base: 'b' };
    const state = after(started('t'), done('t', { facts }), invalidated('t'), started('t', { attempt: 2 }));
    expect(state.context).toMatchObject({ output: digest('output of t'), facts });
  });

  test('learns why the last one failed, and not that it was interrupted', () => {
    const state = after(
      started('t'),
      failed('t', { retry: true, message: 'exit status 1', summary: ['boom'] }),
      started('t', { attempt: 2 }),
      failed('t', { attempt: 2, retry: true, kind: 'interrupted', message: 'stopped by SIGINT' }),
      started('t', { attempt: 3 }),
    );
    expect(state.context.feedback).toEqual(['exit status 1', 'boom']);
  });

  test('gets at most the last 60 lines of it', () => {
    const summary = Array.from({ length: 100 }, (_, index) => `line ${index}`);
    const { feedback } = after(started('t'), failed('t', { retry: true, summary })).context;
    expect(feedback).toHaveLength(60);
    expect(feedback.at(-1)).toBe('line 99');
  });
});

describe('failures', () => {
  const fail = (attempt: number): Event[] => [
    started('t', { attempt }),
    failed('t', { attempt, retry: true }),
  ];

  test('are counted over attempts; an interruption is none', () => {
    const interrupted = failed('t', { attempt: 3, retry: true, kind: 'interrupted' });
    expect(after(...fail(1), ...fail(2), started('t', { attempt: 3 }), interrupted).context).toMatchObject({
      failures: 2,
      attempt: 3,
    });
  });

  test('begin anew after success, in a new round, and when a failed target is started again', () => {
    const failures = (...events: readonly Event[]): number => after(...events).context.failures;
    const final = failed('t', { attempt: 2 });
    expect(failures(...fail(1), started('t', { attempt: 2 }), done('t'))).toBe(0);
    expect(failures(...fail(1), invalidated('t'))).toBe(0);
    expect(failures(...fail(1), started('t', { attempt: 2 }), final)).toBe(2);
    expect(failures(...fail(1), started('t', { attempt: 2 }), final, started('t', { attempt: 3 }))).toBe(0);
  });

  test('say what, and what next; success forgets it', () => {
    const failure = { kind: 'check-failed', message: 'tests failed', next: 'mend them' };
    expect(after(started('t'), failed('t', failure)).context.failure).toEqual(failure);
    expect(
      after(started('t'), failed('t', failure), started('t', { attempt: 2 }), done('t')).context.failure,
    ).toBeUndefined();
  });
});

describe('gates', () => {
  const work = [started('t'), ended('t'), sealed('t')];

  test('are asked in order: an answer that passes moves on, a refusal does not', () => {
    expect(after(...work).context.gate).toBe(0);
    expect(after(...work, answered('t', { gate: 0 }), answered('t', { gate: 1 })).context.gate).toBe(2);
    expect(
      after(...work, answered('t', { gate: 0 }), answered('t', { gate: 1, outcome: 'refused' })).context.gate,
    ).toBe(1);
  });

  test('an approval opens the one that asked, and is kept with who, how and for which bytes', () => {
    const { context } = after(
      ...work,
      answered('t', { gate: 0 }),
      answered('t', { gate: 1, outcome: 'awaiting' }),
      decided('t', { note: 'fine' }),
    );
    expect(context.approval).toEqual({
      digest: digest('plan'),
      by: 'person ada',
      how: 'command',
      note: 'fine',
    });
    expect(context).toMatchObject({ gate: 2 });
    expect(context.waitingFor).toBeUndefined();
  });

  test('what it waits for is the question as it was recorded', () => {
    expect(after(...work, asked).context.waitingFor).toEqual(asked);
  });

  test('a rejection sends it back with the note as feedback', () => {
    const { value, context } = after(...work, asked, decided('t', { answer: 'rejected', note: 'too wide' }));
    expect(value).toBe('pending');
    expect(context.feedback).toEqual(['rejected by person ada: too wide']);
    expect(context.approval).toBeUndefined();
  });
});

describe('out of date', () => {
  test('it takes reason, feedback and round along', () => {
    const { context } = after(
      started('t'),
      done('t'),
      invalidated('t', { round: 3, because: 'REJECTED', feedback: ['a'] }),
    );
    expect(context).toMatchObject({ round: 3, reason: 'REJECTED', feedback: ['a'] });
    expect(after(started('t', { round: 3 }), done('t'), invalidated('t')).context.round).toBe(3);
  });

  test('a second one that finds fault before it is made again adds to the first: no blocker is lost', () => {
    const feedback = after(
      started('t'),
      done('t'),
      invalidated('t', { feedback: ['blocker: a', 'dead end: x'] }),
      invalidated('t', { feedback: ['blocker: b', 'dead end: x'] }),
    ).context.feedback;
    expect(feedback).toEqual(['blocker: a', 'dead end: x', 'blocker: b']);
  });
});

test('a pause without an end is over at once, one with an end says when', () => {
  expect(after(started('t'), paused('t')).context.until).toBe('2026-01-01T00:00:00.000Z');
  expect(after(started('t'), paused('t', { until: null })).context.until).toBeUndefined();
});

test('what is abandoned keeps its reason and drops what was said', () => {
  const { context } = after(started('t'), ended('t'), failed('t', { summary: ['long'] }), abandoned('t'));
  expect(context).toMatchObject({ reason: 'not wanted any more', feedback: [] });
  expect([context.summary, context.failure, context.verdict]).toEqual([undefined, undefined, undefined]);
});

test('an earlier epoch leaves nothing but the number of starts', () => {
  expect(neverMade(7, 'rebuild')).toEqual({
    value: 'pending',
    context: { ...INITIAL.context, attempt: 7, reason: 'rebuild' },
  });
});

test('random walks are pure: the same events give the same state, also from a state that was written down in between', () => {
  const steps = fc.array(fc.constantFrom(...Object.values(EVENTS)), { maxLength: 25 });
  fc.assert(
    fc.property(steps, fc.nat(25), (events, cut) => {
      let state = INITIAL;
      let other = INITIAL;
      for (const [index, event] of events.entries()) {
        if (index === cut) other = known(other) as TargetState;
        const frozen = JSON.stringify(state);
        if (valueAfter(state, event) === '-') continue;
        const next = advance(state, at(event));
        // What it was made from is as it was.
        expect(JSON.stringify(state)).toBe(frozen);
        state = next;
        other = advance(other, at(event));
      }
      expect(known(other)).toEqual(known(state));
    }),
    { numRuns: 60 },
  );
});
