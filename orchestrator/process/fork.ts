/** Forking a child under a reaper. DESIGN section 4. */
import type { ChildProcess } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import type { ChildEnd, ForkRequest, ProcessIdentity } from '../model/child.js';
import { systemClock } from '../model/clock.js';
import type { Clock } from '../model/clock.js';
import { Problem } from '../model/failure.js';
import { bootId, identityOf } from '../state/identity.js';
import {
  codeOf,
  isWorker,
  jobOf,
  makeFolder,
  readClaim,
  withDescriptors,
  writeIntent,
} from './child-folder.js';
import type { Job } from './child-folder.js';
import { MARKER } from './process-table.js';
import { followLog, followSocket } from './output.js';
import { resolveProgram } from './program.js';
import { attachToClaim } from './reattach.js';
import { spawnReaper } from './reaper.js';
import { endOfStatus, endedChild, superviseChild } from './wait.js';
import type { ChildHandle, ChildHooks, Gone, Supervised } from './wait.js';

type Started =
  | { readonly kind: 'started'; readonly reaper: ChildProcess; readonly pid: number }
  | { readonly kind: 'not-started'; readonly detail: string };

/**
 * Starts the child once for its folder, that is once for `ticket.target.generation`: when a reaper has claimed the folder already,
 * the handle is that child's. Writes `job.json`, `prompt.md` and, with a return path, `out/` before the fork.
 * What cannot be started (no such program or folder, argument list too long) ends `not-started`.
 * @throws Problem `not-writable` if the child's files cannot be written
 */
export const forkChild = (request: ForkRequest, hooks: ChildHooks = {}): ChildHandle => {
  const clock = hooks.clock ?? systemClock;
  const fresh = makeFolder(request.dir);
  if (!fresh && readClaim(request.dir).kind !== 'none') {
    return attachToClaim(request.dir, { ...hooks, limits: request.limits });
  }
  const startedAt = new Date(clock.now()).toISOString();
  writeIntent(request, startedAt);
  const started = start(request, jobOf(request, startedAt));
  if (started.kind === 'not-started') return endedChild(started, clock);
  return firstOf(started, request, { ...hooks, clock, startedAt });
};

const start = (request: ForkRequest, job: Job): Started => {
  const { argv, cwd, env, dir } = request;
  const [name = '', ...args] = argv;
  const program = resolveProgram(name, { path: env['PATH'], cwd });
  if (program === undefined) return { kind: 'not-started', detail: whyNoProgram(name, cwd) };
  try {
    const reaper = withDescriptors(request, (files) =>
      spawnReaper({ dir, job, argv: [program, ...args], env }, { cwd, ...files }),
    );
    // A refused spawn has no pid; its error comes as an event, too late for an answer now.
    reaper.on('error', () => undefined);
    if (reaper.pid !== undefined) return { kind: 'started', reaper, pid: reaper.pid };
    return { kind: 'not-started', detail: whyNoReaper(cwd) };
  } catch (error) {
    if (error instanceof Problem) throw error;
    return { kind: 'not-started', detail: whyNotSpawned(error, cwd) };
  }
};

const isFolder = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
};

const whyNoProgram = (name: string, cwd: string): string => {
  if (!isFolder(cwd)) return `working directory \`${cwd}\` cannot be entered`;
  if (name.includes('/')) return `program \`${name}\` does not exist or is not an executable file`;
  return `program \`${name}\` is not on the child's PATH`;
};

const whyNoReaper = (cwd: string): string =>
  isFolder(cwd)
    ? 'the system refused to start another process; too many processes or open files'
    : `working directory \`${cwd}\` cannot be entered`;

const whyNotSpawned = (error: unknown, cwd: string): string => {
  const code = codeOf(error);
  if (code === 'E2BIG')
    return 'argument list too long (E2BIG); hand large text over in the prompt or in a file';
  if (code === 'ERR_INVALID_ARG_VALUE') return 'an argument or variable contains a NUL character';
  return isFolder(cwd) ? `it could not be started (${code})` : whyNoReaper(cwd);
};

interface Context extends ChildHooks {
  readonly clock: Clock;
  readonly startedAt: string;
}

/** The handle of our own reaper, or of the one that claimed the folder before it. */
const firstOf = (
  { reaper, pid }: { readonly reaper: ChildProcess; readonly pid: number },
  request: ForkRequest,
  context: Context,
): ChildHandle => {
  const { clock, startedAt } = context;
  // It cannot be gone from the process table: it is reaped only after this turn of the event loop.
  const identity = identityOf(pid) ?? { pid, startTime: 'unknown', bootId: bootId() };
  let other: ChildHandle | undefined;
  let stoppedBy: string | undefined;
  const gone = endOfReaper(reaper, clock).then((last): Gone => {
    if (last.end.kind !== 'lost') return last;
    if (!claimedByOther(request.dir, identity)) return { ...last, end: whyLost(request.dir, last.end) };
    other = attachToClaim(request.dir, { ...context, limits: request.limits });
    if (stoppedBy !== undefined) void other.stop(stoppedBy);
    return { ...last, foreign: true };
  });
  const own = superviseChild({
    dir: request.dir,
    identity,
    limits: request.limits,
    worker: isWorker(request),
    startedAt,
    ours: true,
    ageMs: 0,
    running: true,
    gone,
    ...heardBy(reaper, request, context),
  });
  return {
    identity,
    wait: async () => {
      const status = await own.wait();
      return other === undefined ? status : other.wait();
    },
    stop: async (by) => {
      stoppedBy = by;
      const report = await (other ?? own).stop(by);
      // Whether another reaper had the claim is known only when ours is gone.
      if (report.left.length === 0) await own.wait();
      if (other === undefined) return report;
      const { ended, left } = await other.stop(by);
      return { ended: ended + report.ended, left };
    },
    kill: async (by) => {
      stoppedBy ??= by;
      return (other ?? own).kill(by);
    },
  };
};

/** How its processes are found, and who reads what it says. */
const heardBy = (
  reaper: ChildProcess,
  { dir, output, env }: ForkRequest,
  { reader }: ChildHooks,
): Pick<Supervised, 'marker' | 'output'> => {
  const marker = env[MARKER];
  const marked = marker === undefined ? {} : { marker };
  if (output === 'socket')
    return {
      ...marked,
      output: followSocket(dir, reaper, reader ?? { longestLine: 0, line: () => undefined }),
    };
  return reader === undefined ? marked : { ...marked, output: followLog(dir, reader) };
};

const endOfReaper = async (reaper: ChildProcess, clock: Clock): Promise<Gone> =>
  new Promise((resolve) => {
    reaper.once('exit', (code, signal) => {
      const endedAt = new Date(clock.now()).toISOString();
      const lost: ChildEnd = {
        kind: 'lost',
        detail: `its reaper was ended by ${signal ?? 'an unknown cause'}`,
      };
      resolve({ end: code === null ? lost : endOfStatus(code), endedAt });
    });
  });

const claimedByOther = (dir: string, identity: ProcessIdentity): boolean => {
  const claim = readClaim(dir);
  return claim.kind === 'claimed' && claim.identity.pid !== identity.pid;
};

/** A reaper without a claim ends itself (R1, R5). */
const whyLost = (dir: string, end: ChildEnd): ChildEnd => {
  const { kind } = readClaim(dir);
  if (kind === 'void') return { kind: 'lost', detail: 'it was never started: a recovery gave the fork up' };
  if (kind === 'none')
    return { kind: 'not-started', detail: `its start could not be recorded in \`${dir}\`` };
  return end;
};
