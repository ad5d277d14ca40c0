import type { Verdict } from '../model/child.js';
import type { Receipt, ReviewRound } from '../model/event.js';

export interface VerdictCase {
  readonly verdict: Verdict | undefined;
  /** The nonce of this round, as the parent put it into the prompt. */
  readonly nonce: string;
  readonly pillars: readonly string[];
  /** What the critic was given. */
  readonly reviewed: Receipt;
  /** What the work is now, or why it cannot be told. */
  readonly current: Receipt | undefined;
}

export type VerdictAnswer =
  | { readonly kind: 'approved' }
  | { readonly kind: 'rejected'; readonly blockers: readonly string[] }
  /** The verdict does not count; each reason is named. */
  | { readonly kind: 'refused'; readonly reasons: readonly string[] };

/** current: the verdict is about the bytes that are there now. stale: about others. unbindable: that cannot be told. */
export const receiptState = (
  reviewed: Receipt,
  current: Receipt | undefined,
): 'current' | 'stale' | 'unbindable' => {
  if (current === undefined) return 'unbindable';
  const same =
    reviewed.base === current.base &&
    reviewed.tree === current.tree &&
    reviewed.records === current.records &&
    reviewed.diff === current.diff;
  return same ? 'current' : 'stale';
};

/** What the record of a round is worth. An agent's word opens the gate only for exactly the bytes that it was given. */
export const judgeVerdict = (subject: VerdictCase): VerdictAnswer => {
  const { verdict, nonce, reviewed, current } = subject;
  if (verdict === undefined) return { kind: 'refused', reasons: ['no-verdict: the critic returned none'] };
  const reasons = [
    ...(verdict.nonce === nonce ? [] : ["wrong-nonce: the verdict does not carry this round's nonce"]),
    ...missingPages(verdict, reviewed),
    ...missingPillars(verdict, subject.pillars),
    ...contradictions(verdict),
  ];
  const binding = receiptState(reviewed, current);
  if (binding !== 'current') reasons.push(`${binding}: the reviewed bytes are not the bytes of the work now`);
  if (reasons.length > 0) return { kind: 'refused', reasons };
  if (verdict.verdict === 'APPROVED') return { kind: 'approved' };
  return {
    kind: 'rejected',
    blockers: verdict.blockers.map(
      ({ title, path, detail }) => `${path === undefined ? '' : `${path}: `}${title} – ${detail}`,
    ),
  };
};

const missingPages = (verdict: Verdict, reviewed: Receipt): string[] => {
  const read = new Set<string>(verdict.pages);
  const missing = reviewed.pages.filter((page) => !read.has(page));
  return missing.length === 0
    ? []
    : [
        `pages-not-read: ${missing.length} of ${reviewed.pages.length} pages of the diff are not acknowledged`,
      ];
};

const missingPillars = (verdict: Verdict, pillars: readonly string[]): string[] => {
  const answers = new Map(Object.entries(verdict.pillars));
  const missing = pillars.filter((pillar) => (answers.get(pillar) ?? '').trim() === '');
  return missing.length === 0
    ? []
    : [`pillars-missing: ${missing.join(', ')} (a finding or "none" is needed)`];
};

const contradictions = ({ verdict, blockers }: Verdict): string[] => {
  if (verdict === 'APPROVED' && blockers.length > 0)
    return [`contradiction: APPROVED with ${blockers.length} blockers`];
  if (verdict === 'REJECTED' && blockers.length === 0) return ['contradiction: REJECTED without a blocker'];
  return [];
};

/** What a review says about a diff now, by its last round; every record counts, REJECTED as well. */
export type Standing =
  | { readonly kind: 'approved'; readonly receipt: Receipt }
  /** With the reason, which begins with its name. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Asked again before anything is committed, pushed or landed: an approval from before a rejection, or of other bytes, opens
 * nothing.
 */
export const standingOf = (rounds: readonly ReviewRound[], review: string, sealed: Receipt): Standing => {
  const refused = (reason: string): Standing => ({ kind: 'refused', reason });
  const last = rounds.findLast(({ target }) => target === review);
  if (last === undefined) return refused(`not-reviewed: \`${review}\` has given no verdict`);
  const where = `round ${last.round} of \`${review}\``;
  if (last.receipt === undefined) return refused(`unbindable: ${where} has no receipt`);
  if (receiptState(last.receipt, sealed) !== 'current')
    return refused(`stale: ${where} was about another diff`);
  if (last.outcome === 'APPROVED') return { kind: 'approved', receipt: last.receipt };
  return refused(
    last.outcome === 'REJECTED'
      ? `rejected: ${where} rejected exactly this diff`
      : `refused: the verdict in ${where} did not count`,
  );
};
