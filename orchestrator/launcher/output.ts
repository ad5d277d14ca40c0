import { writeSync } from 'node:fs';

const RETRY_MS = 2;

/**
 * Writes to standard output (1) or error (2) at once and whole, so that nothing is left to flush at the end, and without
 * `process.stdout`, whose stream and socket modules take 3 ms to load: the price of a whole `--version`.
 * A reader that has gone (`| head`) is no error: nothing follows.
 */
export const writeOut = (fd: 1 | 2, text: string): void => {
  const bytes = Buffer.from(text);
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      // The other end made the pipe non-blocking and has not read yet. A blocking pipe would have waited just so.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
};
