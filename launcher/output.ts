import { fstatSync, writeSync } from 'node:fs';
import type * as Tty from 'node:tty';

/** Standard output or error: written at once, so that nothing is left to flush at the end. */
export interface Output {
  readonly write: (text: string) => boolean;
  readonly isTTY: boolean;
  /** Width of the terminal; 80 where there is none. */
  readonly columns: number;
}

/**
 * A descriptor as an output. It does what `process.stdout` does for files, pipes and terminals on POSIX, without loading the
 * stream and socket modules (3 ms, the price of a whole `--version`).
 * A reader that has gone ends the process quietly, see `readerGone`.
 */
export const openOutput = (fd: 1 | 2): Output => {
  let open = true;
  let terminal: boolean | undefined;
  return {
    write: (text) => {
      if (!open) return false;
      open = writeAll(fd, text);
      if (!open) readerGone();
      return open;
    },
    get isTTY() {
      terminal ??= isTerminal(fd);
      return terminal;
    },
    get columns() {
      return (fd === 1 ? process.stdout : process.stderr).columns || DEFAULT_COLUMNS;
    },
  };
};

const DEFAULT_COLUMNS = 80;

/** For the last words: whatever happens to them, nothing follows. */
export const errorOutput = (text: string): void => {
  writeAll(2, text);
};

/** @returns false when nobody reads any more (or ever did: a closed descriptor) */
const writeAll = (fd: number, text: string): boolean => {
  const bytes = Buffer.from(text);
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return false;
      waitForReader();
    }
  }
  return true;
};

const RETRY_MS = 2;

/** The other end made the pipe non-blocking and has not read yet. A blocking pipe would have waited just so. */
const waitForReader = (): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
};

/**
 * `orchestrate ... | head`: what works goes on to its orderly end if somebody listens for SIGTERM (a run with children does);
 * otherwise there is nothing left to do.
 */
const readerGone = (): void => {
  if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
  else process.exit();
};

/** Only a character device can be a terminal; `node:tty` is loaded for those alone. */
const isTerminal = (fd: number): boolean => {
  try {
    if (!fstatSync(fd).isCharacterDevice()) return false;
  } catch {
    return false;
  }
  return (require('node:tty') as typeof Tty).isatty(fd);
};
