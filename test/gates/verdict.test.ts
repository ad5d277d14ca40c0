import { describe, expect, test } from 'vitest';
import type { Verdict } from '../../orchestrator/model/child.js';
import type { Receipt, ReviewRound } from '../../orchestrator/model/event.js';
import {
  judgeVerdict,
  receiptState,
  standingOf,
  type VerdictCase,
} from '../../orchestrator/gates/verdict.js';
import { digest, RECEIPT } from '../helpers/core.js';

const APPROVED: Verdict = {
  verdict: 'APPROVED',
  nonce: 'c0ffee',
  blockers: [],
  pillars: { correctness: 'none', tests: 'one is slow' },
  dismissed: [],
  deadEnds: [],
  pages: [...RECEIPT.pages],
};
const BLOCKER = { title: 'overflow', path: 'src/a.ts', detail: 'at 2^31' };

const CASE: VerdictCase = {
  verdict: APPROVED,
  nonce: 'c0ffee',
  pillars: ['correctness', 'tests'],
  reviewed: RECEIPT,
  current: RECEIPT,
};

const reasons = (more: Partial<VerdictCase>): readonly string[] => {
  const answer = judgeVerdict({ ...CASE, ...more });
  return answer.kind === 'refused' ? answer.reasons : [answer.kind];
};
const verdict = (more: Partial<Verdict>): Partial<VerdictCase> => ({ verdict: { ...APPROVED, ...more } });

describe('a receipt', () => {
  test.each<[keyof Receipt, Partial<Receipt>]>([
    ['base', { base: 'c'.repeat(40) }],
    ['tree', { tree: 'c'.repeat(40) }],
    ['records', { records: digest('other') }],
    ['diff', { diff: digest('other') }],
  ])('is stale when the %s is another', (_, more) => {
    expect(receiptState(RECEIPT, { ...RECEIPT, ...more })).toBe('stale');
  });

  test('is current for the same bytes, unbindable when it cannot be told what they are now', () => {
    expect(receiptState(RECEIPT, { ...RECEIPT })).toBe('current');
    expect(receiptState(RECEIPT, undefined)).toBe('unbindable');
  });
});

describe('a verdict', () => {
  test('APPROVED opens the gate for exactly the bytes that it is about', () => {
    expect(judgeVerdict(CASE)).toEqual({ kind: 'approved' });
  });

  test('REJECTED counts with its blockers', () => {
    const blockers = [BLOCKER, { title: 'names', detail: 'unclear' }];
    expect(judgeVerdict({ ...CASE, ...verdict({ verdict: 'REJECTED', blockers }) })).toEqual({
      kind: 'rejected',
      blockers: ['src/a.ts: overflow – at 2^31', 'names – unclear'],
    });
  });

  test.each<[string, Partial<VerdictCase>]>([
    ['no-verdict: the critic returned none', { verdict: undefined }],
    ["wrong-nonce: the verdict does not carry this round's nonce", verdict({ nonce: 'c0ffe' })],
    ["wrong-nonce: the verdict does not carry this round's nonce", verdict({ nonce: '' })],
    [
      'pages-not-read: 1 of 2 pages of the diff are not acknowledged',
      verdict({ pages: RECEIPT.pages.slice(1) }),
    ],
    ['pages-not-read: 2 of 2 pages of the diff are not acknowledged', verdict({ pages: [digest('page 3')] })],
    [
      'pillars-missing: tests (a finding or "none" is needed)',
      verdict({ pillars: { correctness: 'none', tests: ' ' } }),
    ],
    ['pillars-missing: correctness, tests (a finding or "none" is needed)', verdict({ pillars: {} })],
    ['contradiction: APPROVED with 1 blockers', verdict({ blockers: [BLOCKER] })],
    ['contradiction: REJECTED without a blocker', verdict({ verdict: 'REJECTED' })],
    [
      'stale: the reviewed bytes are not the bytes of the work now',
      { current: { ...RECEIPT, tree: 'c'.repeat(40) } },
    ],
    ['unbindable: the reviewed bytes are not the bytes of the work now', { current: undefined }],
  ])('is refused, by name: %s', (reason, more) => {
    expect(reasons(more)).toEqual([reason]);
  });

  test('everything that is wrong is told at once', () => {
    const all = reasons({
      ...verdict({ nonce: 'x', pages: [], pillars: {}, blockers: [BLOCKER] }),
      current: undefined,
    });
    expect(all.map((reason) => reason.split(':')[0])).toEqual([
      'wrong-nonce',
      'pages-not-read',
      'pillars-missing',
      'contradiction',
      'unbindable',
    ]);
  });

  test('REJECTED of other bytes is refused as well: it answers nothing about these', () => {
    expect(
      reasons({
        ...verdict({ verdict: 'REJECTED', blockers: [BLOCKER] }),
        current: { ...RECEIPT, base: 'c'.repeat(40) },
      })[0],
    ).toContain('stale');
  });

  test('more pages and more pillars than were asked for do no harm', () => {
    expect(
      judgeVerdict({
        ...CASE,
        ...verdict({ pages: [...RECEIPT.pages, digest('x')], pillars: { ...APPROVED.pillars, style: 'x' } }),
      }).kind,
    ).toBe('approved');
  });

  test('a pillar that is named like something which every object has is missing all the same', () => {
    expect(reasons({ pillars: ['constructor', 'toString'] })).toEqual([
      'pillars-missing: constructor, toString (a finding or "none" is needed)',
    ]);
  });
});

describe('a review, asked again when something leaves,', () => {
  const round = (more: Partial<ReviewRound> = {}): ReviewRound => ({
    round: 1,
    at: '2026-01-01T00:00:00.000Z',
    target: 'review',
    outcome: 'APPROVED',
    receipt: RECEIPT,
    detail: [],
    ...more,
  });
  const unbound: ReviewRound = { round: 1, at: '', target: 'review', outcome: 'APPROVED', detail: [] };
  const other = { ...RECEIPT, records: digest('other') };

  test.each<[string, readonly ReviewRound[], string]>([
    ['has said nothing', [round({ target: 'another' })], 'not-reviewed: `review` has given no verdict'],
    [
      'approved other bytes',
      [round({ receipt: other })],
      'stale: round 1 of `review` was about another diff',
    ],
    [
      'rejected other bytes',
      [round({ receipt: other, outcome: 'REJECTED' })],
      'stale: round 1 of `review` was about another diff',
    ],
    ['is of no bytes', [unbound], 'unbindable: round 1 of `review` has no receipt'],
    [
      'rejected these bytes, whatever it said before',
      [round(), round({ round: 2, outcome: 'REJECTED' })],
      'rejected: round 2 of `review` rejected exactly this diff',
    ],
    [
      'gave a verdict that does not count',
      [round({ outcome: 'REFUSED' })],
      'refused: the verdict in round 1 of `review` did not count',
    ],
  ])('%s: nothing leaves', (_name, rounds, reason) => {
    expect(standingOf(rounds, 'review', RECEIPT)).toEqual({ kind: 'refused', reason });
  });

  test('approved these bytes in its last round: they may leave', () => {
    const rounds = [
      round({ outcome: 'REJECTED', receipt: other }),
      round({ round: 2 }),
      round({ target: 'another', outcome: 'REJECTED' }),
    ];
    expect(standingOf(rounds, 'review', RECEIPT)).toEqual({ kind: 'approved', receipt: RECEIPT });
  });
});
