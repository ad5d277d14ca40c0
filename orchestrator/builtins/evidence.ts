import type { Receipt } from '../model/event.js';
import type { Target } from '../model/pipeline.js';
import { receiptState } from '../gates/verdict.js';
import { approvedReceipt } from '../effects/verdict-gate.js';
import { reviewedReceipt } from '../effects/freeze.js';
import type { FailureFacts, TicketRun } from '../effects/ticket-run.js';

/** The reviewed bytes, or why there are none that may be committed, pushed or landed. */
export type Evidence = { readonly receipt: Receipt } | { readonly failure: FailureFacts };

const refused = (message: string, next: string): Evidence => ({
  failure: { kind: 'evidence-refused', message, next, canRetry: false },
});

/** Is there a review among the targets that this one stands on? A pipeline without one commits what its checks passed. */
const isReviewed = (run: TicketRun): boolean => run.pipeline.targets.some(({ makes }) => makes === 'review');

/** The receipt that commit, push and land are bound to; it must be about the diff that the pipeline holds now. */
export const boundReceipt = (run: TicketRun, target: Target): Evidence => {
  const sealed = reviewedReceipt(run, target);
  if (sealed === undefined)
    return refused('there is no sealed diff', 'a target that makes a diff must come before this one');
  if (!isReviewed(run)) return { receipt: sealed };
  const approved = approvedReceipt(run);
  if (approved === undefined)
    return refused('no review has approved this diff', 'the review must come before this target');
  const state = receiptState(approved, sealed);
  if (state === 'current') return { receipt: approved };
  return refused(
    `the receipt of the review is ${state}: the diff is another one by now`,
    `\`orchestrate run --ticket ${run.ticket}\` reviews it again`,
  );
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
