import { digestOfValue, type Digest } from '../model/digest.js';
import type { DocumentWrite, Facts } from '../model/event.js';
import type { Target } from '../model/pipeline.js';
import type { Failure } from '../model/failure.js';
import type { FailureFacts, TicketRun } from '../effects/ticket-run.js';

interface Done {
  readonly ok: true;
  readonly output: Digest;
  readonly summary: readonly string[];
  readonly facts?: Facts;
  readonly documents?: readonly DocumentWrite[];
}

/** What a target made in process comes to. */
export type BuiltinResult = Done | { readonly ok: false; readonly failure: FailureFacts };

/** Must be harmless to repeat: a crash after the work and before the record does it again. */
export type BuiltinEffect = (run: TicketRun, target: Target) => Promise<BuiltinResult>;

export const doneWith = (
  value: unknown,
  summary: readonly string[],
  more: Pick<Done, 'facts' | 'documents'> = {},
): BuiltinResult => ({ ok: true, output: digestOfValue(value), summary, ...more });

export const failedWith = (failure: Failure, canRetry = false): BuiltinResult => ({
  ok: false,
  failure: { ...failure, canRetry },
});
