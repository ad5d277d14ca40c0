/** The end of a log: what a person or a watchdog looks at. The number of bytes read does not depend on the size of the file. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { TAIL_LINES } from '../model/limits.js';

/** Read at a time. */
const CHUNK_BYTES = 65_536;
/** Bytes looked at for one wanted line on average; for 15 lines it is 256 KiB at the least. */
const BYTES_PER_LINE = 4_096;
const LEAST_BUDGET_BYTES = 262_144;
const LARGEST_BUDGET_BYTES = 8_388_608;
/** Characters (UTF-16) of one line; what is longer is cut and ends in `…`. */
export const LINE_CHARACTERS = 8_192;

const NEWLINE = 10;
/** A worker can replace its log: a link is not followed, a pipe not waited for. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A log, to read from; `undefined` when it is not there, or not a file. */
export const openRegular = (path: string): number | undefined => {
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

/** A line as it is given out: without CR, not too long. */
export const finishLine = (line: string): string => {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.length > LINE_CHARACTERS ? `${text.slice(0, LINE_CHARACTERS - 1)}…` : text;
};
