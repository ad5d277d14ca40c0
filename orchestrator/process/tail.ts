/** The end of a log: what a person or a watchdog looks at. The number of bytes read does not depend on the size of the file. */
import { closeSync, constants, fstatSync, openSync, readSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { TAIL_LINES } from '../model/limits.js';

/** Read at a time. */
const CHUNK_BYTES = 65_536;
/** Bytes looked at for one wanted line on average; for 15 lines it is 256 KiB at the least. */
const BYTES_PER_LINE = 4_096;
const LEAST_BUDGET_BYTES = 262_144;
const LARGEST_BUDGET_BYTES = 8_388_608;
/** Characters (UTF-16) of one line; what is longer is cut and ends in `…`. */
const LINE_CHARACTERS = 8_192;
/** How often `until` is asked and the file looked at when the system gives no notice. */
const RECHECK_MS = 1_000;

const NEWLINE = 10;
/** A worker can replace its log: a link is not followed, a pipe not waited for. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const openRegular = (path: string): number | undefined => {
  let fd: number;
  try {
    fd = openSync(path, OPEN_FLAGS);
  } catch {
    return undefined;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  return undefined;
};

export interface Tail {
  /** Without line ends, CRLF included; not cleaned. */
  readonly lines: readonly string[];
  /** Offset after the last complete line: where `followLog` goes on. */
  readonly resumeAt: number;
}

/**
 * The last `count` lines. A last line without newline counts; half a character at either end is left out; a line whose start lies
 * too far back begins with `…`. A file that is not there has no lines.
 */
export const readTail = (path: string, count: number = TAIL_LINES): Tail => {
  const fd = openRegular(path);
  if (fd === undefined) return { lines: [], resumeAt: 0 };
  try {
    return tailOf(fd, count);
  } finally {
    closeSync(fd);
  }
};

export const tailLines = (path: string, count: number = TAIL_LINES): readonly string[] =>
  readTail(path, count).lines;

/** The same of a file that is open. */
export const tailOf = (fd: number, count: number = TAIL_LINES): Tail => {
  const { size } = fstatSync(fd);
  const budget = Math.min(Math.max(count * BYTES_PER_LINE, LEAST_BUDGET_BYTES), LARGEST_BUDGET_BYTES);
  const end = readBack(fd, size, { count, start: Math.max(0, size - budget) });
  const lastNewline = end.bytes.lastIndexOf(NEWLINE);
  const resumeAt = lastNewline < 0 ? end.from : end.from + lastNewline + 1;
  const cut = end.from > 0;
  const text = new StringDecoder('utf8').write(cut ? withoutHalfCharacter(end.bytes) : end.bytes);
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  if (cut && lines.length <= count) lines[0] = `…${lines[0] ?? ''}`;
  return { lines: count <= 0 ? [] : lines.slice(-count).map(finishLine), resumeAt };
};

interface Wanted {
  readonly count: number;
  /** Nothing before this offset is read. */
  readonly start: number;
}

/** Bytes from the end back to where more than `count` lines are in hand. */
const readBack = (
  fd: number,
  size: number,
  { count, start }: Wanted,
): { readonly bytes: Buffer; readonly from: number } => {
  const chunks: Buffer[] = [];
  let from = size;
  // The newline that ends the last line separates nothing.
  let newlines = -1;
  while (from > start && newlines < count) {
    const length = Math.min(CHUNK_BYTES, from - start);
    const chunk = Buffer.allocUnsafe(length);
    from -= length;
    const read = readSync(fd, chunk, 0, length, from);
    chunks.unshift(chunk.subarray(0, read));
    newlines += newlinesIn(chunk.subarray(0, read));
  }
  return { bytes: Buffer.concat(chunks), from };
};

const newlinesIn = (bytes: Buffer): number => {
  let found = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) found += 1;
  return found;
};

/** Continuation bytes at the start belong to a character whose head was not read; there are three at most. */
const withoutHalfCharacter = (bytes: Buffer): Buffer => {
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0b1100_0000) === 0b1000_0000) start += 1;
  return bytes.subarray(start);
};

const finishLine = (line: string): string => {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.length > LINE_CHARACTERS ? `${text.slice(0, LINE_CHARACTERS - 1)}…` : text;
};

export interface FollowOptions {
  /** Ends it at once. */
  readonly signal: AbortSignal;
  /** True when nothing more will be written: then it ends after the last byte. */
  readonly until?: () => boolean;
  /** Offset to start at; the end of the file unless given. */
  readonly from?: number;
}

