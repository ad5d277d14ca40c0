import type { LimitFunction } from 'p-limit';
import type { Clock } from '../model/clock.js';
import type { Digest } from '../model/digest.js';
import type { FailureKind } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline, Target } from '../model/pipeline.js';
import { CIRCUIT_BREAKER } from '../model/limits.js';
import { factOf, failureSignature, targetState } from '../machine/run-state.js';
import type { TargetState } from '../machine/target-machine.js';
import type { ChildHandle } from '../process/wait.js';
import type { Recorder } from '../record/recorder.js';
import type { TargetFiles } from '../scheduler/freshness.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import type { Workspace } from './workspace.js';

/** Why nothing new is started; the first reason wins. */
export interface Halt {
  readonly halted: () => boolean;
  readonly by: () => string | undefined;
  readonly halt: (by: string) => void;
  /** Takes a reason back that has passed; any other one stays. */
  readonly resume: (by: string) => void;
}

export const newHalt = (): Halt => {
  let by: string | undefined;
  return {
    halted: () => by !== undefined,
    by: () => by,
    halt: (reason) => {
      by ??= reason;
    },
    resume: (reason) => {
      if (by === reason) by = undefined;
    },
  };
};

/** A person's answer at the terminal; `undefined` when none was given. */
export type AskApproval = (question: {
  readonly target: string;
  readonly digest: Digest;
  readonly text: string;
}) => Promise<{ readonly answer: 'approved' | 'rejected'; readonly note: string } | undefined>;

/** One ticket while its lock is held: what every effect needs. */
export interface TicketRun {
  readonly ticket: string;
  readonly paths: RepositoryPaths;
  readonly home: string;
  readonly packageRoot: string;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly pipeline: Pipeline;
  readonly recorder: Recorder;
  readonly files: TargetFiles & { readonly learned: () => boolean };
  /** Children at once, over all tickets of this process. Held around a fork and its wait, and by nothing else. */
  readonly limit: LimitFunction;
  readonly halt: Halt;
  /** Aborted by a signal to the orchestrator: what runs in the foreground, such as a check, ends. */
  readonly abort: AbortController;
  /** Children that are being waited for, to be ended by a signal. */
  readonly children: Set<ChildHandle>;
  /** Git, loaded when the first target needs it. */
  readonly workspace: () => Promise<Workspace>;
  /** Why each target is out of date, as the scheduler judged. */
  readonly reasons: Map<string, string>;
  /** Targets that had failed before this process began: they get another chance, once. */
  readonly revived: Set<string>;
  readonly ask?: AskApproval;
  readonly login: string;
  /** Where the person at the terminal is, for the record. */
  readonly from: string;
}

export const MOVED: EffectResult = { kind: 'moved' };
export const HALTED: EffectResult = { kind: 'halted' };

export const stateOf = (run: TicketRun, target: Target): TargetState =>
  targetState(run.recorder.run, target.name);

/** Folder that commands run in and that paths of the pipeline are relative to: the worker's tree, where there is one. */
export const workFolder = (run: TicketRun): string => factOf(run.recorder.run, 'tree') ?? run.paths.mainRoot;

export interface FailureFacts {
  readonly kind: FailureKind;
  readonly message: string;
  readonly next?: string;
  /** Trying again may help; whether it is tried depends on the attempts that are left. */
  readonly canRetry: boolean;
  /** One more attempt whatever the number of attempts is. */
  readonly repair?: boolean;
  readonly summary?: readonly string[];
}

/** Equal failures at the end of the record, this one not counted. */
const repeatsOf = (run: TicketRun, target: Target, { kind, message }: FailureFacts): number => {
  const signature = failureSignature(target.name, kind, message);
  const { failures } = run.recorder.run;
  let count = 0;
  while (count < failures.length && failures.at(-1 - count) === signature) count += 1;
  return count;
};

/** Records a failed attempt. Without another attempt left the target has failed, and nothing new is started. */
export const recordFailure = (run: TicketRun, target: Target, facts: FailureFacts): EffectResult => {
  const { context } = stateOf(run, target);
  const isBroken = repeatsOf(run, target, facts) + 1 >= CIRCUIT_BREAKER;
  const isLeft = facts.repair === true || context.failures + 1 < target.attempts;
  const retry = facts.canRetry && isLeft && !isBroken && !run.halt.halted();
  run.recorder.record({
    type: 'target.failed',
    target: target.name,
    attempt: context.attempt,
    kind: facts.kind,
    message: facts.message,
    retry,
    ...nextStep(facts, isBroken),
    ...(facts.summary === undefined ? {} : { summary: facts.summary }),
  });
  if (!retry) run.halt.halt(`target \`${target.name}\` failed`);
  return MOVED;
};

const nextStep = ({ next, canRetry }: FailureFacts, isBroken: boolean): { readonly next?: string } => {
  if (canRetry && isBroken)
    return {
      next: `it failed ${CIRCUIT_BREAKER} times in a row in the same way; change something before you run it again`,
    };
  return next === undefined ? {} : { next };
};
