/**
 * A cache of the replay: what the journal's first N lines come to. It may be deleted at any time. It is believed only when
 * its seal holds and the journal still begins with exactly the bytes that it was made from. One whose seal holds and that
 * does not fit proves that the journal is not what it was (J2): the journal was synced before it was written.
 */
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
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

export const writeCheckpoint = (
  path: string,
  key: Uint8Array,
  { head, run, journal }: Checkpoint & { readonly journal: Buffer },
): void => {
  const stored: Stored = {
    v: VERSION,
    head,
    prefix: prefixOf(journal, head.bytes),
    run: { ...run, targets: compact(run) },
  };
  const text = JSON.stringify(stored);
  replaceFile(path, `${macOf(text, key)}\n${text}`, { sync: false });
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
