/**
 * One live holder per ticket.
 *
 * L1  The lock is the file `lock.N` with the highest N. It is taken by link(2) of `lock.N+1`, which one process wins.
 * L2  N only grows: a release says so inside the file and leaves it, so that a slow second process cannot take a number
 *     that was used before without seeing a higher one.
 * L3  A holder is pid + start time + boot id. Dead, a zombie, or of another boot: taken over at once. Alive, also when it
 *     is stopped (SIGSTOP, a sleeping laptop): never stolen. Not to be known (another host, unreadable): never stolen.
 * L4  An empty file is what a power cut leaves of a lock, as it is not synced: one from before this boot is free. One from
 *     this boot is not to be known.
 */
import { linkSync, readFileSync, readdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../model/failure.js';
import type { ProcessIdentity } from '../model/child.js';
import { replaceFile } from './files.js';
import { bootId, liveness, selfIdentity } from './identity.js';

export interface LockHolder extends ProcessIdentity {
  readonly host: string;
  readonly since: string;
  readonly released?: boolean;
  /** Boot id of the holder before; absent for the first. */
  readonly previousBoot?: string;
}

export interface Lock {
  readonly release: () => void;
}

const NAME = /^lock\.([1-9][0-9]{0,14})$/;

const numbersIn = (folder: string): number[] =>
  readdirSync(folder)
    .map((name) => NAME.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .toSorted((a, b) => a - b);

type Seen =
  | { readonly state: 'free'; readonly number: number; readonly before?: string }
  | { readonly state: 'held'; readonly number: number; readonly holder: LockHolder }
  | { readonly state: 'unknown'; readonly number: number; readonly detail: string };

const look = (folder: string): Seen => {
  const number = numbersIn(folder).at(-1);
  if (number === undefined) return { state: 'free', number: 0 };
  const path = join(folder, `lock.${number}`);
  const holder = readHolder(path);
  if (typeof holder === 'string') {
    // L4
    return isFromPowerCut(path) ? { state: 'free', number } : { state: 'unknown', number, detail: holder };
  }
  const free = { state: 'free', number, before: holder.bootId } as const;
  if (holder.released === true) return free;
  if (holder.host !== hostname()) {
    return {
      state: 'unknown',
      number,
      detail: `it was taken on host \`${holder.host}\` by pid ${holder.pid}`,
    };
  }
  return liveness(holder) === 'dead' ? free : { state: 'held', number, holder };
};

/** Empty, and older than this start of the machine: its bytes did not reach the disk, and who wrote them is gone. */
const isFromPowerCut = (path: string): boolean => {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && stat.size === 0 && stat.mtimeMs < Date.now() - uptime() * 1_000;
};

const readHolder = (path: string): LockHolder | string => {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isHolder(value) ? value : 'it does not name a holder';
  } catch (error) {
    return `it cannot be read (${(error as Error).message})`;
  }
};

const isHolder = (value: unknown): value is LockHolder => {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  return (
    Number.isSafeInteger(fields['pid']) &&
    ['startTime', 'bootId', 'host', 'since'].every((name) => typeof fields[name] === 'string')
  );
};

/** Who holds the ticket now; `undefined` when nobody does. */
export const lockHolder = (folder: string): LockHolder | undefined => {
  const seen = look(folder);
  return seen.state === 'held' ? seen.holder : undefined;
};

/** Can it be said that nobody holds the ticket? */
export const isUnlocked = (folder: string): boolean => look(folder).state === 'free';

/** Has the machine been started again since somebody last held this ticket? Also true when that cannot be told. */
export const hasRebooted = (folder: string): boolean => {
  const number = numbersIn(folder).at(-1);
  if (number === undefined) return true;
  const holder = readHolder(join(folder, `lock.${number}`));
  if (typeof holder === 'string') return true;
  const isOver = holder.released === true || liveness(holder) === 'dead';
  return (isOver ? holder.bootId : holder.previousBoot) !== bootId();
};

/**
 * Takes the ticket's lock at once or not at all.
 * @throws `Problem` `busy` that names the holder, or the file when the holder cannot be known
 */
export const takeLock = (folder: string, ticket: string, now: string): Lock => {
  for (;;) {
    const seen = look(folder);
    if (seen.state !== 'free') throw busy(folder, ticket, seen);
    const number = seen.number + 1;
    const holder = ourselves(now, seen.before);
    if (tryNumber(folder, number, holder)) return lockAt(folder, number, holder);
  }
};

const ourselves = (since: string, before: string | undefined): LockHolder => ({
  ...selfIdentity(),
  host: hostname(),
  since,
  ...(before === undefined ? {} : { previousBoot: before }),
});

const tryNumber = (folder: string, number: number, holder: LockHolder): boolean => {
  const own = join(folder, `.tmp-lock-${process.pid}-${number}`);
  writeFileSync(own, `${JSON.stringify(holder)}\n`);
  try {
    linkSync(own, join(folder, `lock.${number}`));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(own);
  }
  const numbers = numbersIn(folder);
  if (numbers.at(-1) !== number) {
    // L2: the number was free only because others took it, released it and cleaned up in between.
    removeLock(folder, number);
    return false;
  }
  for (const old of numbers.slice(0, -1)) removeLock(folder, old);
  return true;
};

/** Gone already is as good: two processes may clean up at once. `rmSync` would load a millisecond of code. */
const removeLock = (folder: string, number: number): void => {
  try {
    unlinkSync(join(folder, `lock.${number}`));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
};

const lockAt = (folder: string, number: number, holder: LockHolder): Lock => ({
  release: () => {
    // No sync: after a power cut the holder's boot is over, which frees the lock all the same.
    replaceFile(join(folder, `lock.${number}`), `${JSON.stringify({ ...holder, released: true })}\n`, {
      sync: false,
    });
  },
});

const busy = (folder: string, ticket: string, seen: Exclude<Seen, { state: 'free' }>): Problem => {
  if (seen.state === 'held') {
    const { pid, startTime, since } = seen.holder;
    return new Problem({
      kind: 'busy',
      message: `ticket \`${ticket}\` is being run by process ${pid} (start time ${startTime}, since ${since})`,
      next: `wait for it, watch it with \`orchestrate status --ticket ${ticket}\`, or end it with Ctrl-C in its terminal`,
    });
  }
  return new Problem({
    kind: 'busy',
    message: `the lock of ticket \`${ticket}\` is not ours to take: ${seen.detail}`,
    where: join(folder, `lock.${seen.number}`),
    next: 'when you are sure that no other process runs this ticket, remove that file',
  });
};
