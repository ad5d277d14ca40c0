/**
 * Target 0, read-init-d: the one way in, after a crash, a compaction, a reboot and for a plain second `run`.
 *
 * B1  The documents are read first, in lexical order, 99 last; then the journal; nothing is written.
 * B2  A document that is missing or too short is written again from the journal in the two windows that a crash leaves:
 *     the last line wrote it, or the machine has rebooted since. Every other difference is refused.
 */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../model/failure.js';
import { applyLine, emptyRun, type RunState } from '../machine/run-state.js';
import { EMPTY_CHAIN, journalBytes, readJournal, type ChainHead } from '../state/journal.js';
import { hasRebooted } from '../state/lock.js';
import { readNextAction } from '../state/next-action.js';
import type { RunDirectory } from '../state/run-dir.js';
import { sealedCheckpoint, type SealedCheckpoint } from './checkpoint.js';
import { refuseHalfRebuilt } from './rebuild-marker.js';

export interface StateDocument {
  readonly name: string;
  readonly text: string;
  readonly bytes: Buffer;
}

export interface Booted {
  readonly run: RunState;
  readonly head: ChainHead;
  readonly journal: Buffer;
  /** In lexical order, unknown ones in their place. */
  readonly documents: readonly StateDocument[];
  /** Documents that the last journal line wrote and the disk lacks, in whole or in part. */
  readonly unwritten: readonly string[];
  /** Line that 99 follows from; `undefined` when there is no 99. */
  readonly nextActionSeq: number | undefined;
  /** Bytes of a torn journal line that a crash left. */
  readonly torn: number;
}

/** All `*.md` of the state folder in lexical order. An empty list when there is no folder. */
export const readDocuments = (folder: string): StateDocument[] => {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return names
    .filter((name) => name.endsWith('.md') && !name.startsWith('.'))
    .toSorted()
    .map((name) => {
      const bytes = readFileSync(join(folder, name));
      return { name, text: bytes.toString('utf8'), bytes };
    });
};

const refuse = (run: RunDirectory, name: string, message: string): Problem =>
  new Problem({
    kind: 'record-refused',
    message,
    where: join(run.state, name),
    next: `nothing was started. Compare it with \`orchestrate boot --ticket ${run.ticket}\` and restore it, or start over with \`orchestrate abandon --ticket ${run.ticket}\``,
  });

/** @throws `Problem` `record-refused` when the record and the disk disagree */
export const boot = (directory: RunDirectory, key: Uint8Array): Booted => {
  for (;;) {
    const size = statSync(directory.journal, { throwIfNoEntry: false })?.size ?? 0;
    const documents = readDocuments(directory.state);
    const journal = journalBytes(directory.journal);
    try {
      return check(directory, key, documents, journal);
    } catch (error) {
      // Somebody runs the ticket and wrote between the two readings: they are not of one moment, so they may differ.
      if (journal.length === size) throw error;
    }
  }
};

const check = (
  directory: RunDirectory,
  key: Uint8Array,
  documents: readonly StateDocument[],
  journal: Buffer,
): Booted => {
  refuseHalfRebuilt(directory, key, journal);
  const sealed = sealedCheckpoint(directory.checkpoint, key, journal);
  const checkpoint = sealed?.fits === true ? sealed : undefined;
  const run = checkpoint?.run ?? emptyRun(directory.ticket);
  const { head, torn } = readJournal(
    journal,
    { path: directory.journal, key, from: checkpoint?.head ?? EMPTY_CHAIN },
    (line) => applyLine(run, line),
  );
  requireTicket(directory, run);
  if (sealed?.fits === false) requireWhole(directory, run, sealed);
  const unwritten = compareDocuments(directory, run, documents);
  return {
    run,
    head,
    journal,
    documents,
    unwritten,
    torn,
    nextActionSeq: nextActionSeq(directory, key, documents, run),
  };
};

/** The seal proves that the record is ours, not that it belongs here: a copied folder would bring its approvals along. */
const requireTicket = (directory: RunDirectory, { opened }: RunState): void => {
  if (opened === undefined || opened.ticket === directory.ticket) return;
  throw new Problem({
    kind: 'record-refused',
    message: `the journal is that of ticket \`${opened.ticket}\`, not of \`${directory.ticket}\``,
    where: directory.journal,
    next: 'nothing was started. A run directory cannot be copied or renamed: remove it and run the ticket from its beginning',
  });
};

/** A checkpoint of an earlier epoch is left over; one of this epoch that does not fit knows what the journal has lost. */
const requireWhole = (directory: RunDirectory, run: RunState, checkpoint: SealedCheckpoint): void => {
  if (checkpoint.run.ticket !== directory.ticket || checkpoint.run.epoch < run.epoch) return;
  throw new Problem({
    kind: 'record-refused',
    message: `the journal is not the one that had ${checkpoint.head.seq} lines: lines were cut off its end, or it was replaced`,
    where: directory.journal,
    next: `nothing was started. Restore it; when it is the right one, remove \`${directory.checkpoint}\`, which is a cache`,
  });
};

const compareDocuments = (
  directory: RunDirectory,
  run: RunState,
  documents: readonly StateDocument[],
): string[] => {
  const onDisk = new Map(documents.map(({ name, bytes }) => [name, bytes]));
  const unwritten: string[] = [];
  for (const [name, text] of Object.entries(run.documents)) {
    const expected = Buffer.from(text);
    const actual = onDisk.get(name);
    if (actual?.equals(expected) === true) continue;
    // Bytes, not characters: a torn append may end in the middle of one.
    const isPrefix = actual === undefined || expected.subarray(0, actual.length).equals(actual);
    if (!isPrefix || !(run.freshDocuments.includes(name) || hasRebooted(directory.path))) {
      const what = actual === undefined ? 'is missing' : 'was changed outside orchestrate';
      throw refuse(directory, name, `\`${name}\` ${what}: the journal has its digest`);
    }
    unwritten.push(name);
  }
  for (const name of ['00_governance.md', '10_ticket.md', '20_plan_approved.md', '30_critic_summary.md']) {
    if (onDisk.has(name) && run.documents[name] === undefined) {
      throw refuse(
        directory,
        name,
        `\`${name}\` was not written by orchestrate: the journal does not know it`,
      );
    }
  }
  return unwritten;
};

const nextActionSeq = (
  directory: RunDirectory,
  key: Uint8Array,
  documents: readonly StateDocument[],
  run: RunState,
): number | undefined => {
  const name = '99_next_action.md';
  const document = documents.find((candidate) => candidate.name === name);
  if (document === undefined) return undefined;
  const read = readNextAction(document.text, key);
  if ('problem' in read)
    throw refuse(directory, name, `\`${name}\` was changed outside orchestrate: ${read.problem}`);
  if (read.seq > run.seq) {
    throw refuse(
      directory,
      name,
      `\`${name}\` follows from journal line ${read.seq}, but the journal ends at ${run.seq}`,
    );
  }
  return read.seq;
};
