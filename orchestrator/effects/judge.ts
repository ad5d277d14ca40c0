/**
 * What a target in `gating` waits for: its end is judged by policy, its work is sealed, then its gates are asked in
 * order. Every answer is recorded before the next question, so that a crash asks none twice.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf, digestOfValue, type Digest } from '../model/digest.js';
import type { DocumentWrite, Receipt } from '../model/event.js';
import type { Target } from '../model/pipeline.js';
import { ABSENT, outputDigest } from '../scheduler/freshness.js';
import type { ChildEnd } from '../model/child.js';
import { policyOf } from '../scheduler/policy.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { hasSuccessor } from './agent.js';
import { recordPassing } from './back-off.js';
import { askGate } from './gates.js';
import { recordEnd } from './fork.js';
import { approvedPlan } from './plan-document.js';
import { sealWork } from './seal.js';
import { refuseReview } from './verdict-gate.js';
import { MOVED, recordFailure, stateOf, type FailureFacts, type TicketRun } from './ticket-run.js';

export const judge = async (run: TicketRun, target: Target): Promise<EffectResult> => {
  const { context } = stateOf(run, target);
  const end = context.end ?? { kind: 'lost', detail: 'no end was recorded' };
  if (target.makes === 'review' && end.kind === 'contract') return refuseReview(run, target, end.problems);
  if (policyOf(end).kind !== 'succeeded') return endedBadly(run, target, end);
  if (context.status === 'blocked') return blocked(run, target);
  if (context.artifacts === undefined) {
    const sealed = await sealWork(run, target);
    if ('failure' in sealed) return recordFailure(run, target, sealed.failure);
    const rejected = rejectedBefore(run, target, sealed.receipt);
    if (rejected !== undefined) return recordFailure(run, target, rejected);
    run.recorder.record({ type: 'work.sealed', target: target.name, attempt: context.attempt, ...sealed });
  }
  const changed = changedArtifact(run, target);
  if (changed !== undefined) return recordFailure(run, target, changed);
  const gate = target.gates[stateOf(run, target).context.gate];
  if (gate !== undefined) return askGate(run, target, gate);
  return finish(run, target);
};

/**
 * Bytes that a critic rejected are not put before another one until it agrees: they must change, or a person decides. EVIDENCE V3.
 */
const rejectedBefore = (
  run: TicketRun,
  target: Target,
  receipt: Receipt | undefined,
): FailureFacts | undefined => {
  if (target.makes !== 'diff' || receipt === undefined) return undefined;
  const found = run.recorder.run.rounds.find(
    ({ outcome, receipt: of }) =>
      outcome === 'REJECTED' && of?.tree === receipt.tree && of.base === receipt.base,
  );
  if (found === undefined) return undefined;
  return {
    kind: 'evidence-refused',
    message: `these are the bytes that round ${found.round} rejected: no other critic is asked about them`,
    next: `\`orchestrate tell --ticket ${run.ticket} "…"\` the builder what to change and run again; if the critic was wrong, \`orchestrate run --ticket ${run.ticket} --rebuild ${target.name}\` begins anew`,
    canRetry: true,
    summary: (found.verdict?.blockers ?? []).map(({ title }) => `still open: ${title}`),
  };
};

/** By its policy; but a list of agents goes on with the next one, and a return that is not valid is asked for once more. */
const endedBadly = (run: TicketRun, target: Target, end: ChildEnd): EffectResult => {
  const { context } = stateOf(run, target);
  const policy = policyOf(end);
  if (end.kind === 'contract') return invalidReturn(run, target, end.problems);
  const isPassing = policy.kind === 'retry' && policy.passing === true;
  const isHandedOn = ['usage-limit', 'auth'].includes(end.kind) && hasSuccessor(run, target);
  if ((isPassing || isHandedOn) && 'message' in policy)
    return recordPassing(run, target, { end, message: policy.message });
  return recordEnd(run, target, end, context.summary ?? []);
};

