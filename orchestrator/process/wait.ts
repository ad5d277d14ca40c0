/**
 * From "it runs" to a wait status, the same for a child that was forked here and for one that an earlier orchestrator forked.
 *
 * W1  The end is decided when the reaper is gone, never by the end of a pipe: a grandchild that keeps a log open holds nothing up.
 * W2  A reason of ours (stopped, a limit) outranks the exit status: an agent may answer TERM with exit 0.
 * W3  When `wait` answers, the processes of the child have been looked for, and ended where there were any.
 */
import { constants } from 'node:os';
import type { ChildEnd, ProcessIdentity, WaitStatus } from '../model/child.js';
import { systemClock } from '../model/clock.js';
import type { Clock } from '../model/clock.js';
import type { Limits } from '../model/pipeline.js';
import { readStop, recordStop, sizeOfLogs } from './child-folder.js';
import { watchDeadlines } from './deadlines.js';
import type { Following, OutputReader } from './output.js';
import { NOTHING_TO_STOP, endSession, findMembers, groupExists } from './stop.js';
import type { Session, StopReport } from './stop.js';

/** A child that was forked. `wait` answers the same status however often it is asked, and never rejects. */
export interface ChildHandle {
  /** The reaper; absent when nothing was started. */
  readonly identity: ProcessIdentity | undefined;
  readonly wait: () => Promise<WaitStatus>;
  /** Ends it: TERM, grace, KILL, a second look. Its end is `stopped`, unless it had ended before. Never rejects. */
  readonly stop: (by: string) => Promise<StopReport>;
  /** Ends it without waiting for its grace; also while `stop` waits. Never rejects. */
  readonly kill: (by: string) => Promise<StopReport>;
}

export interface ChildHooks {
  readonly clock?: Clock;
  /** Reads what the child says while it runs. */
  readonly reader?: OutputReader;
  /** How often a child that was taken over is checked for being alive, in milliseconds; 1,000 unless given. */
  readonly recheckMs?: number;
}

/** Between TERM and KILL when the limits are not known any more. */
const GRACE_MS = 5_000;

/** Signals that end a process by default. Source: signal(7); 145, the exit status of a CLI that means "HTTP 401", is not one. */
const HARMLESS = new Set([
  'SIGCHLD',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGURG',
  'SIGWINCH',
]);

const deadlySignals = (): ReadonlyMap<number, string> => {
  const named = Object.entries(constants.signals).filter(([name]) => !HARMLESS.has(name));
  // The first name of a number is the usual one: SIGABRT before SIGIOT.
  return new Map(named.toReversed().map(([name, number]) => [number, name]));
};

let signals: ReadonlyMap<number, string> | undefined;

/** A status as a shell gives it: above 128 it names the signal that ended the command. */
export const endOfStatus = (status: number): ChildEnd => {
  if (status <= 128) return { kind: 'exited', code: status };
  signals ??= deadlySignals();
  const signal = signals.get(status - 128);
  return signal === undefined ? { kind: 'exited', code: status } : { kind: 'signalled', signal };
};

/** How the reaper was found gone. */
export interface Gone {
  readonly end: ChildEnd;
  readonly endedAt: string;
  /** It started nothing because another reaper has the claim; that one's processes carry the same marker and must live. */
  readonly foreign?: boolean;
}

export interface Supervised {
  readonly dir: string;
  readonly identity: ProcessIdentity;
  readonly marker?: string;
  readonly limits?: Limits;
  /** See `isWorker`. */
  readonly worker: boolean;
  readonly startedAt: string;
  /** Forked by this process. */
  readonly ours: boolean;
  /** How long it ran before this process watched it, in milliseconds. */
  readonly ageMs: number;
  /** False when it has ended already: then no limits apply. */
  readonly running: boolean;
  readonly output?: Following;
  readonly gone: Promise<Gone>;
}

const sessionOf = (child: Supervised): Session => ({
  leader: child.identity,
  ...(child.marker === undefined ? {} : { marker: child.marker }),
  known: new Map(),
  ours: child.ours,
});

