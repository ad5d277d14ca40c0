/**
 * A new epoch on the disk, in the place of the old one.
 *
 * X1  The marker comes first and goes last. Without it there is nothing to finish and nothing to undo.
 * X2  The new epoch is complete in `epochs/N+1.tmp/` before it counts; one rename, of the journal, makes it count.
 * X3  Before that rename the old epoch is as it was, its checkpoint apart, which is a cache: what was begun is thrown away.
 * X4  After it only whole folders change their places, each step of which can be done again: what was begun is finished.
 * X5  The old epoch keeps every byte, in `epochs/N/`. Files that both have are one file with two names, because all that
 *     is kept of an ended child or a sealed result is only ever replaced, never written in place.
 */
import { existsSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf } from '../model/digest.js';
import { Problem } from '../model/failure.js';
import type { JournalLine } from '../model/event.js';
import type { Pipeline } from '../model/pipeline.js';
import { applyLine, emptyRun, type RunState } from '../machine/run-state.js';
import { crossing } from '../state/crossing.js';
import { replaceFile, syncFolder } from '../state/files.js';
import { isThere, moveEntry, removeFolder, shareFile } from '../state/folders.js';
import { composeJournal, journalBytes, type Composed } from '../state/journal.js';
import type { RunDirectory } from '../state/run-dir.js';
import { EPOCH_FOLDERS, stageFolders } from './epoch-folders.js';
import type { TimedEvent } from './epoch-plan.js';
import { isSwitched, markerPath, readMarker, writeMarker, type RebuildMarker } from './rebuild-marker.js';

/** Where an archived epoch lies: `journal.jsonl`, `state/`, `children/`, `artifacts/` as they were, for reading. */
export const epochFolder = (directory: RunDirectory, epoch: number): string =>
  join(directory.path, 'epochs', String(epoch));

const temporaryFolder = (directory: RunDirectory, epoch: number): string =>
  `${epochFolder(directory, epoch)}.tmp`;

export interface NextEpoch {
  readonly key: Uint8Array;
  readonly pipeline: Pipeline;
  /** The target that was asked for. */
  readonly asked: string;
  /** Number of the epoch that ends. */
  readonly epoch: number;
  /** As `planEpoch` made them. */
  readonly events: readonly TimedEvent[];
}

/** What a replay makes of the new journal; proves at the same time that every line can follow. */
const replay = (ticket: string, lines: readonly JournalLine[]): RunState => {
  const run = emptyRun(ticket);
  for (const line of lines) applyLine(run, line);
  return run;
};

/**
 * What the new epoch is, before anything is written.
 * @throws Error when its events cannot follow each other: a bug
 */
export const composeEpoch = (
  ticket: string,
  { key, events }: Pick<NextEpoch, 'key' | 'events'>,
): Composed & { readonly run: RunState } => {
  const composed = composeJournal(events, key);
  return { ...composed, run: replay(ticket, composed.lines) };
};

/**
 * Archives the current epoch and puts the next one in its place. Only the holder of the ticket's lock may call this, with
 * no child of the ticket alive.
 * @returns the lines of the new journal
 * @throws the system error of a write; the old epoch is then as it was, unless the switch had happened, which the next
 * `settleEpoch` finishes
 */
export const beginEpoch = (directory: RunDirectory, next: NextEpoch): readonly JournalLine[] => {
  requirePlace(directory, next.epoch);
  const { lines, text, run } = composeEpoch(directory.ticket, next);
  const marker: RebuildMarker = { asked: next.asked, epoch: next.epoch, journal: digestOf(text) };
  writeMarker(directory, next.key, marker);
  const staged = temporaryFolder(directory, next.epoch + 1);
  try {
    removeTemporary(directory, next.epoch);
    stageFolders(directory, staged, { ...next, run });
    replaceFile(join(staged, 'journal.jsonl'), text, { sync: true });
    archiveJournal(directory, next.epoch);
    for (const folder of [temporaryFolder(directory, next.epoch), staged, join(directory.path, 'epochs')])
      syncFolder(folder);
    crossing('rebuild staged');
  } catch (error) {
    discard(directory, marker);
    throw error;
  }
  // A checkpoint of the old journal must not outlive it.
  rmSync(directory.checkpoint, { force: true });
  moveEntry(join(staged, 'journal.jsonl'), directory.journal);
  finish(directory, marker);
  return lines;
};

/** The archive is ours to write, and nothing is there yet. */
const requirePlace = (directory: RunDirectory, epoch: number): void => {
  const root = join(directory.path, 'epochs');
  const path = epochFolder(directory, epoch);
  const isFolder = !isThere(root) || lstatSync(root).isDirectory();
  if (isFolder && !isThere(path)) return;
  throw new Problem({
    kind: 'record-refused',
    message: isFolder ? `epoch ${epoch} is archived already` : '`epochs` must be a folder',
    where: isFolder ? path : root,
    next: 'nothing was changed; move it away, then ask for the rebuild again',
  });
};

const archiveJournal = (directory: RunDirectory, epoch: number): void => {
  const archive = temporaryFolder(directory, epoch);
  mkdirSync(archive, { recursive: true });
  shareFile(directory.journal, join(archive, 'journal.jsonl'));
  if (existsSync(directory.checkpoint)) shareFile(directory.checkpoint, join(archive, 'checkpoint.json'));
};

const removeTemporary = (directory: RunDirectory, epoch: number): void => {
  for (const number of [epoch, epoch + 1]) removeFolder(temporaryFolder(directory, number));
};

/** X3. */
const discard = (directory: RunDirectory, { epoch }: RebuildMarker): void => {
  removeTemporary(directory, epoch);
  removeMarker(directory);
};

/** X4. */
const finish = (directory: RunDirectory, { epoch }: RebuildMarker): void => {
  const archive = temporaryFolder(directory, epoch);
  const staged = temporaryFolder(directory, epoch + 1);
  for (const name of EPOCH_FOLDERS) {
    const live = join(directory.path, name);
    if (!isThere(join(staged, name))) continue;
    if (!isThere(join(archive, name)) && isThere(live)) moveEntry(live, join(archive, name));
    // What may be there now is empty: who opens the ticket makes the folders that it misses.
    moveEntry(join(staged, name), live);
  }
  if (isThere(archive)) moveEntry(archive, epochFolder(directory, epoch));
  removeFolder(staged);
  removeMarker(directory);
};

const removeMarker = (directory: RunDirectory): void => {
  crossing('rebuild over');
  rmSync(markerPath(directory), { force: true });
  syncFolder(directory.path);
};

/**
 * Ends a rebuild that a crash interrupted: finished when its epoch counted already, else as if it had not begun. Only the
 * holder of the ticket's lock may call this, before it reads anything else.
 * @returns the target whose rebuild was finished; `undefined` when there was none to finish
 */
export const settleEpoch = (directory: RunDirectory, key: Uint8Array): string | undefined => {
  const marker = readMarker(directory, key);
  if (marker === undefined) return undefined;
  if (!isSwitched(marker, journalBytes(directory.journal))) {
    discard(directory, marker);
    return undefined;
  }
  finish(directory, marker);
  return marker.asked;
};
