/**
 * A cache of "nothing to do": what every file that a finished ticket depends on looked like when all of its targets were found up
 * to date. While all look the same the answer is the same, and neither the journal nor the pipeline has to be read for it. It may be
 * deleted at any time, is believed only when its seal holds, and starts nothing: whatever differs in any way, the run is booted.
 *
 * A head of one line (the seal and JSON), then four numbers for each file. Only `node:` modules and types.
 */
import { createHmac } from 'node:crypto';
import { lstatSync, readFileSync, statSync, type Stats } from 'node:fs';
import { RACY_MS } from '../state/file-digests.js';
import { replaceFile } from '../state/files.js';
import { bootId } from '../state/identity.js';
import { DOCUMENTS, type RunDirectory } from '../state/run-dir.js';

/** Of the format; another one is made anew. */
const VERSION = 1;

/** Size, times of the last change in milliseconds since the epoch, inode; a size of -1: it is not there. */
export interface Look {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
}

const NUMBERS = 4;
const NOT_THERE: Look = { size: -1, mtimeMs: 0, ctimeMs: 0, ino: 0 };
const NO_THROW = { throwIfNoEntry: false } as const;

interface Head {
  readonly v: typeof VERSION;
  /** What the answer depends on besides files: the program, the places, the path of the pipeline. */
  readonly salt: string;
  /** After a power cut files may look as they did and not be what they were. */
  readonly bootId: string;
  readonly targets: number;
  /** Absolute paths of the files outside the record. */
  readonly files: readonly string[];
}

/** What of the record is looked at, in this order; nothing of it may be a link. */
const recordOf = (directory: RunDirectory): readonly string[] => [
  directory.journal,
  directory.inbox,
  directory.state,
  ...DOCUMENTS.map(directory.document),
];

const lookOf = (stat: Stats | undefined): Look => stat ?? NOT_THERE;

/** How the record looks, to be taken before it is read. */
export const lookAtRecord = (directory: RunDirectory): readonly Look[] =>
  recordOf(directory).map((path) => lookOf(lstatSync(path, NO_THROW)));

const sealOf = (key: Uint8Array, ...parts: readonly (string | Uint8Array)[]): string => {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest('hex');
};

/** Of a seal in hexadecimal digits. */
const SEAL_LENGTH = 64;
const NEWLINE = 10;

export interface Rest {
  readonly salt: string;
  readonly targets: number;
  /** As it was before the record was read. */
  readonly record: readonly Look[];
  /** Absolute paths, and how each looked when it was read. */
  readonly files: ReadonlyMap<string, Look>;
}

const isSettled = ({ mtimeMs, ctimeMs }: Look, now: number): boolean =>
  now - mtimeMs > RACY_MS && now - ctimeMs > RACY_MS;

/**
 * Remembers it, unless something changed so lately that a further change could not be seen. A cache that cannot be written costs
 * only time.
 * @param now milliseconds since the epoch
 */
export const writeRest = (directory: RunDirectory, key: Uint8Array, rest: Rest, now: number): void => {
  const looks = [...rest.record, ...rest.files.values()];
  if (!looks.every((look) => isSettled(look, now))) return;
  const { salt, targets } = rest;
  const head: Head = { v: VERSION, salt, bootId: bootId(), targets, files: [...rest.files.keys()] };
  const text = JSON.stringify(head);
  const numbers = Float64Array.from(
    looks.flatMap((look) => [look.size, look.mtimeMs, look.ctimeMs, look.ino]),
  );
  const body = Buffer.from(numbers.buffer);
  const line = Buffer.from(`${sealOf(key, text, body)}${text}\n`);
  try {
    replaceFile(directory.rest, Buffer.concat([line, body]), { sync: false });
  } catch {
    // Then the next run boots.
  }
};

interface Remembered extends Head {
  readonly numbers: Float64Array;
}

const readRest = (directory: RunDirectory, key: Uint8Array): Remembered | undefined => {
  let bytes: Buffer;
  try {
    bytes = readFileSync(directory.rest);
  } catch {
    return undefined;
  }
  const end = bytes.indexOf(NEWLINE);
  if (end < SEAL_LENGTH) return undefined;
  const body = bytes.subarray(end + 1);
  const text = bytes.subarray(SEAL_LENGTH, end);
  if (sealOf(key, text, body) !== bytes.toString('latin1', 0, SEAL_LENGTH)) return undefined;
  // Copied, because numbers of eight bytes must begin at a multiple of eight.
  const numbers = new Float64Array(Uint8Array.from(body).buffer);
  return { ...(JSON.parse(text.toString('utf8')) as Head), numbers };
};

const looksThe = (same: Float64Array, at: number, { size, mtimeMs, ctimeMs, ino }: Look): boolean =>
  same[at] === size && same[at + 1] === mtimeMs && same[at + 2] === ctimeMs && same[at + 3] === ino;

/** @returns how many targets are up to date, all of them; `undefined` when that is not known from here */
export const targetsAtRest = (directory: RunDirectory, key: Uint8Array, salt: string): number | undefined => {
  const rest = readRest(directory, key);
  if (rest?.v !== VERSION || rest.salt !== salt || rest.bootId !== bootId()) return undefined;
  const { numbers, files, targets } = rest;
  const record = lookAtRecord(directory);
  if (numbers.length !== NUMBERS * (record.length + files.length)) return undefined;
  if (!record.every((look, index) => looksThe(numbers, NUMBERS * index, look))) return undefined;
  let at = NUMBERS * record.length;
  for (const path of files) {
    if (!looksThe(numbers, at, lookAtFile(path))) return undefined;
    at += NUMBERS;
  }
  return targets;
};

/** A link counts as the file that it leads to. */
export const lookAtFile = (path: string): Look => {
  try {
    return lookOf(statSync(path, NO_THROW));
  } catch {
    return NOT_THERE;
  }
};
