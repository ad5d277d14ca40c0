import { digestOfValue, type Digest } from '../model/digest.js';
import type { GateAnswered } from '../model/event.js';
import type { Gate, Target } from '../model/pipeline.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { MOVED, recordFailure, stateOf, type FailureFacts, type TicketRun } from './ticket-run.js';

/** What a gate said; a refusal says what follows from it. */
export interface GateReply {
  readonly outcome: 'passed' | 'awaiting';
  readonly digest: Digest;
  readonly detail: readonly string[];
}

/** A gate that stays shut, and the failure that this means. */
export type Refusal = {
  readonly failure: FailureFacts;
  readonly digest: Digest;
  readonly detail: readonly string[];
};

/** Records a gate's answer, and the failure that a refusal means. */
export const answer = (
  run: TicketRun,
  target: Target,
  gate: Gate,
  reply: GateReply | Refusal,
): EffectResult => {
  run.recorder.record(gateEvent(run, target, gate, reply));
  return 'failure' in reply ? recordFailure(run, target, reply.failure) : MOVED;
};

export const gateEvent = (
  run: TicketRun,
  target: Target,
  gate: Gate,
  reply: GateReply | Refusal,
): GateAnswered => {
  const { context } = stateOf(run, target);
  return {
    type: 'gate.answered',
    target: target.name,
    attempt: context.attempt,
    gate: context.gate,
    kind: gate.kind === 'check' ? `check ${gate.name}` : gate.kind,
    outcome: 'failure' in reply ? 'refused' : reply.outcome,
    digest: reply.digest,
    detail: reply.detail.slice(0, 20),
  };
};

/** What a gate of this target is asked about: the plan's bytes, the diff's, or whatever was sealed. */
export const subjectDigest = (run: TicketRun, target: Target): Digest => {
  const { artifacts, receipt } = stateOf(run, target).context;
  if (target.makes === 'plan')
    return artifacts?.find(({ path }) => path === 'plan.md')?.digest ?? digestOfValue([]);
  return receipt === undefined ? digestOfValue(artifacts ?? []) : digestOfValue(receipt);
};
