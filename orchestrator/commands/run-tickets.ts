import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import { EXIT_CODE, exitCodeOf, Problem, type Failure, type FailureKind } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import { targetState } from '../machine/run-state.js';
import { writeProblem } from '../state/files.js';
import { newHalt, type Halt, type TicketRun } from '../effects/ticket-run.js';
import { isGivenUp, summaryOf } from '../record/next.js';
import { trackerOf } from '../record/tracker.js';
import type { SchedulerOutcome } from '../scheduler/scheduler.js';
import { sealKey } from '../state/home.js';
import { runDirectory } from '../state/run-dir.js';
import { rememberRest } from './remember-rest.js';
import { dryRun } from './explain.js';
import { loadFor, openTicket, type OpenTicket } from './open-ticket.js';
import { preflight } from './preflight.js';
import { reporterFor, type Reporter } from './reporter.js';
import { scheduleWaiting } from './schedule.js';
import { flagSet, flagText, type Loaded, type Session } from './session.js';
import { terminalApproval } from './approval-prompt.js';
import { stopOnSignal } from './signals.js';

export interface Asked {
  readonly tickets: readonly string[];
  readonly paths: RepositoryPaths;
  /** Children at once; `undefined` when the pipelines say it. */
  readonly jobs: number | undefined;
}

/** Starts or resumes tickets side by side; the worst outcome is the exit status. */
export const runTickets = async (
  session: Session,
  { tickets, paths, jobs: asked }: Asked,
): Promise<number> => {
  const loaded = new Map<string, Loaded>();
  for (const ticket of tickets) loaded.set(ticket, await loadFor(session, paths, ticket));
  requireUntil(session, [...loaded.values()]);
  const rebuild = flagText(session, 'rebuild');
  if (rebuild !== undefined)
    await (await import('./rebuild.js')).requireRebuildable(session, paths, loaded, rebuild);
  const jobs = asked ?? Math.max(...[...loaded.values()].map(({ pipeline }) => pipeline.settings.jobs));
  if (flagSet(session, 'dry-run')) return dryRun(session, paths, loaded);
  for (const [ticket, { pipeline }] of loaded) await preflight(session, paths, ticket, pipeline);
  const halt = newHalt();
  const running = new Set<TicketRun>();
  const signals = stopOnSignal(session.io, halt, running);
  try {
    const world = { limit: pLimit(jobs), halt, running, reporter: reporterFor(session), paths };
    const codes = await allOf([...loaded].map(([ticket, of]) => oneTicketRun(session, ticket, of, world)));
    return signals.caught() === undefined ? worst(codes) : EXIT_CODE.interrupted;
  } finally {
    signals.unsubscribe();
  }
};

/** Waits for every ticket, also when one of them met a fault of ours: the others end and write down where they are. */
const allOf = async (runs: readonly Promise<number>[]): Promise<number[]> => {
  const settled = await Promise.allSettled(runs);
  return settled.map((result) => {
    if (result.status === 'fulfilled') return result.value;
    throw result.reason;
  });
};

const requireUntil = (session: Session, all: readonly Loaded[]): void => {
  const until = flagText(session, 'until');
  for (const { pipeline } of all) {
    if (until === undefined || pipeline.targets.some(({ name }) => name === until)) continue;
    const names = pipeline.targets.slice(0, 20).map(({ name }) => name);
    throw new Problem({
      kind: 'usage',
      message: `the pipeline has no target \`${until}\``,
      next: `use one of: ${names.join(', ')}`,
    });
  }
};

/** Interrupted, busy and refused outrank failed, failed outranks waiting and paused. */
const RANK = [130, 2, 5, 4, 1, 6, 3, 0];

const worst = (codes: readonly number[]): number => RANK.find((code) => codes.includes(code)) ?? 1;

interface World {
  readonly limit: ReturnType<typeof pLimit>;
  readonly halt: Halt;
  readonly running: Set<TicketRun>;
  readonly reporter: Reporter;
  readonly paths: RepositoryPaths;
}

const oneTicketRun = async (
  session: Session,
  ticket: string,
  loaded: Loaded,
  world: World,
): Promise<number> => {
  const { reporter } = world;
  try {
    return await driveTicket(session, ticket, loaded, world);
  } catch (error) {
    const problem = error instanceof Problem ? error : writeProblem(error);
    if (problem === undefined) throw error;
    reporter.problem(ticket, problem.failure);
    return exitCodeOf(problem.failure);
  }
};

