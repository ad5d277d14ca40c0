/**
 * The single writer of a run while its lock is held.
 *
 * W1  Journal first, then believe: append and sync, then the state, then the documents, then the listeners. An event that
 *     cannot follow is refused before it is written.
 * W2  Nobody writes under `state/` while a child is running; a 99 that says less is better than one that guesses.
 * W3  The journal is the one file that is synced: the documents' text is in it, 99 follows from it, and boot makes
 *     again what a power cut took.
 */
import { closeSync, constants, existsSync, openSync, statSync } from 'node:fs';
import { isoTime, type Clock } from '../model/clock.js';
import type { DocumentWrite, JournalLine, RunEvent } from '../model/event.js';
import type { Pipeline } from '../model/pipeline.js';
import { applyLine, nextStates, targetState, type RunState } from '../machine/run-state.js';
import type { TargetValue } from '../machine/target-machine.js';
import { crossing } from '../state/crossing.js';
import { replaceFile, writeAll, writeOnce, writeProblem } from '../state/files.js';
import { openJournal, type Journal } from '../state/journal.js';
import { nextActionDocument } from '../state/next-action.js';
import type { DocumentName, RunDirectory } from '../state/run-dir.js';
import type { Booted } from './boot.js';
import { checkpointWriter } from './checkpoint.js';
import { nextActionOf } from './next.js';
import { track, trackerOf, type Tracker } from './tracker.js';
import { requireUntouched } from './untouched.js';

export interface Recorder {
  readonly directory: RunDirectory;
  readonly run: RunState;
  readonly tracker: Tracker;
  readonly pipeline: Pipeline;
  /** The event has happened when this returns. @throws when it could not be written; then it did not happen */
  readonly record: (event: RunEvent) => JournalLine;
  /**
   * Compares what lies on the disk with what was written here. Nobody else writes while the lock is held, so a difference
   * after a child ran is tampering.
   * @throws `Problem` `record-refused` that names the file; nothing is recorded
   */
  readonly requireUntouched: () => void;
  /** Rewrites 99 unless a child runs. */
  readonly writeNextAction: () => void;
  /** Writes the checkpoint, where the record grew or digests of files were learned, and closes the journal. */
  readonly close: (learned?: boolean) => void;
}

export interface RecorderOptions {
  readonly directory: RunDirectory;
  readonly key: Uint8Array;
  readonly booted: Booted;
  readonly pipeline: Pipeline;
  readonly clock: Clock;
  /** Told of every line after it is believed. Must not throw. */
  readonly onLine?: (line: JournalLine) => void;
}

export const openRecorder = (options: RecorderOptions): Recorder => {
  const { directory, key, booted, pipeline, clock } = options;
  const { run } = booted;
  const tracker = trackerOf(run);
  const journal = openJournal(directory.journal, key, booted.head);
  for (const name of booted.unwritten) restoreDocument(directory, run, name);
  let written = booted.nextActionSeq;
  let nextText = booted.documents.find(({ name }) => name === '99_next_action.md')?.text;
  const writeNextAction = (): void => {
    // W2
    if (tracker.withChild.size > 0 || written === run.seq) return;
    const text = nextActionDocument(nextActionOf(pipeline, run, tracker), key);
    replaceFile(directory.document('99_next_action.md'), text, { sync: false });
    written = run.seq;
    nextText = text;
  };
  const checkpoints = openCheckpoints(options, journal);
  return {
    directory,
    run,
    tracker,
    pipeline,
    record: (event) => {
      const names = namesIn(event);
      const before = names.map((name): TargetValue => targetState(run, name).value);
      const at = isoTime(clock);
      const next = nextStates(run, event, at);
      const line = journal.append(event, at);
      applyLine(run, line, next);
      for (const [index, name] of names.entries()) track(tracker, run, name, before[index] ?? 'pending');
      for (const write of documentsIn(event)) writeDocument(directory, write);
      options.onLine?.(line);
      checkpoints.writeIfDue();
      return line;
    },
    requireUntouched: () => {
      try {
        requireUntouched(directory, run, { nextText, journal: journal.stamp() });
      } catch (error) {
        journal.takeBack();
        throw error;
      }
    },
    writeNextAction,
    close: (learned = false) => {
      checkpoints.writeLast(learned);
      journal.close();
    },
  };
};

/** Lines that a boot may have to replay after a crash: some 100 ms. A large state is written less often than a small one. */
const CHECKPOINT_LINES = 2_000;

const intervalOf = (run: RunState): number => Math.max(CHECKPOINT_LINES, run.targets.size / 2);

const openCheckpoints = ({ directory, key, booted }: RecorderOptions, journal: Journal) => {
  const { run } = booted;
  const writer = checkpointWriter(directory.checkpoint, key, directory.journal);
  let written = booted.head.seq;
  const write = (): void => {
    writer.write(journal.head(), run);
    written = journal.head().seq;
  };
  return {
    /** In the middle of a run it only saves time later: the event has happened, whatever becomes of its cache. */
    writeIfDue: (): void => {
      if (journal.head().seq - written < intervalOf(run)) return;
      try {
        write();
      } catch (error) {
        if (writeProblem(error) === undefined) throw error;
        written = journal.head().seq;
      }
    },
    writeLast: (learned: boolean): void => {
      const isNews = learned || journal.head().seq > booted.head.seq;
      if (isNews || !existsSync(directory.checkpoint)) write();
    },
  };
};

const namesIn = (event: RunEvent): readonly string[] => {
  if (!('target' in event)) return [];
  return event.type === 'target.invalidated' ? [event.target, ...event.also] : [event.target];
};

const documentsIn = (event: RunEvent): readonly DocumentWrite[] =>
  'documents' in event ? (event.documents ?? []) : [];

const writeDocument = (directory: RunDirectory, write: DocumentWrite): void => {
  const path = directory.document(write.name as DocumentName);
  if (write.append === true) append(path, write.text);
  else writeOnce(path, write.text, { sync: false });
};

/** Never through a link: it could lead to any file of the user. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

const append = (path: string, text: string | Uint8Array): void => {
  const fd = openSync(path, APPEND, 0o644);
  try {
    crossing('append document');
    writeAll(fd, text);
    crossing('appended document');
  } finally {
    closeSync(fd);
  }
};

/** Finishes what a crash interrupted: boot has proved that the file, if it is there, is a prefix of these bytes. */
const restoreDocument = (directory: RunDirectory, run: RunState, name: string): void => {
  const path = directory.document(name as DocumentName);
  const expected = Buffer.from(run.documents[name] ?? '');
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (name === '30_critic_summary.md') append(path, expected.subarray(size ?? 0));
  else if (size === undefined) writeOnce(path, expected, { sync: false });
  // Read-only, so that it cannot be appended to; the bytes that are there stay what they are.
  else replaceFile(path, expected, { mode: 0o444, sync: false });
};
