import { join } from 'node:path';
import type { Gate, Target } from '../model/pipeline.js';
import { childEnvironment } from '../process/child-env.js';
import { runCheck, type CheckResult } from '../process/command-check.js';
import { policyOf } from '../scheduler/policy.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { frozenFolder } from './freeze.js';
import { gateEvent, subjectDigest } from './gate-answer.js';
import { HALTED, MOVED, recordFailure, stateOf, workFolder, type TicketRun } from './ticket-run.js';

type CheckGate = Extract<Gate, { readonly kind: 'check' }>;

/** Runs a check ourselves: on a clean checkout of the sealed tree where there is one, else in the folder of the commands. */
export const runCheckGate = (run: TicketRun, target: Target, gate: CheckGate): Promise<EffectResult> =>
  run.limit(async () => {
    const { context } = stateOf(run, target);
    const cleanRoom = context.receipt === undefined ? undefined : frozenFolder(run, `${target.name}.check`);
    if (cleanRoom !== undefined && context.receipt !== undefined) {
      const workspace = await run.workspace();
      await workspace.removeCheckout(cleanRoom);
      const made = await workspace.checkout(context.receipt.tree, cleanRoom, 'write');
      if (!made.ok) return recordFailure(run, target, { ...made.failure, canRetry: true });
    }
    const result = await runCheck({
      argv: gate.argv,
      cwd: cleanRoom ?? workFolder(run),
      env: childEnvironment({
        parent: run.env,
        allow: run.pipeline.settings.env,
        set: { ORCHESTRATE_TICKET: run.ticket, ORCHESTRATE_TARGET: target.name },
      }),
      timeoutMs: gate.timeoutMs,
      signal: run.abort.signal,
      outputFile: join(
        run.recorder.directory.child(context.child ?? ''),
        `check-${gate.name}.${context.gate}.log`,
      ),
    });
    if (cleanRoom !== undefined) await (await run.workspace()).removeCheckout(cleanRoom);
    return recordCheck(run, target, gate, result);
  });

const recordCheck = (run: TicketRun, target: Target, gate: CheckGate, result: CheckResult): EffectResult => {
  const digest = subjectDigest(run, target);
  const policy = policyOf(result.end);
  // Nothing was found out: the gate is asked again when the run resumes.
  if (policy.kind === 'interrupted') return HALTED;
  const facts = {
    command: gate.argv,
    outputDigest: result.outputDigest,
    ...(result.end.kind === 'exited' ? { exitCode: result.end.code } : {}),
  };
  if (policy.kind === 'succeeded') {
    run.recorder.record({
      ...gateEvent(run, target, gate, {
        outcome: 'passed',
        digest,
        detail: [`exit status 0, output ${result.outputDigest}`],
      }),
      ...facts,
    });
    return MOVED;
  }
  const failure = {
    kind: 'check-failed' as const,
    message: `check \`${gate.name}\` failed: ${policy.message}`,
    canRetry: true,
    summary: result.tail,
  };
  run.recorder.record({
    ...gateEvent(run, target, gate, { failure, digest, detail: result.tail }),
    ...facts,
  });
  return recordFailure(run, target, failure);
};
