import { setImmediate as nextTurn } from 'node:timers/promises';
import { childMarker, type ChildEnd, type WaitStatus } from '../model/child.js';
import type { RunEvent } from '../model/event.js';
import type { Target } from '../model/pipeline.js';
import { childEnvironment } from '../process/child-env.js';
import { recordStop } from '../process/child-folder.js';
import { forkChild } from '../process/fork.js';
import { reattach } from '../process/reattach.js';
import { tailLines } from '../process/tail.js';
import { cutSummary } from '../process/summary.js';
import type { ChildHandle } from '../process/wait.js';
import { currentInputs, outputDigest } from '../scheduler/freshness.js';
import { policyOf } from '../scheduler/policy.js';
import { crossing } from '../state/crossing.js';
import { childName } from '../state/run-dir.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { HALTED, MOVED, recordFailure, stateOf, workFolder, type TicketRun } from './ticket-run.js';
import { join } from 'node:path';

/** Records that a target starts; what it returns is the child's folder name and the attempt. */
export const recordStart = (
  run: TicketRun,
  target: Target,
  more: Partial<Extract<RunEvent, { readonly type: 'target.started' }>> & { readonly forks: boolean },
): { readonly attempt: number; readonly child: string } => {
  const { context } = stateOf(run, target);
  const attempt = context.attempt + 1;
  const child = childName(target.number, target.name, attempt);
  const { forks, ...rest } = more;
  run.recorder.record({
    type: 'target.started',
    target: target.name,
    attempt,
    round: context.round,
    reason: run.reasons.get(target.name) ?? context.reason ?? 'it was never made',
    recipe: target.recipeDigest,
    inputs: currentInputs(target, run.recorder.run, run.files),
    ...(forks ? { child } : {}),
    ...rest,
  });
  return { attempt, child };
};

/**
 * Waits, and lets a signal to the orchestrator reach the child meanwhile.
 * @throws `Problem` `record-refused` when the state or the journal was changed meanwhile: then nothing of it is believed
 */
export const waitFor = async (run: TicketRun, handle: ChildHandle, folder: string): Promise<WaitStatus> => {
  run.children.add(handle);
  try {
    const status = await handle.wait();
    try {
      run.recorder.requireUntouched();
    } catch (error) {
      // The next run finds this child again, and does not believe it either.
      recordStop(folder, { kind: 'stopped', by: 'orchestrate: it changed the record' });
      throw error;
    }
    return status;
  } finally {
    run.children.delete(handle);
  }
};

/** Variables that every child gets. */
export const commonVariables = (run: TicketRun, target: Target, attempt: number): Record<string, string> => ({
  ORCHESTRATE_TICKET: run.ticket,
  ORCHESTRATE_TARGET: target.name,
  ORCHESTRATE_ATTEMPT: String(attempt),
  ORCHESTRATE_CHILD: `${childMarker(run.paths.mainRoot, run.ticket, target.name)}${attempt}.${String(process.pid)}`,
});

/** Forks a plain command: any program, judged by its exit status and its outputs. */
export const startCommand = (
  run: TicketRun,
  target: Target,
  argv: readonly string[],
): Promise<EffectResult> =>
  run.limit(async () => {
    // Signals, limits and the ends of other children are heard between two forks, which take milliseconds each.
    await nextTurn();
    if (run.halt.halted()) return HALTED;
    run.recorder.writeNextAction();
    const { attempt, child } = recordStart(run, target, { forks: true });
    crossing('fork');
    const handle = forkChild({
      ticket: run.ticket,
      target: target.name,
      number: target.number,
      generation: attempt,
      dir: run.recorder.directory.child(child),
      argv,
      cwd: workFolder(run),
      env: childEnvironment({
        parent: run.env,
        allow: run.pipeline.settings.env,
        set: commonVariables(run, target, attempt),
      }),
      limits: target.limits,
    });
    crossing('forked');
    return finishCommand(run, target, await waitFor(run, handle, run.recorder.directory.child(child)));
  });

