/**
 * The journal once more, from its first line and never through the checkpoint. The chain and the seals are two questions:
 * without the key, or with another one, the chain still tells what was recorded in which order.
 */
import { canonicalJson, digestOf, type Digest } from '../model/digest.js';
import { Problem } from '../model/failure.js';
import type { JournalLine } from '../model/event.js';
import { applyLine, emptyRun, type RunState } from '../machine/run-state.js';
import { EMPTY_CHAIN, readJournal, type ChainHead } from '../state/journal.js';
import type { RunDirectory } from '../state/run-dir.js';
import { gather, newEvidence, type Evidence } from './verify-evidence.js';

export interface JournalReading {
  /** As of the last line that holds. */
  readonly run: RunState;
  readonly head: ChainHead;
  readonly evidence: Evidence;
  /** Bytes after the last newline. */
  readonly torn: number;
  /** Why the reading ended before the last line; `undefined` when every line was read. */
  readonly broken: string | undefined;
  /** Numbers of lines whose seal was not made with the key; empty without a key. */
  readonly unsealed: readonly number[];
  /** What the replay came to at line `markSeq`. */
  readonly mark: Digest | undefined;
}

export interface ReadingOptions {
  readonly directory: RunDirectory;
  readonly bytes: Buffer;
  readonly key: Uint8Array | undefined;
  /** Line at which the state is remembered, to compare it with a checkpoint. */
  readonly markSeq: number | undefined;
}

/** Digest of a replayed state; what only the checkpoint knows (a cache of file digests) is left out. */
export const stateDigest = (run: RunState): Digest =>
  digestOf(canonicalJson({ ...run, stats: undefined, targets: Object.fromEntries(run.targets) }));

const messageOf = (error: unknown): string => {
  if (error instanceof Problem) return error.failure.message;
  return error instanceof Error ? error.message : String(error);
};

export const readWholeJournal = ({ directory, bytes, key, markSeq }: ReadingOptions): JournalReading => {
  const run = emptyRun(directory.ticket);
  const evidence = newEvidence();
  const unsealed: number[] = [];
  let head = EMPTY_CHAIN;
  let broken: string | undefined;
  let mark: Digest | undefined;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, head.bytes)) {
    const part = bytes.subarray(0, end + 1);
    const from = head;
    const visit = (line: JournalLine): void => {
      requireTicket(line, directory.ticket);
      applyLine(run, line);
      gather(evidence, line, run);
    };
    try {
      head = readJournal(part, { path: directory.journal, from }, visit).head;
    } catch (error) {
      const message = messageOf(error);
      broken = message.startsWith('journal line') ? message : `journal line ${from.seq + 1}: ${message}`;
      break;
    }
    if (key !== undefined && !isSealed(part, directory.journal, key, from)) unsealed.push(head.seq);
    if (head.seq === markSeq) mark = stateDigest(run);
  }
  const torn = broken === undefined ? bytes.length - head.bytes : 0;
  return { run, head, evidence, torn, broken, unsealed, mark };
};

/** A journal of another ticket holds together just as well. */
const requireTicket = ({ event }: JournalLine, ticket: string): void => {
  if (event.type !== 'run.opened' || event.ticket === ticket) return;
  throw new Error(`it opens ticket \`${event.ticket}\`, but this is the folder of \`${ticket}\``);
};

const isSealed = (part: Buffer, path: string, key: Uint8Array, from: ChainHead): boolean => {
  try {
    readJournal(part, { path, key, from }, () => undefined);
    return true;
  } catch {
    return false;
  }
};
