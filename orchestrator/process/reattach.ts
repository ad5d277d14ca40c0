/** Taking over a child that an earlier orchestrator forked: its end is taken, waited for, or known to be lost. */
import { readFileSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from '../model/child.js';
import { systemClock } from '../model/clock.js';
import type { Clock } from '../model/clock.js';
import type { Limits } from '../model/pipeline.js';
import { liveness } from '../state/identity.js';
import { FILES, changedAt, readClaim, readExit, voidClaim } from './child-folder.js';
import type { Job } from './child-folder.js';
import { findByArgument } from './process-table.js';
import { followLog } from './output.js';
import { endOfStatus, endedChild, superviseChild } from './wait.js';
import type { ChildHandle, ChildHooks, Gone } from './wait.js';

export type Reattached =
  | { readonly kind: 'child'; readonly handle: ChildHandle }
  /** No reaper had claimed the fork, and none can any more: fork the next generation. */
  | { readonly kind: 'never-started' };

export interface ReattachOptions extends ChildHooks {
  /** Instead of those that the child was forked with. */
  readonly limits?: Limits;
}

const RECHECK_MS = 1_000;
/** Without change notices the timer alone must notice the end. */
const RECHECK_ALONE_MS = 200;
/** Notices of other files between two checks above which a chatty child would cost more than the timer. */
const MAX_NOTICES = 500;

/**
 * Takes over the child in `dir`, whoever forked it. Limits go on from the start of the child and from its last output.
 * @throws Problem `not-writable` if no claim is there and none can be taken
 */
export const reattach = (dir: string, options: ReattachOptions = {}): Reattached => {
  if (readClaim(dir).kind === 'none' && voidClaim(dir)) return { kind: 'never-started' };
  if (readClaim(dir).kind === 'void') return { kind: 'never-started' };
  return { kind: 'child', handle: attachToClaim(dir, options) };
};

/** The child whose claim is in `dir`, as a handle. For `fork` and `reattach`. */
export const attachToClaim = (dir: string, options: ReattachOptions = {}): ChildHandle => {
  const clock = options.clock ?? systemClock;
  const claim = readClaim(dir);
  if (claim.kind === 'void' || claim.kind === 'none') {
    return endedChild({ kind: 'lost', detail: 'it was never started: a recovery gave the fork up' }, clock);
  }
  const known = claim.kind === 'claimed' ? claim : whoClaims(dir);
  if (known === undefined) {
    return endedChild(
      { kind: 'lost', detail: 'the record of its start is incomplete and nothing runs' },
      clock,
    );
  }
  return attachTo(dir, known, { ...options, clock });
};

interface Known {
  readonly identity: ProcessIdentity;
  readonly job: Job;
}

/** The record is being written at this moment, or its writer is gone. */
const whoClaims = (dir: string): Known | undefined => {
  const found = findByArgument(dir);
  const again = readClaim(dir);
  if (again.kind === 'claimed') return again;
  return found === undefined ? undefined : { identity: found, job: { worker: true } };
};

const attachTo = (
  dir: string,
  { identity, job }: Known,
  options: ReattachOptions & { readonly clock: Clock },
): ChildHandle => {
  const limits = options.limits ?? job.limits;
  const startedAt =
    job.startedAt ?? changedAt(join(dir, FILES.claim)) ?? new Date(options.clock.now()).toISOString();
  const known = lookForEnd(dir, identity, options.clock);
  return superviseChild({
    dir,
    identity,
    worker: job.worker,
    startedAt,
    ours: false,
    ageMs: ageOf(identity, startedAt, options.clock),
    running: known === undefined,
    gone: known === undefined ? waitForEnd(dir, identity, options) : Promise.resolve(known),
    ...(job.marker === undefined ? {} : { marker: job.marker }),
    ...(limits === undefined ? {} : { limits }),
    ...(options.reader === undefined ? {} : { output: followLog(dir, options.reader) }),
  });
};

/** @returns `undefined` while it runs */
const lookForEnd = (dir: string, identity: ProcessIdentity, clock: Clock): Gone | undefined => {
  const alive = liveness(identity) !== 'dead';
  // After the look at the process, not before: the reaper writes and ends in this order.
  const exit = readExit(dir);
  if (exit !== undefined) return { end: endOfStatus(exit.status), endedAt: exit.endedAt };
  if (alive) return undefined;
  const detail = 'its process is gone and left no record of its end';
  return { end: { kind: 'lost', detail }, endedAt: new Date(clock.now()).toISOString() };
};

/** Source: proc(5); USER_HZ is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Milliseconds since its start by the clock that nobody sets; by the wall clock where there is no procfs. */
const ageOf = (identity: ProcessIdentity, startedAt: string, clock: Clock): number => {
  try {
    const uptime = Number.parseFloat(readFileSync('/proc/uptime', 'utf8'));
    const age = (uptime - Number(identity.startTime) / TICKS_PER_SECOND) * 1_000;
    if (age >= 0) return age;
  } catch {
    // No procfs.
  }
  const age = clock.now() - Date.parse(startedAt);
  return age > 0 ? age : 1;
};

/** Resolves when the end is on disk or the process is gone: by change notices of the folder, and by a timer for all else. */
const waitForEnd = async (
  dir: string,
  identity: ProcessIdentity,
  options: ReattachOptions & { readonly clock: Clock },
): Promise<Gone> =>
  new Promise((resolve) => {
    let notices = 0;
    let timer: NodeJS.Timeout | undefined;
    const look = (): void => {
      const found = lookForEnd(dir, identity, options.clock);
      if (found === undefined) return;
      clearTimeout(timer);
      watcher?.close();
      resolve(found);
    };
    let watcher = watchFolder(dir, (name) => {
      if (name === FILES.exit) return look();
      notices += 1;
      if (notices <= MAX_NOTICES) return undefined;
      watcher?.close();
      watcher = undefined;
      return undefined;
    });
    const check = (): void => {
      notices = 0;
      timer = setTimeout(check, watcher === undefined ? RECHECK_ALONE_MS : (options.recheckMs ?? RECHECK_MS));
      look();
    };
    check();
  });

/** `undefined` where the system gives no notices, e.g. when all watches are in use. */
const watchFolder = (dir: string, onChange: (name: string | null) => void): FSWatcher | undefined => {
  try {
    const watcher = watch(dir, (_event, name) => onChange(name));
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
};
