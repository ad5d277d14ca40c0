import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf } from '../model/digest.js';
import type { DocumentWrite } from '../model/event.js';
import type { ApprovalPolicy, Target } from '../model/pipeline.js';
import { readPlan, type PlanPromise } from '../gates/plan.js';
import { planDocument } from '../state/documents.js';
import { isoTime } from '../model/clock.js';
import { stateOf, type TicketRun } from './ticket-run.js';

/**
 * The sealed plan, if there is one. The bytes on the disk must be the sealed ones: a plan that was widened after its
 * approval would widen what a diff may touch.
 */
export const sealedPlan = (
  run: TicketRun,
): { readonly text: string; readonly promise: PlanPromise } | undefined => {
  const path = join(run.recorder.directory.artifacts, 'plan.md');
  const sealed = run.pipeline.targets
    .filter(({ makes }) => makes === 'plan')
    .flatMap((target) => stateOf(run, target).context.artifacts ?? [])
    .find((artifact) => artifact.path === 'plan.md');
  if (sealed === undefined || !existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  const promise = readPlan(text);
  return 'problems' in promise || digestOf(text) !== sealed.digest ? undefined : { text, promise };
};

/** Document 20, once: after the approval, from the approved bytes. A later plan of the same epoch is held by the latch. */
export const approvedPlan = (run: TicketRun, target: Target): DocumentWrite[] => {
  const name = '20_plan_approved.md';
  const plan = sealedPlan(run);
  if (plan === undefined || run.recorder.run.documents[name] !== undefined) return [];
  const approval = stateOf(run, target).context.approval;
  const text = planDocument({
    ticket: run.ticket,
    epoch: run.recorder.run.epoch,
    plan: plan.promise.body.trim(),
    digest: digestOf(plan.text),
    paths: plan.promise.paths,
    by: approval?.by ?? 'nobody: the pipeline asks for no approval',
    how: approval?.how ?? 'none',
    at: isoTime(run.clock),
    ...(approval?.from === undefined ? {} : { from: approval.from }),
    ...(approval?.note === undefined ? {} : { note: approval.note }),
  });
  return [{ name, text }];
};

/** The policy that approved the plan, where one did: the diff is held to it as well. */
export const approvingPolicy = (run: TicketRun): ApprovalPolicy | undefined => {
  for (const target of run.pipeline.targets) {
    if (target.makes !== 'plan' || stateOf(run, target).context.approval?.how !== 'policy') continue;
    for (const gate of target.gates) {
      if (gate.kind === 'approval' && gate.by === 'policy') return gate.policy;
    }
  }
  return undefined;
};