const askerFor = (session: Session, ticket: string, { mainRoot }: RepositoryPaths) =>
  terminalApproval(session, ticket, async () => {
    const { exposedElsewhere } = await import('./live-children.js');
    return exposedElsewhere({
      mainRoot,
      directory: runDirectory(mainRoot, ticket),
      key: sealKey(session.home),
    });
  });

const driveTicket = async (
  session: Session,
  ticket: string,
  loaded: Loaded,
  world: World,
): Promise<number> => {
  const { reporter, paths } = world;
  const ask = askerFor(session, ticket, paths);
  const rebuild = flagText(session, 'rebuild');
  // A failed target stops its own ticket; a signal stops all of them.
  const halt = linkedHalt(world.halt);
  // Said when something is done, and not when there is nothing to do.
  let beforeFirst = (): void => undefined;
  const open = await openTicket(session, {
    paths,
    ticket,
    loaded,
    limit: world.limit,
    halt,
    onLine: (line) => {
      beforeFirst();
      reporter.line(ticket, line);
    },
    onNote: (text) => reporter.note(ticket, text),
    ...(ask === undefined ? {} : { ask }),
    ...(rebuild === undefined ? {} : { rebuild }),
  });
  world.running.add(open.run);
  reporter.opened(ticket, loaded.pipeline);
  if (isGivenUp(loaded.pipeline, open.run.recorder.run)) halt.halt('abandoned');
  let isFirst = true;
  let last: (() => void) | undefined;
  beforeFirst = () => {
    if (isFirst) noteResume(open, reporter);
    isFirst = false;
  };
  try {
    const outcome = await scheduleWaiting(session, open.run, reporter);
    finishRun(open.run, outcome);
    // The last checkpoint of a large ticket takes as long as a few forks.
    await nextTurn();
    if (outcome.upToDate === loaded.pipeline.targets.length)
      last = () => rememberRest(session, paths, loaded, open);
    return report(open.run, outcome, reporter);
  } catch (error) {
    throw inTheMiddle(error);
  } finally {
    world.running.delete(open.run);
    open.close(last);
  }
};

/** A disk that is full before anything is started is a matter of the set-up; in the middle of a run it is a failure. */
const inTheMiddle = (error: unknown): unknown => {
  const problem = writeProblem(error);
  return problem === undefined
    ? error
    : new Problem({ ...problem.failure, kind: 'write-failed' }, { cause: error });
};

/** What a second run takes over, before it goes on. What is made again says why when it starts. */
const noteResume = ({ run, resumedAt }: OpenTicket, reporter: Reporter): void => {
  const { recorder, pipeline, ticket } = run;
  const { done } = recorder.tracker;
  if (resumedAt === 0 || done >= pipeline.targets.length) return;
  reporter.progress(
    ticket,
    `resuming at journal line ${resumedAt}: ${done} of ${pipeline.targets.length} targets are done and reused`,
  );
};

const linkedHalt = (all: Halt): Halt => {
  const own = newHalt();
  return {
    halted: () => own.halted() || all.halted(),
    by: () => all.by() ?? own.by(),
    halt: own.halt,
    resume: own.resume,
  };
};

const finishRun = (run: TicketRun, outcome: SchedulerOutcome): void => {
  const { recorder } = run;
  const isWhole = outcome.upToDate === run.pipeline.targets.length;
  if (isWhole && recorder.run.finishedAt === undefined) recorder.record({ type: 'run.finished' });
};

/** The last words of a run, and its exit status. */
const report = (run: TicketRun, outcome: SchedulerOutcome, reporter: Reporter): number => {
  const { recorder, ticket } = run;
  const summary = summaryOf(run.pipeline, recorder.run, trackerOf(recorder.run));
  const failure = failureOf(run);
  if (failure !== undefined && run.halt.by() !== undefined) {
    reporter.problem(ticket, failure);
    return exitCodeOf(failure);
  }
  reporter.ended(run, outcome, summary);
  if (outcome.upToDate === outcome.wanted) return 0;
  if (summary === 'waiting') return EXIT_CODE['approval-needed'];
  return summary === 'paused' ? EXIT_CODE.paused : EXIT_CODE['target-failed'];
};

const failureOf = (run: TicketRun): Failure | undefined => {
  for (const { name } of run.pipeline.targets) {
    const { value, context } = targetState(run.recorder.run, name);
    if (value !== 'failed' || context.failure === undefined) continue;
    const { kind, message, next } = context.failure;
    return {
      kind: kind in EXIT_CODE ? (kind as FailureKind) : 'target-failed',
      message,
      where: name,
      next:
        next ??
        `\`orchestrate logs --ticket ${run.ticket} ${name}\`, then \`orchestrate run --ticket ${run.ticket}\` tries again`,
    };
  }
  return undefined;
};
