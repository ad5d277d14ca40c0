import type { Pipeline, Target } from '../model/pipeline.js';
import { UNKNOWN_USAGE, type ProcessIdentity, type Usage } from '../model/child.js';
import type { ContainmentRecord } from '../model/event.js';
import { factOf, targetState, type RunState } from '../machine/run-state.js';
import type { TargetContext } from '../machine/target-context.js';
import type { TargetValue } from '../machine/target-machine.js';
import { estimateTokens } from '../model/text.js';
import { approveCommand, summaryOf, type RunSummary } from './next.js';
import { changesSinceOpened, type SourceChange } from './source-changes.js';
import { trackerOf } from './tracker.js';

/** `status --ticket ID --json`. CLI.md is the contract; keys are stable. */
export interface StatusView {
  readonly ticket: string;
  readonly pipeline: string;
  readonly state: RunSummary;
  readonly epoch: number;
  readonly base: string | null;
  readonly tree: string | null;
  /** Files of the pipeline that are no longer what document 00 says, as far as a run has seen. */
  readonly pipelineChanges: readonly SourceChange[];
  readonly waitingFor: WaitingView | null;
  readonly targets: readonly TargetView[];
  readonly context: {
    readonly depth0Tokens: number;
    readonly bootTokens: number;
    readonly workerTokens: number | null;
    readonly forks: number;
  };
  /** Of all children of this epoch, as their agents recorded it; unknown is `null`. */
  readonly usage: Usage;
}

export interface WaitingView {
  readonly target: string;
  readonly kind: 'approval' | 'limit';
  readonly digest: string | null;
  readonly command: string;
}

export interface TargetView {
  readonly number: number;
  readonly name: string;
  readonly status: 'pending' | 'active' | 'done' | 'abandoned';
  readonly phase: TargetValue | 'gated';
  readonly attempt: number;
  readonly round: number;
  readonly reason: string | null;
  readonly startedAt: string | null;
  readonly elapsedMs: number | null;
  readonly child: { readonly pid: number; readonly startTime: string } | null;
  readonly summary: readonly string[];
  /** Of all attempts; unknown is `null`. */
  readonly usage: Usage;
  /** The agent that `auto` took for the last attempt, and why. */
  readonly agent: { readonly name: string; readonly why: string } | null;
  /** What the last attempt could reach. */
  readonly containment: ContainmentRecord | null;
}

/** The four statuses of a task graph; what is finer is the phase. A failed target is active: its context is still needed. */
const STATUS: Readonly<Record<TargetValue, TargetView['status']>> = {
  pending: 'pending',
  running: 'active',
  gating: 'active',
  waiting: 'active',
  paused: 'active',
  failed: 'active',
  done: 'done',
  abandoned: 'abandoned',
};

export interface ViewOptions {
  readonly pipeline: Pipeline;
  readonly run: RunState;
  /** Is a process running this ticket now? */
  readonly isHeld: boolean;
  readonly now: number;
  /** Bytes of the state documents. */
  readonly bootBytes: number;
  /** Identity of the process of a running child, by the child's folder name. */
  readonly identityOf?: (child: string) => ProcessIdentity | undefined;
}

const phaseOf = (target: Target, value: TargetValue): TargetView['phase'] =>
  value === 'done' && target.gates.length > 0 ? 'gated' : value;

const elapsed = (
  startedAt: string | undefined,
  endedAt: string | undefined,
  value: TargetValue,
  now: number,
): number | null => {
  if (startedAt === undefined) return null;
  const end = value === 'running' || endedAt === undefined ? now : Date.parse(endedAt);
  return Math.max(0, end - Date.parse(startedAt));
};

const lastAttempt = (context: TargetContext): Pick<TargetView, 'startedAt' | 'agent' | 'containment'> => ({
  startedAt: context.startedAt ?? null,
  agent: context.agent ?? null,
  containment: context.containment ?? null,
});

const targetView = (target: Target, options: ViewOptions): TargetView => {
  const { value, context } = targetState(options.run, target.name);
  const identity =
    value === 'running' && context.child !== undefined ? options.identityOf?.(context.child) : undefined;
  return {
    number: target.number,
    name: target.name,
    status: STATUS[value],
    phase: phaseOf(target, value),
    attempt: context.attempt,
    round: context.round,
    reason: (value === 'failed' ? context.failure?.message : context.reason) ?? null,
    ...lastAttempt(context),
    elapsedMs: elapsed(context.startedAt, context.endedAt, value, options.now),
    child: identity === undefined ? null : { pid: identity.pid, startTime: identity.startTime },
    summary: context.summary ?? [],
    usage: { ...UNKNOWN_USAGE, ...(context.spent ?? context.usage) },
  };
};

const waitingOf = (pipeline: Pipeline, run: RunState): WaitingView | null => {
  for (const { name } of pipeline.targets) {
    const { value, context } = targetState(run, name);
    if (value === 'waiting' && context.waitingFor !== undefined) {
      const { digest } = context.waitingFor;
      return { target: name, kind: 'approval', digest, command: approveCommand(run.ticket, name, digest) };
    }
    if (value === 'paused') {
      return { target: name, kind: 'limit', digest: null, command: `orchestrate run --ticket ${run.ticket}` };
    }
  }
  return null;
};

/** What the record says, with the one fact that it cannot know: whether somebody runs it now. */
export const stateOf = (summary: RunSummary, isHeld: boolean): RunSummary => {
  if (isHeld) return 'running';
  // Started and not finished, and nobody is there: it was stopped, or it crashed.
  return summary === 'running' ? 'stopped' : summary;
};

export const statusView = (options: ViewOptions): StatusView => {
  const { pipeline, run } = options;
  const summary = summaryOf(pipeline, run, trackerOf(run));
  const receipts = [...run.targets.values()].map(({ context }) => context.receipt?.tree);
  const usage = { ...UNKNOWN_USAGE, ...run.usage };
  const bootTokens = estimateTokens(options.bootBytes);
  return {
    ticket: run.ticket,
    pipeline: pipeline.name,
    state: stateOf(summary, options.isHeld),
    epoch: run.epoch,
    base: factOf(run, 'base') ?? null,
    tree: receipts.findLast((tree) => tree !== undefined) ?? null,
    pipelineChanges: changesSinceOpened(run),
    waitingFor: waitingOf(pipeline, run),
    targets: pipeline.targets.map((target) => targetView(target, options)),
    context: {
      depth0Tokens: bootTokens + estimateTokens(summaryBytes(run)),
      bootTokens,
      workerTokens: tokensOf(usage),
      forks: run.forks,
    },
    usage,
  };
};

/** In and out, cached ones too; `null` when nothing is known. */
export const tokensOf = (usage: Usage): number | null => {
  const known = [usage.inputTokens, usage.cacheReadTokens, usage.cacheWriteTokens, usage.outputTokens].filter(
    (count) => typeof count === 'number',
  );
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0);
};

/** What the orchestrator keeps of its children: their summaries, and nothing else. */
const summaryBytes = (run: RunState): number => {
  let bytes = 0;
  for (const { context } of run.targets.values()) {
    for (const line of context.summary ?? []) bytes += Buffer.byteLength(line) + 1;
  }
  return bytes;
};