const invalidReturn = (run: TicketRun, target: Target, problems: readonly string[]): EffectResult => {
  const isRepaired = (stateOf(run, target).context.invalidReturns ?? 0) > 1;
  return recordFailure(run, target, {
    kind: 'worker-failed',
    message: `what it returned is not valid: ${problems.join('; ')}`,
    next: isRepaired
      ? 'a second worker was told so and returned nothing valid either; see its log, then run again'
      : `\`orchestrate logs --ticket ${run.ticket} ${target.name}\``,
    canRetry: !isRepaired,
    repair: !isRepaired,
    summary: [
      'the work that was done is still there: look at it, finish it, and return what the contract asks for',
    ],
  });
};

/** What was sealed must still be there when a gate is asked, and when it opens. */
const changedArtifact = (run: TicketRun, target: Target): FailureFacts | undefined => {
  if (target.makes === 'files') return changedOutput(run, target);
  if (target.makes !== 'plan') return undefined;
  const sealed = stateOf(run, target).context.artifacts?.find(({ path }) => path === 'plan.md');
  const path = join(run.recorder.directory.artifacts, 'plan.md');
  if (sealed === undefined || (existsSync(path) && digestOf(readFileSync(path)) === sealed.digest))
    return undefined;
  return {
    kind: 'evidence-refused',
    message: '`artifacts/plan.md` is not the plan that was sealed',
    next: 'an approval counts for the sealed bytes only; restore the file, or run with `--rebuild` to plan again',
    canRetry: false,
  };
};

/** Files that a person or a policy approves must still be those that were shown. Other gates, such as a formatter, may change them. */
const changedOutput = (run: TicketRun, target: Target): FailureFacts | undefined => {
  if (!target.gates.some(({ kind }) => kind === 'approval')) return undefined;
  const made = stateOf(run, target).context.artifacts ?? [];
  const changed = made.find(
    ({ path, digest }) => target.outputs.includes(path) && (run.files.digest(path) ?? ABSENT) !== digest,
  );
  if (changed === undefined) return undefined;
  return {
    kind: 'evidence-refused',
    message: `\`${changed.path}\` was changed after it was made: an approval counts for the bytes that were shown`,
    next: `\`orchestrate run --ticket ${run.ticket}\` makes it again and asks again`,
    canRetry: false,
  };
};

const blocked = (run: TicketRun, target: Target): EffectResult =>
  recordFailure(run, target, {
    kind: 'worker-failed',
    message: 'the worker says that it is blocked',
    next: `read its summary (\`orchestrate status --ticket ${run.ticket}\`), then \`orchestrate tell\` it what it needs and run again`,
    canRetry: false,
    summary: stateOf(run, target).context.summary ?? [],
  });

const finish = (run: TicketRun, target: Target): EffectResult => {
  const { context } = stateOf(run, target);
  const documents: DocumentWrite[] = target.makes === 'plan' ? approvedPlan(run, target) : [];
  run.recorder.record({
    type: 'target.done',
    target: target.name,
    attempt: context.attempt,
    output: outputOf(run, target),
    summary: context.summary ?? [],
    ...(documents.length === 0 ? {} : { documents }),
  });
  return MOVED;
};

/** Digest of what the target made: the same work made again is the same output, and leaves what stands on it alone. */
const outputOf = (run: TicketRun, target: Target): Digest => {
  const { context } = stateOf(run, target);
  switch (target.makes) {
    case 'plan':
    case 'notes':
      return digestOfValue(context.artifacts ?? []);
    case 'diff':
      return digestOfValue({ base: context.receipt?.base, tree: context.receipt?.tree });
    case 'review':
      return digestOfValue({ base: context.receipt?.base, tree: context.receipt?.tree, verdict: 'APPROVED' });
    case 'files':
      return outputDigest(target, run.files, context.inputs ?? {});
  }
};
