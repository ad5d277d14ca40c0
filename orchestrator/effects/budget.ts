import { tokensOf } from '../record/view.js';
import type { FailureFacts, TicketRun } from './ticket-run.js';

/** Why the ticket may not fork another agent: what its children recorded has reached the budget. */
export const overBudget = (run: TicketRun): FailureFacts | undefined => {
  const { budget } = run.pipeline.settings;
  if (budget === undefined) return undefined;
  const { usage } = run.recorder.run;
  const tokens = tokensOf(usage) ?? 0;
  const used = [
    ...over('costUsd', usage.costUsd ?? 0, budget.costUsd),
    ...over('tokens', tokens, budget.tokens),
  ];
  if (used.length === 0) return undefined;
  return {
    kind: 'budget-used-up',
    message: `the budget of this ticket is used up: ${used.join(', ')}`,
    next: `raise \`budget:\` in targets.yaml, then \`orchestrate run --ticket ${run.ticket}\` goes on where it stopped`,
    canRetry: false,
  };
};

const over = (unit: 'costUsd' | 'tokens', used: number, most: number | undefined): string[] => {
  if (most === undefined || used < most) return [];
  return [unit === 'costUsd' ? `$${used.toFixed(2)} of $${most.toFixed(2)}` : `${used} of ${most} tokens`];
};
