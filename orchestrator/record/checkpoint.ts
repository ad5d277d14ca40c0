/**
 * A cache of the replay: what the journal's first N lines come to. It may be deleted at any time. It is believed only when
 * its seal holds and the journal still begins with exactly the bytes that it was made from. One whose seal holds and that
 * does not fit proves that the journal is not what it was (J2): the journal was synced before it was written.
 */
import { createHash, createHmac, type Hash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import type { RunState } from '../machine/run-state.js';
import type { ChainHead } from '../state/journal.js';
import { replaceFile } from '../state/files.js';
import { compact, expand } from './compact-state.js';

/** Of the format; another one is made anew. */
const VERSION = 2;

interface Stored {
  readonly v: typeof VERSION;
  readonly head: ChainHead;
  /** SHA-256 of the journal's bytes up to `head.bytes`. */
  readonly prefix: string;
  readonly run: Omit<RunState, 'targets'> & { readonly targets: ReturnType<typeof compact> };
}

export interface Checkpoint {
  readonly head: ChainHead;
  readonly run: RunState;
}

const macOf = (text: string, key: Uint8Array): string => createHmac('sha256', key).update(text).digest('hex');

const prefixOf = (journal: Buffer, bytes: number): string =>
  createHash('sha256').update(journal.subarray(0, bytes)).digest('hex');

export interface CheckpointWriter {
  /** Only what the journal gained since the last time is read again. */
  readonly write: (head: ChainHead, run: RunState) => void;
}

/** Writes checkpoints of one journal, while nobody else appends to it. */
export const checkpointWriter = (path: string, key: Uint8Array, journal: string): CheckpointWriter => {
  const prefix = createHash('sha256');
  let hashed = 0;
  return {
    write: (head, run) => {
      hashed += hashRange(prefix, journal, { from: hashed, to: head.bytes });
      const stored: Stored = {
        v: VERSION,
        head,
        prefix: prefix.copy().digest('hex'),
        run: { ...run, targets: compact(run) },
      };
      const text = JSON.stringify(stored);
      replaceFile(path, `${macOf(text, key)}\n${text}`, { sync: false });
    },
  };
};

const CHUNK = 1 << 20;

const hashRange = (
  hash: Hash,
  path: string,
  range: { readonly from: number; readonly to: number },
): number => {
  const fd = openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, range.to - range.from));
    let at = range.from;
    while (at < range.to) {
      const read = readSync(fd, buffer, 0, Math.min(buffer.length, range.to - at), at);
      if (read === 0) break;
      hash.update(buffer.subarray(0, read));
      at += read;
    }
    return at - range.from;
  } finally {
    closeSync(fd);
  }
};

/** The newest state that may be believed; `undefined` when there is none. */
export const readCheckpoint = (path: string, key: Uint8Array, journal: Buffer): Checkpoint | undefined => {
  const sealed = sealedCheckpoint(path, key, journal);
  return sealed?.fits === true ? sealed : undefined;
};

export interface SealedCheckpoint extends Checkpoint {
  /** Does the journal begin with the bytes that it was made from? */
  readonly fits: boolean;
}

/** The checkpoint if its seal holds, whatever has become of the journal. */
export const sealedCheckpoint = (
  path: string,
  key: Uint8Array,
  journal: Buffer,
): SealedCheckpoint | undefined => {
  let file: string;
  try {
    file = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  if (file.slice(0, MAC_LENGTH) !== macOf(file.slice(MAC_LENGTH + 1), key)) return undefined;
  const stored = parseStored(file);
  if (stored.v !== VERSION) return undefined;
  const { bytes } = stored.head;
  return {
    ...checkpointOf(stored),
    fits: bytes <= journal.length && prefixOf(journal, bytes) === stored.prefix,
  };
};

/** The seal in hexadecimal, a newline, JSON. */
const MAC_LENGTH = 64;

const parseStored = (file: string): Stored => JSON.parse(file.slice(MAC_LENGTH + 1)) as Stored;

const checkpointOf = ({ head, run }: Stored): Checkpoint => ({
  head,
  run: { ...run, targets: expand(run.targets, run.stats) },
});

/** What the file says, believed or not. @throws when it says nothing */
export const parseCheckpoint = (file: string): Checkpoint => checkpointOf(parseStored(file));
