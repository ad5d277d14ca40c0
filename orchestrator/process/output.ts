/**
 * The standard output of a child, read while it comes: from its log, or from a socket that only it and its parent hold.
 *
 * O1  What is read decides nothing before the child's end, except that it is ended: it has said its last word and stays, or it
 *     reports what no waiting mends.
 * O2  Memory is bounded by one line, whatever is written.
 * O3  From a socket every byte is read by the parent itself and can come from no process that the child did not start: Linux opens
 *     a socket through `/proc/PID/fd` for nobody (EVIDENCE row 15). A log can be written to by any process of the user.
 */
import type { ChildProcess } from 'node:child_process';
import { closeSync, constants, fstatSync, openSync, readSync, watch, writeSync } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { join } from 'node:path';
import type { ChildEnd } from '../model/child.js';
import { FILES } from './child-folder.js';
import { readLines } from './lines.js';

/** Why a child has to be ended although no limit was reached. */
export interface EndNow {
  readonly end: ChildEnd;
  /** It may end by itself first. */
  readonly afterMs: number;
}

/** Somebody who reads what a child says. */
export interface OutputReader {
  /** Longest line that is read, in UTF-16 code units. */
  readonly longestLine: number;
  readonly line: (line: string) => void;
  /** Asked after each piece of output; `undefined` takes back what it said before. */
  readonly endNow?: () => EndNow | undefined;
}

type Told = (now: EndNow | undefined) => void;

/** One child's output being read. */
export interface Following {
  /** Must be called once, before anything is read. */
  readonly start: (onEndNow: Told) => void;
  /** The child is gone: reads what is left. Never rejects. */
  readonly finish: () => Promise<void>;
}

const CHUNK_BYTES = 1_048_576;
/** A child writes many small pieces; they are read together. */
const GATHER_MS = 100;
/** A process that escaped may hold the socket: the rest is waited for no longer than this. */
const DRAIN_MS = 1_000;

const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const openLog = (path: string): number | undefined => {
  try {
    const fd = openSync(path, OPEN_FLAGS);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
  } catch {
    // Not there, or not a file any more: then there is nothing to read.
  }
  return undefined;
};

/** Reads `stdout.log` from its start as it grows: by change notices, and whatever came last when the child is gone. */
export const followLog = (dir: string, reader: OutputReader): Following => {
  const lines = readLines(reader.line, reader.longestLine);
  const fd = openLog(join(dir, FILES.stdout));
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let offset = 0;
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  const advance = (): void => {
    if (fd === undefined) return;
    for (let read = readSync(fd, buffer, 0, CHUNK_BYTES, offset); read > 0;) {
      offset += read;
      lines.feed(buffer.subarray(0, read));
      read = readSync(fd, buffer, 0, CHUNK_BYTES, offset);
    }
  };
  const stop = (): void => {
    clearTimeout(timer);
    watcher?.close();
    watcher = undefined;
  };
  return {
    start: (onEndNow) => {
      const look = (): void => {
        timer = undefined;
        advance();
        onEndNow(reader.endNow?.());
      };
      try {
        watcher = watch(join(dir, FILES.stdout), () => {
          timer ??= setTimeout(look, GATHER_MS);
        });
        watcher.on('error', stop);
      } catch {
        // Without notices it is read when the child is gone; the limits hold all the same.
      }
      look();
    },
    finish: async () => {
      stop();
      advance();
      lines.end();
      if (fd !== undefined) closeSync(fd);
    },
  };
};

/** Reads the socket that is a forked child's standard output, and writes `stdout.log` for people. */
export const followSocket = (dir: string, process: ChildProcess, reader: OutputReader): Following => {
  const lines = readLines(reader.line, reader.longestLine);
  const { stdout } = process;
  const log = openSync(join(dir, FILES.stdout), 'a', 0o644);
  let ended: Promise<unknown> = Promise.resolve();
  return {
    start: (onEndNow) => {
      if (stdout === null) return;
      ended = new Promise((resolve) => {
        stdout.once('close', resolve);
        stdout.once('error', resolve);
      });
      stdout.on('data', (bytes: Buffer) => {
        writeLog(log, bytes);
        lines.feed(bytes);
        onEndNow(reader.endNow?.());
      });
    },
    finish: async () => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise((resolve) => {
        timer = setTimeout(resolve, DRAIN_MS);
      });
      await Promise.race([ended, late]);
      clearTimeout(timer);
      stdout?.destroy();
      lines.end();
      closeSync(log);
    },
  };
};

/** The log is for people: a full disk must not lose what was said. */
const writeLog = (fd: number, bytes: Uint8Array): void => {
  try {
    writeSync(fd, bytes);
  } catch {
    // Said by the next write of the record, which is not optional.
  }
};
