/**
 * journal.jsonl: the machine's memory.
 *
 * J1  An event is believed only after its line is on the disk (one write, one fdatasync).
 * J2  A line carries the SHA-256 of the line before and an HMAC over that and its own body: a change, a removal or an
 *     insertion before the last line is seen without the key, a line made by someone else with it. Whole lines cut off
 *     the end are seen by 99 and the checkpoint, which then know more than the journal.
 * J3  What follows the last newline is a torn tail: what a crash in the middle of an append leaves. It is dropped, and
 *     opening for append truncates it, because two records glued together would be one bad line.
 * J4  A whole line that does not hold is never skipped: the journal is refused.
 */
import { createHash, createHmac } from 'node:crypto';
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  type BigIntStats,
} from 'node:fs';
import type { RunEvent, JournalLine } from '../model/event.js';
import { Problem } from '../model/failure.js';
import { jsonText } from '../model/text.js';
import { crossing } from './crossing.js';
import { replaceFile, syncFolder, writeAll } from './files.js';
import { dirname } from 'node:path';

/** Where the chain stands after a line. */
export interface ChainHead {
  readonly seq: number;
  /** SHA-256 of the last line, hexadecimal; 64 zeros before the first. */
  readonly hash: string;
  /** Bytes up to and including its newline. */
  readonly bytes: number;
}

export const EMPTY_CHAIN: ChainHead = { seq: 0, hash: '0'.repeat(64), bytes: 0 };

const sha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex');

const PREV = ',"prev":"';
/** What follows a line's body, always ASCII: `prev`, its 64 digits, `mac`, its 64 digits. */
const TAIL_BYTES = PREV.length + 64 + '","mac":"'.length + 64 + '"}'.length;

const encode = (line: JournalLine, prev: string, key: Uint8Array): string => {
  const body = jsonText(line).slice(0, -1);
  return `${body}${PREV}${prev}","mac":"${macOf(body, prev, key)}"}`;
};

const macOf = (body: string | Uint8Array, prev: string, key: Uint8Array): string =>
  createHmac('sha256', key).update(prev).update(body).digest('hex');

const refused = (path: string, seq: number, message: string): Problem =>
  new Problem({
    kind: 'record-refused',
    message: `journal line ${seq}: ${message}`,
    where: path,
    next: 'the record was changed outside orchestrate; `orchestrate verify` tells what still holds. Restore the file, or start again with `orchestrate abandon` and a new run',
  });

export interface ReadOptions {
  readonly path: string;
  /** Without a key only the chain of hashes is checked. */
  readonly key?: Uint8Array;
  /** Start after this point, which was proved otherwise. */
  readonly from?: ChainHead;
}

/**
 * Hands every whole line after `from` to `visit`, in file order, checked.
 * @returns the head of the chain and how many bytes of torn tail were dropped
 * @throws `Problem` `record-refused` with the line's number when a whole line does not hold
 */
export const readJournal = (
  bytes: Buffer,
  options: ReadOptions,
  visit: (line: JournalLine) => void,
): { readonly head: ChainHead; readonly torn: number } => {
  let { seq, hash, bytes: offset } = options.from ?? EMPTY_CHAIN;
  for (let end = bytes.indexOf(10, offset); end !== -1; end = bytes.indexOf(10, offset)) {
    const line = bytes.subarray(offset, end);
    visit(decode(line, { seq: seq + 1, hash, options }));
    seq += 1;
    hash = sha256(line);
    offset = end + 1;
  }
  return { head: { seq, hash, bytes: offset }, torn: bytes.length - offset };
};

interface Expected {
  readonly seq: number;
  readonly hash: string;
  readonly options: ReadOptions;
}

/** Bytes, not text: what is no UTF-8 would read like the replacement character that a line may well contain. */
const decode = (bytes: Buffer, { seq, hash, options }: Expected): JournalLine => {
  const body = bytes.subarray(0, Math.max(0, bytes.length - TAIL_BYTES));
  const match = /^,"prev":"([0-9a-f]{64})","mac":"([0-9a-f]{64})"\}$/.exec(
    bytes.toString('latin1', body.length),
  );
  if (match === null) throw refused(options.path, seq, 'it is not a journal line');
  if (match[1] !== hash)
    throw refused(options.path, seq, 'it does not follow the line before it (hash chain broken)');
  if (options.key !== undefined && match[2] !== macOf(body, hash, options.key)) {
    throw refused(options.path, seq, 'its seal was not made with your key');
  }
  const line = parse(`${body.toString('utf8')}}`);
  if (line === undefined || line.seq !== seq)
    throw refused(options.path, seq, 'its number or its JSON is wrong');
  if (line.v !== 1)
    throw refused(options.path, seq, `format ${String(line.v)} is newer than this orchestrate`);
  return line;
};

