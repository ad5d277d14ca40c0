import type { Receipt } from '../model/event.js';
import type { Target } from '../model/pipeline.js';
import { receiptState, standingOf } from '../gates/verdict.js';
import { reviewedReceipt } from '../effects/freeze.js';
import type { FailureFacts, TicketRun } from '../effects/ticket-run.js';

/** The reviewed bytes, or why there are none that may be committed, pushed or landed. */
export type Evidence = { readonly receipt: Receipt } | { readonly failure: FailureFacts };

const refused = (message: string, next: string): Evidence => ({
  failure: { kind: 'evidence-refused', message, next, canRetry: false },
});

/** Reviews of this very diff among the targets that this one stands on. */
const reviewsOf = (run: TicketRun, target: Target, sealed: Receipt): readonly Target[] => {
  const before = new Set(target.needs);
  for (const { name, needs } of run.pipeline.targets.toReversed())
    if (before.has(name)) for (const need of needs) before.add(need);
  return run.pipeline.targets.filter(
    (other) => other.makes === 'review' && before.has(other.name) && reviewedReceipt(run, other) === sealed,
  );
};

/** A pipeline without a review commits what its checks passed. */
const isReviewed = (run: TicketRun): boolean => run.pipeline.targets.some(({ makes }) => makes === 'review');

/**
 * The receipt that commit, push and land are bound to: every review of the diff must have approved exactly what the
 * pipeline holds now, in its last round.
 */
export const boundReceipt = (run: TicketRun, target: Target): Evidence => {
  const sealed = reviewedReceipt(run, target);
  if (sealed === undefined)
    return refused('there is no sealed diff', 'a target that makes a diff must come before this one');
  if (!isReviewed(run)) return { receipt: sealed };
  const reviews = reviewsOf(run, target, sealed);
  if (reviews.length === 0)
    return refused('no review has approved this diff', 'a review of it must come before this target');
  let approved = sealed;
  for (const { name } of reviews) {
    const standing = standingOf(run.recorder.run.rounds, name, sealed);
    if (standing.kind === 'refused')
      return refused(
        standing.reason,
        `\`orchestrate run --ticket ${run.ticket} --rebuild ${name}\` has it reviewed again`,
      );
    approved = standing.receipt;
  }
  return { receipt: approved };
};

/** The same, and the tree still is what was reviewed: edits after the verdict are neither committed nor ignored. */
export const currentEvidence = async (run: TicketRun, target: Target): Promise<Evidence> => {
  const bound = boundReceipt(run, target);
  if ('failure' in bound) return bound;
  const now = await (await run.workspace()).snapshot('compare');
  const state = receiptState(bound.receipt, now.ok ? now.value.receipt : undefined);
  if (state === 'current') return bound;
  const why = now.ok ? 'the tree was changed after the review' : now.failure.message;
  return refused(
    `the receipt is ${state}: ${why}`,
    `undo the change in the tree (\`orchestrate status --ticket ${run.ticket}\` names it) and run again, or run with \`--rebuild\` to review what is there now`,
  );
};
