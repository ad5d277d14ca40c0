import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Problem } from '../model/failure.js';

/** Commits whose parents a git directory does not have. Source: gitformat-shallow in Documentation/technical. */
export const readShallow = (gitDir: string): string[] => {
  const path = join(gitDir, 'shallow');
  if (!existsSync(path)) return [];
  return readFileSync(path, 'latin1')
    .split('\n')
    .filter((line) => line !== '');
};

interface ShallowChange {
  readonly add: readonly string[];
  /** Commits whose parents are there from now on. */
  readonly drop: readonly string[];
}

/** Under git's own lock file, as several tickets and processes may do this at once. */
export const updateShallow = async (gitDir: string, change: ShallowChange): Promise<void> => {
  const path = join(gitDir, 'shallow');
  const lock = `${path}.lock`;
  const fd = await openLock(lock);
  try {
    const known = new Set(readShallow(gitDir));
    for (const id of change.drop) known.delete(id);
    for (const id of change.add) known.add(id);
    writeSync(fd, [...known].map((id) => `${id}\n`).join(''));
    closeSync(fd);
    // An empty file would still make git think that history is cut somewhere.
    if (known.size === 0) {
      rmSync(path, { force: true });
      unlinkSync(lock);
    } else {
      renameSync(lock, path);
    }
  } catch (error) {
    rmSync(lock, { force: true });
    throw error;
  }
};

const WAIT_MS = 20;
const LOCK_TIMEOUT_MS = 10_000;
/** Held for a few milliseconds; one of this age belongs to a process that died. Shorter than the wait, so that no death blocks. */
const STALE_MS = 3_000;

const openLock = async (lock: string): Promise<number> => {
  for (let waitedMs = 0; waitedMs < LOCK_TIMEOUT_MS; waitedMs += WAIT_MS) {
    try {
      return openSync(lock, 'wx', 0o644);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const stat = statSync(lock, { throwIfNoEntry: false });
    // Also when the clock was set back meanwhile.
    if (stat !== undefined && Math.abs(Date.now() - stat.mtimeMs) > STALE_MS) rmSync(lock, { force: true });
    await delay(WAIT_MS);
  }
  throw new Problem({
    kind: 'git-failed',
    message: '`shallow` of the private store stays locked',
    where: lock,
    next: 'if no `orchestrate` is running, delete that lock file and run again',
  });
};
