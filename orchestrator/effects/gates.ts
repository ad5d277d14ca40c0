import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Gate, Target } from '../model/pipeline.js';
import { policyName, policyObjections, type PolicyCase } from '../gates/approval.js';
import { outsideOf } from '../gates/paths.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { approvalText } from './approval-text.js';
import { runCheckGate } from './check-gate.js';
import { answer, subjectDigest, type GateReply, type Refusal } from './gate-answer.js';
import { approvingPolicy, sealedPlan } from './plan-document.js';
import {
  HALTED,
  MOVED,
  recordFailure,
  stateOf,
  type AskApproval,
  type FailureFacts,
  type TicketRun,
} from './ticket-run.js';
import { judgeReview } from './verdict-gate.js';

/** Asks one gate and records its answer. */
export const askGate = async (run: TicketRun, target: Target, gate: Gate): Promise<EffectResult> => {
  switch (gate.kind) {
    case 'not-empty':
      return answer(run, target, gate, notEmpty(run, target));
    case 'blast-radius':
      return answer(run, target, gate, await blastRadius(run, target));
    case 'check':
      return runCheckGate(run, target, gate);
    case 'approval':
      return approval(run, target, gate);
    case 'verdict':
      return judgeReview(run, target);
  }
};

const notEmpty = (run: TicketRun, target: Target): GateReply | Refusal => {
  const { receipt, status } = stateOf(run, target).context;
  const digest = subjectDigest(run, target);
  const files = receipt?.files ?? 0;
  if (files > 0) return { outcome: 'passed', digest, detail: [`${files} files differ from the base`] };
  if (status === 'no-change')
    return { outcome: 'passed', digest, detail: ['nothing differs, and the worker said `no-change`'] };
  const message = 'the diff is empty, but the worker did not say `no-change`';
  return { failure: { kind: 'worker-failed', message, canRetry: true }, digest, detail: [message] };
};

const blastRadius = async (run: TicketRun, target: Target): Promise<GateReply | Refusal> => {
  const digest = subjectDigest(run, target);
  const plan = sealedPlan(run);
  const changed = await sealedChange(run, target);
  if (plan === undefined || typeof changed === 'string') {
    const message =
      typeof changed === 'string' ? changed : 'there is no approved plan to hold the diff against';
    return { failure: { kind: 'evidence-refused', message, canRetry: false }, digest, detail: [message] };
  }
  const { paths } = changed;
  const policy = approvingPolicy(run);
  const outside = outsideOf(paths, plan.promise.paths);
  const objections = policy === undefined ? [] : policyObjections(policy, { kind: 'diff', ...changed });
  if (outside.length === 0 && objections.length === 0) {
    return {
      outcome: 'passed',
      digest,
      detail: [`${paths.length} paths are inside ${plan.promise.paths.join(', ')}`],
    };
  }
  const detail = [...outside.map((path) => `outside the blast radius: ${path}`), ...objections];
  return {
    failure: {
      kind: 'evidence-refused',
      message: `the diff leaves what was approved: ${detail.slice(0, 10).join('; ')}`,
      next: `have it undone (\`orchestrate tell --ticket ${run.ticket} "…"\`, then run again), or have a wider plan made and approved: \`orchestrate run --ticket ${run.ticket} --rebuild ${planTarget(run)}\``,
      canRetry: false,
    },
    digest,
    detail,
  };
};

const planTarget = (run: TicketRun): string =>
  run.pipeline.targets.find(({ makes }) => makes === 'plan')?.name ?? 'TARGET';

const approval = async (
  run: TicketRun,
  target: Target,
  gate: Extract<Gate, { readonly kind: 'approval' }>,
): Promise<EffectResult> => {
  const digest = subjectDigest(run, target);
  const objections = gate.by === 'policy' ? policyObjections(gate.policy, await policyCase(run, target)) : [];
  const detail =
    gate.by === 'policy' ? objections.map((objection) => `the policy does not approve: ${objection}`) : [];
  const planProblem = unreadablePlan(run, target);
  if (planProblem !== undefined) return recordFailure(run, target, planProblem);
  if (gate.by === 'policy' && objections.length === 0) {
    run.recorder.record({
      type: 'approval.answered',
      target: target.name,
      digest,
      answer: 'approved',
      by: policyName(gate.policy),
      how: 'policy',
      from: 'the pipeline',
    });
    return MOVED;
  }
  return answer(run, target, gate, { outcome: 'awaiting', digest, detail });
};

/** A plan that promises nothing is not put before a person. */
const unreadablePlan = (run: TicketRun, target: Target): FailureFacts | undefined =>
  target.makes === 'plan' && sealedPlan(run) === undefined
    ? {
        kind: 'worker-failed',
        message: 'plan.md has no front matter with `paths:` (the blast radius) followed by a plan',
        canRetry: true,
      }
    : undefined;

const policyCase = async (run: TicketRun, target: Target): Promise<PolicyCase> => {
  if (target.makes === 'plan') {
    return { kind: 'plan', plan: sealedPlan(run)?.promise ?? { paths: ['/'], body: '' } };
  }
  const changed = await sealedChange(run, target);
  return typeof changed === 'string'
    ? { kind: 'diff', paths: [changed], files: 0, lines: 0 }
    : { kind: 'diff', ...changed };
};

interface Change {
  readonly paths: readonly string[];
  readonly files: number;
  readonly lines: number;
}

/** What the sealed bytes change, or why that cannot be told. The working tree is not asked: it may be another by now. */
const sealedChange = async (run: TicketRun, target: Target): Promise<Change | string> => {
  const { receipt } = stateOf(run, target).context;
  if (receipt === undefined) return 'no diff was sealed';
  const paths = await (await run.workspace()).changedPaths(receipt);
  if (!paths.ok) return paths.failure.message;
  return { paths: paths.value, files: receipt.files, lines: receipt.addedLines + receipt.removedLines };
};

const hasExposedWorker = (run: TicketRun): boolean =>
  [...run.recorder.run.targets.values()].some(
    ({ value, context }) => value === 'running' && context.containment?.tier === 'same-user',
  );

/** While a worker is alive that can reach what the user can, nobody is asked: the answer could be its own. */
const whileExposed = async (run: TicketRun): Promise<void> => {
  while (hasExposedWorker(run) && run.children.size > 0) {
    await Promise.race([...run.children].map((child) => child.wait()));
    await nextTurn();
  }
};

/** What `waiting` waits for when a person is at the terminal. Closed without an answer, the airlock stays shut. */
export const askPerson = async (run: TicketRun, target: Target): Promise<EffectResult> => {
  const { context } = stateOf(run, target);
  const digest = context.waitingFor?.digest;
  if (run.ask === undefined || digest === undefined) return HALTED;
  let given: Awaited<ReturnType<AskApproval>>;
  do {
    await whileExposed(run);
    if (run.halt.halted()) return HALTED;
    given = await run.ask({
      target: target.name,
      digest,
      text: approvalText(run.recorder.directory, target, context),
    });
    if (given === undefined) return HALTED;
    // One that was started while the person was reading could have typed it.
  } while (hasExposedWorker(run));
  run.recorder.record({
    type: 'approval.answered',
    target: target.name,
    digest,
    answer: given.answer,
    by: `person ${run.login}`,
    how: 'tty',
    from: run.from,
    ...(given.note === '' ? {} : { note: given.note }),
  });
  return MOVED;
};