const parse = (text: string): JournalLine | undefined => {
  try {
    return JSON.parse(text) as JournalLine;
  } catch {
    return undefined;
  }
};

export interface Composed {
  readonly lines: readonly JournalLine[];
  readonly text: string;
  readonly head: ChainHead;
}

/** A whole journal from its first line, sealed and chained, to be written in one piece. */
export const composeJournal = (
  events: readonly { readonly event: RunEvent; readonly at: string }[],
  key: Uint8Array,
): Composed => {
  let { seq, hash, bytes } = EMPTY_CHAIN;
  const lines: JournalLine[] = [];
  const texts: string[] = [];
  for (const { event, at } of events) {
    seq += 1;
    const line: JournalLine = { v: 1, seq, at, event };
    const text = encode(line, hash, key);
    hash = sha256(text);
    bytes += Buffer.byteLength(text) + 1;
    lines.push(line);
    texts.push(`${text}\n`);
  }
  return { lines, text: texts.join(''), head: { seq, hash, bytes } };
};

/** The bytes of the journal; empty when there is none. */
export const journalBytes = (path: string): Buffer => {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
};

/** The change time cannot be set by a program, only the clock of the machine can. */
const stampOfStat = ({ ino, size, ctimeNs }: BigIntStats): string => `${ino}:${size}:${ctimeNs}`;

/** `undefined` when there is no file. */
export const stampOf = (path: string): string | undefined => {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : stampOfStat(stat);
};

export interface Journal {
  readonly head: () => ChainHead;
  /** What the file was after our last write, to be compared with `stampOf`: any other write changes it, also one of equal size. */
  readonly stamp: () => string;
  /** Durable when it returns. @throws the system error of the write; the event then did not happen */
  readonly append: (event: RunEvent, at: string) => JournalLine;
  /**
   * Somebody else wrote to the file: it gets our lines again, where our own file still has them, and takes no more. A line with
   * the user's key would hold, and the next boot would believe it.
   */
  readonly takeBack: () => void;
  readonly close: () => void;
}

/** Opens for append at `head`, cutting a torn tail. Only the holder of the ticket's lock may call this. */
export const openJournal = (path: string, key: Uint8Array, at: ChainHead): Journal => {
  const fd = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o644);
  if (at.bytes === 0) syncFolder(dirname(path));
  if (fstatSync(fd).size > at.bytes) {
    ftruncateSync(fd, at.bytes);
    fdatasyncSync(fd);
  }
  let head = at;
  let stamp = stampOfStat(fstatSync(fd, { bigint: true }));
  let broken: Error | undefined;
  return {
    head: () => head,
    stamp: () => stamp,
    append: (event, time) => {
      if (broken !== undefined) throw broken;
      const line: JournalLine = { v: 1, seq: head.seq + 1, at: time, event };
      const text = encode(line, head.hash, key);
      try {
        crossing(`append ${event.type}`);
        const written = writeAll(fd, `${text}\n`);
        crossing(`appended ${event.type}`);
        fdatasyncSync(fd);
        crossing(`synced ${event.type}`);
        head = { seq: line.seq, hash: sha256(text), bytes: head.bytes + written };
        stamp = stampOfStat(fstatSync(fd, { bigint: true }));
      } catch (error) {
        // A line that could not be synced did not happen: what of it reached the file must not be read later.
        try {
          ftruncateSync(fd, head.bytes);
        } catch {
          // J3: as long as that is not cut off, no other line may follow.
          broken = error as Error;
        }
        throw error;
      }
      return line;
    },
    takeBack: () => {
      broken = new Error('the journal was changed by somebody else');
      const own = ownLines(fd, head, { path, key });
      if (own !== undefined) replaceFile(path, own, { sync: true });
    },
    close: () => closeSync(fd),
  };
};

/** The bytes up to our last line; `undefined` when they are not the ones that we wrote. */
const ownLines = (fd: number, head: ChainHead, options: ReadOptions): Buffer | undefined => {
  const bytes = Buffer.alloc(head.bytes);
  let done = 0;
  for (let read = 1; read > 0 && done < bytes.length; done += read)
    read = readSync(fd, bytes, done, bytes.length - done, done);
  try {
    const found = readJournal(bytes, options, () => undefined).head;
    return found.hash === head.hash && found.bytes === head.bytes ? bytes : undefined;
  } catch {
    return undefined;
  }
};