/** A command's child that an earlier orchestrator forked: waited for again, not started again. */
export const reattachCommand = (run: TicketRun, target: Target): Promise<EffectResult> =>
  run.limit(async () => {
    const { context } = stateOf(run, target);
    const folder = run.recorder.directory.child(context.child ?? '');
    const found = reattach(folder, { limits: target.limits });
    if (found.kind === 'never-started') return neverStarted(run, target);
    return finishCommand(run, target, await waitFor(run, found.handle, folder));
  });

/** The fork was intended and did not happen: it is not an attempt that failed. */
export const neverStarted = (run: TicketRun, target: Target): EffectResult => {
  run.recorder.record({
    type: 'target.failed',
    target: target.name,
    attempt: stateOf(run, target).context.attempt,
    kind: 'interrupted',
    message: 'the orchestrator ended before the child was started',
    retry: true,
  });
  return MOVED;
};

const finishCommand = (run: TicketRun, target: Target, status: WaitStatus): EffectResult => {
  const { context } = stateOf(run, target);
  const logPath = join(run.recorder.directory.child(context.child ?? ''), 'stdout.log');
  const policy = policyOf(status.end);
  if (policy.kind !== 'succeeded') return recordEnd(run, target, status.end, logTail(logPath, status));
  const missing = target.outputs.filter((path) => run.files.digest(path) === undefined);
  if (missing.length > 0) {
    return recordFailure(run, target, {
      kind: 'worker-failed',
      message: `exit status 0, but it did not make ${missing.map((path) => `\`${path}\``).join(', ')}`,
      next: 'mend the command or its `outputs:` in targets.yaml',
      canRetry: true,
      summary: logTail(logPath, status),
    });
  }
  const summary = logTail(logPath, status);
  // A diff has to be sealed, gates have to be asked: that is `gating`'s work.
  if (target.gates.length > 0 || target.makes !== 'files') {
    run.recorder.record({
      type: 'child.ended',
      target: target.name,
      attempt: context.attempt,
      end: status.end,
      summary,
      usage: { inputTokens: null, outputTokens: null, costUsd: null },
      stdoutBytes: status.stdoutBytes,
      leftovers: status.leftovers,
    });
    return MOVED;
  }
  run.recorder.record({
    type: 'target.done',
    target: target.name,
    attempt: context.attempt,
    output: outputDigest(target, run.files, context.inputs ?? {}),
    summary,
    end: status.end,
    stdoutBytes: status.stdoutBytes,
  });
  return MOVED;
};

/** The last lines of a command's output, for people. Not read when there are none. */
const logTail = (path: string, status: WaitStatus): readonly string[] =>
  status.stdoutBytes === 0 ? [] : cutSummary(tailLines(path));

/** Records an end that is not a success, by its policy. */
export const recordEnd = (
  run: TicketRun,
  target: Target,
  end: ChildEnd,
  summary: readonly string[],
): EffectResult => {
  const { context } = stateOf(run, target);
  const policy = policyOf(end);
  const at = { target: target.name, attempt: context.attempt };
  switch (policy.kind) {
    case 'succeeded':
      return MOVED;
    case 'pause':
      run.recorder.record({ type: 'target.paused', ...at, until: policy.until, message: policy.message });
      run.halt.halt('paused');
      return MOVED;
    case 'interrupted':
      run.recorder.record({
        type: 'target.failed',
        ...at,
        kind: 'interrupted',
        message: policy.message,
        retry: true,
        end,
      });
      return run.halt.halted() ? HALTED : MOVED;
    case 'retry':
      return recordFailure(run, target, {
        kind: policy.failure,
        message: policy.message,
        canRetry: true,
        summary,
      });
    case 'fail':
      return recordFailure(run, target, {
        kind: policy.failure,
        message: policy.message,
        next: policy.next,
        canRetry: false,
        summary,
      });
  }
};