/**
 * New lines of a log as they are completed, without line ends, not cleaned. Reads only as fast as it is asked: a slow reader costs
 * no memory. The log may not exist yet, may be cut short (then it starts over), and may end without a newline.
 */
export async function* followLog(
  path: string,
  options: FollowOptions,
): AsyncGenerator<string, void, undefined> {
  const { signal, until } = options;
  const notices = new Notices(path, signal);
  const reader = new LineReader(path, options.from);
  try {
    while (!signal.aborted) {
      // Asked before the read: what was written until then is read below.
      const last = until?.() ?? false;
      yield* reader.completed(signal);
      if (last && !signal.aborted) return yield* reader.rest();
      await notices.next();
    }
  } finally {
    notices.close();
    reader.close();
  }
}

/** Holds the open file and the beginning of a line that is not complete yet. */
class LineReader {
  private fd: number | undefined;
  private position: number;
  private started = '';
  private decoder = new StringDecoder('utf8');
  /** The rest of a line that was cut is passed over. */
  private skipping = false;
  private readonly chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  private readonly path: string;

  constructor(path: string, from: number | undefined) {
    this.path = path;
    this.fd = openRegular(path);
    // A file that appears later is new from its first byte.
    this.position = from ?? (this.fd === undefined ? 0 : fstatSync(this.fd).size);
  }

  /** Every line that is complete by now, until `signal` says to stop. */
  *completed(signal: AbortSignal): Generator<string, void, undefined> {
    for (let lines = this.next(); lines !== undefined; lines = this.next()) {
      for (const line of lines) {
        if (signal.aborted) return;
        yield line;
      }
    }
  }

  /** The last line if no newline ended it. */
  rest(): readonly string[] {
    const line = this.started;
    this.started = '';
    return line === '' ? [] : [finishLine(line)];
  }

  close(): void {
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = undefined;
  }

  /** Lines that the next piece completes, perhaps none; `undefined` at the end of the file. */
  private next(): readonly string[] | undefined {
    this.fd ??= openRegular(this.path);
    if (this.fd === undefined) return undefined;
    if (fstatSync(this.fd).size < this.position) this.startOver();
    const read = readSync(this.fd, this.chunk, 0, this.chunk.length, this.position);
    if (read === 0) return undefined;
    this.position += read;
    return this.split(this.decoder.write(this.chunk.subarray(0, read)));
  }

  private startOver(): void {
    this.position = 0;
    this.started = '';
    this.skipping = false;
    this.decoder = new StringDecoder('utf8');
  }

  private split(text: string): readonly string[] {
    const pieces = text.split('\n');
    const tail = pieces.pop() ?? '';
    const lines: string[] = [];
    for (const piece of pieces) {
      if (!this.skipping) lines.push(finishLine(this.started + piece));
      this.started = '';
      this.skipping = false;
    }
    if (!this.skipping) this.started += tail;
    if (this.started.length <= LINE_CHARACTERS) return lines;
    lines.push(finishLine(this.started));
    this.started = '';
    this.skipping = true;
    return lines;
  }
}

/** Change notices of one file, with a timer for what the system does not report. */
class Notices {
  private pending = false;
  private wake: (() => void) | undefined;
  private watcher: FSWatcher | undefined;
  private readonly path: string;
  private readonly signal: AbortSignal;
  private readonly onAbort = (): void => this.ring();

  constructor(path: string, signal: AbortSignal) {
    this.path = path;
    this.signal = signal;
    signal.addEventListener('abort', this.onAbort);
    this.observe();
  }

  /** Resolves at the next change, at once if one was reported meanwhile. */
  async next(): Promise<void> {
    if (this.watcher === undefined) this.observe();
    if (!this.pending && !this.signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.watcher === undefined ? RECHECK_MS / 5 : RECHECK_MS);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.wake = undefined;
    this.pending = false;
  }

  close(): void {
    this.signal.removeEventListener('abort', this.onAbort);
    this.watcher?.close();
  }

  private ring(): void {
    this.pending = true;
    this.wake?.();
  }

  private observe(): void {
    try {
      this.watcher = watch(this.path, () => this.ring());
      this.watcher.on('error', () => this.ring());
    } catch {
      // Not there yet, or no watches left.
      this.watcher = undefined;
    }
  }
}