/** A plain command costs one system call here; a worker, or a command whose reaper was killed, a full look. */
const endLeftovers = async (child: Supervised, session: Session, end: ChildEnd): Promise<number> => {
  const thorough = child.worker || end.kind === 'lost' || session.known.size > 0;
  if (!thorough && !groupExists(child.identity)) return 0;
  const report = await endSession(session, child.limits?.graceMs ?? GRACE_MS);
  return report.ended + report.left.length;
};

/** What a child says may be a reason to end it, after a while in which it may end by itself or take it back. */
const startPatience = (
  { output }: Supervised,
  onEnd: (reason: ChildEnd) => void,
): { readonly stop: () => void } => {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  output?.start((now) => {
    if (now === undefined) stop();
    else timer ??= setTimeout(() => onEnd(now.end), now.afterMs);
  });
  return { stop };
};

/** Applies the limits, offers `stop`, and turns the end into a wait status. */
export const superviseChild = (child: Supervised): ChildHandle => {
  const session = sessionOf(child);
  let cause: ChildEnd | undefined;
  let ending: Promise<StopReport> | undefined;
  let gone = !child.running;

  const end = async (reason: ChildEnd): Promise<StopReport> => {
    if (gone && ending === undefined) return NOTHING_TO_STOP;
    if (ending === undefined) {
      cause = reason;
      recordStop(child.dir, reason);
      ending = endSession(session, child.limits?.graceMs ?? GRACE_MS);
    }
    return ending;
  };

  const cancel =
    child.limits === undefined || gone
      ? () => undefined
      : watchDeadlines({
          limits: child.limits,
          ageMs: child.ageMs,
          sample: () => sampleOf(child),
          onExpiry: (reason) => void end(reason),
          onLook: () => void (child.worker && findMembers(session)),
        });

  const patience = startPatience(child, (reason) => void end(reason));

  const finish = async (): Promise<WaitStatus> => {
    const last = await child.gone;
    gone = true;
    cancel();
    patience.stop();
    await ending;
    const leftovers = last.foreign === true ? 0 : await endLeftovers(child, session, last.end);
    await child.output?.finish();
    const reason = cause ?? reasonOnDisk(child) ?? last.end;
    return statusOf(child, { end: reason, endedAt: last.endedAt }, leftovers);
  };
  const status = finish();

  return {
    identity: child.identity,
    wait: async () => status,
    stop: async (by) => end({ kind: 'stopped', by }),
    kill: async (by) => {
      const graceful = end({ kind: 'stopped', by });
      return gone ? graceful : endSession(session, 0);
    },
  };
};

/**
 * There when it was stopped from another process, or when we died while we ended it. A child can write it too: of one that we
 * forked, and whose limits we kept, nothing else is taken from there, least of all a success.
 */
const reasonOnDisk = ({ dir, ours }: Supervised): ChildEnd | undefined => {
  const told = readStop(dir);
  return ours && told?.kind !== 'stopped' ? undefined : told;
};

const statusOf = (child: Supervised, last: Gone, leftovers: number): WaitStatus => {
  const { stdoutBytes, stderrBytes } = sizeOfLogs(child.dir, child.worker);
  return {
    end: last.end,
    identity: child.identity,
    startedAt: child.startedAt,
    endedAt: last.endedAt,
    stdoutBytes,
    stderrBytes,
    leftovers,
  };
};

const sampleOf = (child: Supervised): { readonly bytes: number; readonly mtimeMs: number } => {
  const { stdoutBytes, stderrBytes, mtimeMs } = sizeOfLogs(child.dir, child.worker);
  return { bytes: stdoutBytes + stderrBytes, mtimeMs };
};

/** A child of which nothing runs: it was never started, or its record cannot be read. */
export const endedChild = (end: ChildEnd, clock: Clock = systemClock): ChildHandle => {
  const at = new Date(clock.now()).toISOString();
  const status: WaitStatus = {
    end,
    startedAt: at,
    endedAt: at,
    stdoutBytes: 0,
    stderrBytes: 0,
    leftovers: 0,
  };
  const nothing = async () => NOTHING_TO_STOP;
  return { identity: undefined, wait: async () => status, stop: nothing, kill: nothing };
};
