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

interface Stored {
  readonly v: 1;
  readonly head: ChainHead;
  /** SHA-256 of the journal's bytes up to `head.bytes`. */
  readonly prefix: string;
  readonly run: Omit<RunState, 'targets'> & { readonly targets: readonly (readonly [string, unknown])[] };
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
    v: 1,
    head,
    prefix: prefixOf(journal, head.bytes),
    run: { ...run, targets: [...run.targets] },
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
export const sealedCheckpoint = (path: string, key: Uint8Array, journal: Buffer): SealedCheckpoint | undefined => {
  let file: string;
  try {
    file = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  const text = file.slice(65);
  if (file.slice(0, 64) !== macOf(text, key)) return undefined;
  const stored = JSON.parse(text) as Stored;
  if (stored.v !== 1) return undefined;
  const { bytes } = stored.head;
  return {
    head: stored.head,
    run: { ...stored.run, targets: new Map(stored.run.targets) } as RunState,
    fits: bytes <= journal.length && prefixOf(journal, bytes) === stored.prefix,
  };
};
