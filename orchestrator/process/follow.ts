/** A log, shown while it grows. */
import { closeSync, fstatSync, readSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { showLines, type ShownLines } from './shown-lines.js';
import { openRegular } from './tail.js';

/** How often `until` is asked and the file looked at when the system gives no notice, and when it cannot give any. */
const RECHECK_MS = 1_000;
const UNWATCHED_RECHECK_MS = 200;
/** A child writes many small pieces; they are read together. Nobody sees the delay. */
const GATHER_MS = 20;

export interface FollowOptions {
  /** Ends it at once. */
  readonly signal: AbortSignal;
  /** True when nothing more will be written: then it ends after the last byte. */
  readonly until?: () => boolean;
  /** Offset to start at; the end of the file unless given. */
  readonly from?: number;
}

/**
 * The lines of a log as they are completed, cleaned, many at a time; see `ShownLines` for how long they can be used. Reads only
 * as fast as it is asked: a slow reader costs no memory. The log may not exist yet, may be cut short (then it starts over), and
 * may end without a newline.
 */
export async function* followLog(
  path: string,
  options: FollowOptions,
): AsyncGenerator<ShownLines, void, undefined> {
  const log = openLog(path, options.from);
  let isLast = false;
  try {
    for (;;) {
      yield* log.completed(options.signal);
      if (options.signal.aborted) return;
      if (isLast) return yield* log.rest();
      isLast = await hasEnded(path, log, options);
    }
  } finally {
    log.close();
  }
}

/** Waits for more of the log; true at once when `until` says that what is there now is all. */
const hasEnded = async (path: string, log: Log, { signal, until }: FollowOptions): Promise<boolean> => {
  const change = listen(path, signal);
  try {
    const isOver = until?.() ?? false;
    if (!isOver && !log.hasMore()) await change.gathered();
    return isOver;
  } finally {
    change.close();
  }
};

interface Log {
  /** The lines that are complete by now, block by block, until `signal` says to stop. */
  readonly completed: (signal: AbortSignal) => AsyncGenerator<ShownLines, void, undefined>;
  /** The last line if no newline ended it. */
  readonly rest: () => readonly string[];
  readonly hasMore: () => boolean;
  readonly close: () => void;
}

const openLog = (path: string, from: number | undefined): Log => {
  const lines = showLines();
  let fd = openRegular(path);
  // A file that appears later is new from its first byte.
  let position = from ?? (fd === undefined ? 0 : fstatSync(fd).size);

  const size = (): number => {
    fd ??= openRegular(path);
    return fd === undefined ? position : fstatSync(fd).size;
  };

  /** Number of bytes that were put into the room for them. */
  const read = (): number => {
    if (size() < position) {
      position = 0;
      lines.clear();
    }
    if (fd === undefined) return 0;
    const room = lines.room();
    const length = readSync(fd, room, 0, room.length, position);
    position += length;
    return length;
  };

  return {
    async *completed(signal) {
      for (let length = read(); length > 0 && !signal.aborted; length = read()) {
        yield* lines.shown(length);
        // Signals are heard between two blocks.
        await nextTurn();
      }
    },
    rest: () => [lines.rest()].filter((line) => line !== ''),
    hasMore: () => size() !== position,
    close: () => {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
};

interface Change {
  /** Resolves a while after something has changed, when it is time to look without that, or by the signal. */
  readonly gathered: () => Promise<void>;
  readonly close: () => void;
}

/**
 * Waits for one change of a log, or of its folder, where the child's end is written down. It stops listening with the first notice:
 * of a gigabyte in small pieces there would be a hundred thousand.
 */
const listen = (path: string, signal: AbortSignal): Change => {
  let wake = (): void => undefined;
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  signal.addEventListener('abort', wake);
  const watchers = [path, dirname(path)].flatMap((watched) => watcherOf(watched, wake));
  const close = (): void => {
    signal.removeEventListener('abort', wake);
    for (const watcher of watchers) watcher.close();
  };
  return {
    gathered: async () => {
      const timer = setTimeout(wake, watchers.length === 0 ? UNWATCHED_RECHECK_MS : RECHECK_MS);
      await woken;
      clearTimeout(timer);
      close();
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
    },
    close,
  };
};

const watcherOf = (path: string, onNotice: () => void): readonly FSWatcher[] => {
  try {
    return [watch(path, onNotice).on('error', onNotice)];
  } catch {
    // Not there yet, or no watches left.
    return [];
  }
};
