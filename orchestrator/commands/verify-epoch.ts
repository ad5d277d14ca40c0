/** One epoch's folder: its journal, documents, 99 and artifacts. The current one lies in the run directory itself. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../model/failure.js';
import type { PreviousEpoch } from '../model/event.js';
import type { Pipeline } from '../model/pipeline.js';
import { readDocuments, type StateDocument } from '../record/boot.js';
import { epochFolder } from '../record/epoch.js';
import { isSwitched, markerPath, readMarker } from '../record/rebuild-marker.js';
import { journalBytes } from '../state/journal.js';
import { hasRebooted } from '../state/lock.js';
import type { RunDirectory } from '../state/run-dir.js';
import { artifactChecks } from './verify-artifacts.js';
import { BROKEN_JOURNAL, eachProblem, failed, held, untold, type Check } from './verify-check.js';
import { checkpointChecks, documentChecks, nextActionCheck, storedCheckpoint } from './verify-documents.js';
import type { Seal } from './verify-evidence.js';
import { readWholeJournal, type JournalReading } from './verify-journal.js';

export interface EpochRecord {
  readonly directory: RunDirectory;
  readonly bytes: Buffer;
  readonly documents: readonly StateDocument[];
  readonly stored: ReturnType<typeof storedCheckpoint>;
  readonly reading: JournalReading;
  /** What the epoch after it says that it follows; `undefined` for the current one. */
  readonly expected: PreviousEpoch | undefined;
  readonly rebuild: Interrupted | undefined;
}

/** A rebuild that a crash interrupted. */
interface Interrupted {
  readonly check: Check;
  /** The journal is the new one already; the other files and the archive are not in place yet. */
  readonly isSwitched: boolean;
}

/** The current epoch, then those that were archived, newest first, as far as each leads to the one before. */
export const readEpochs = (directory: RunDirectory, key: Uint8Array | undefined): EpochRecord[] => {
  const current = readEpoch(directory, key, undefined);
  if (current.rebuild?.isSwitched === true) return [current];
  const epochs = [current];
  for (;;) {
    const previous = epochs.at(-1)?.reading.run.opened?.previous;
    const number = epochs.at(-1)?.reading.run.epoch ?? 0;
    // An epoch follows one with a lower number: a forged record leads neither in a circle nor elsewhere.
    if (previous === undefined || !Number.isSafeInteger(previous.epoch) || previous.epoch >= number)
      return epochs;
    epochs.push(readEpoch(archived(directory, previous.epoch), key, previous));
  }
};

const archived = (directory: RunDirectory, epoch: number): RunDirectory => {
  const path = epochFolder(directory, epoch);
  const state = join(path, 'state');
  return {
    ...directory,
    path,
    state,
    journal: join(path, 'journal.jsonl'),
    checkpoint: join(path, 'checkpoint.json'),
    children: join(path, 'children'),
    artifacts: join(path, 'artifacts'),
    document: (name) => join(state, name),
    child: (name) => join(path, 'children', name),
  };
};

const readEpoch = (
  directory: RunDirectory,
  key: Uint8Array | undefined,
  expected: PreviousEpoch | undefined,
): EpochRecord => {
  const stored = storedCheckpoint(directory.checkpoint);
  const record = steadyRecord(directory);
  const markSeq = typeof stored === 'object' ? stored.head.seq : undefined;
  const reading = readWholeJournal({ directory, bytes: record.bytes, key, markSeq });
  return {
    directory,
    ...record,
    stored,
    reading,
    expected,
    rebuild: interruptedRebuild(directory, record.bytes, key),
  };
};

const READS = 5;

/** A run may be going on: the journal and the documents of one moment. */
const steadyRecord = (directory: RunDirectory): Pick<EpochRecord, 'bytes' | 'documents'> => {
  for (let tries = 1; ; tries += 1) {
    const bytes = journalBytes(directory.journal);
    const documents = readDocuments(directory.state);
    if (tries === READS || journalBytes(directory.journal).length === bytes.length)
      return { bytes, documents };
  }
};

export interface EpochOptions {
  readonly key: Uint8Array | undefined;
  /** The pipeline as it is now, or why it cannot be had. */
  readonly pipeline: Pipeline | string;
  /** Seals of the epochs before. */
  readonly earlier: ReadonlyMap<string, Seal>;
}

/** Rows of one epoch. Of an archived one those that do not hold, and one for the rest. */
export const epochChecks = (epoch: EpochRecord, options: EpochOptions): Check[] => {
  const checks = [
    chainCheck(epoch),
    sealCheck(epoch.reading, options.key),
    ...fileChecks(epoch, options),
    ...answerChecks(epoch.reading),
  ];
  const { expected, reading } = epoch;
  if (expected === undefined) return checks;
  const name = `epoch ${expected.epoch}`;
  const open = checks
    .filter(({ ok }) => ok !== true)
    .map((check) => ({ ...check, name: `${name}: ${check.name}` }));
  const rest = checks.length - open.length;
  return rest === 0
    ? open
    : [
        ...open,
        held(
          name,
          `archived: ${rest} checks of its ${reading.head.seq} journal lines, documents and artifacts`,
        ),
      ];
};

const fileChecks = (epoch: EpochRecord, { key, pipeline, earlier }: EpochOptions): Check[] => {
  const { directory, reading, documents, stored, bytes, rebuild } = epoch;
  if (rebuild?.isSwitched === true) return [rebuild.check];
  const rebooted = epoch.expected === undefined && hasRebooted(directory.path);
  return [
    ...(rebuild === undefined ? [] : [rebuild.check]),
    ...documentChecks(
      directory,
      reading,
      documents,
      (name) => rebooted || reading.run.freshDocuments.includes(name),
    ),
    nextActionCheck(reading, {
      document: documents.find(({ name }) => name === '99_next_action.md'),
      key,
      pipeline,
    }),
    ...checkpointChecks(directory, reading, { stored, key, bytes }),
    ...artifactChecks(directory, reading, typeof pipeline === 'string' ? undefined : pipeline, earlier),
  ];
};

/** Without the key nobody can tell how far it came, and nothing is said about what may not be in place. */
const interruptedRebuild = (
  directory: RunDirectory,
  bytes: Buffer,
  key: Uint8Array | undefined,
): Interrupted | undefined => {
  if (!existsSync(markerPath(directory))) return undefined;
  const next = `\`orchestrate run --ticket ${directory.ticket}\` ends it`;
  if (key === undefined)
    return { check: untold('rebuild', `one was interrupted: ${next}`), isSwitched: true };
  try {
    const marker = readMarker(directory, key);
    if (marker === undefined) return undefined;
    const switched = isSwitched(marker, bytes);
    const files = switched ? '; documents, artifacts and the archive are not in place yet' : '';
    return {
      check: untold('rebuild', `a rebuild of ${marker.asked} was interrupted${files}: ${next}`),
      isSwitched: switched,
    };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return {
      check: failed('rebuild', `${error.failure.message} (\`${markerPath(directory)}\`)`),
      isSwitched: false,
    };
  }
};

const chainCheck = ({ reading, bytes, expected }: EpochRecord): Check => {
  const name = 'journal chain';
  const { head, torn, broken } = reading;
  if (broken !== undefined) return failed(name, `${broken}; the ${head.seq} lines before it hold`);
  if (bytes.length === 0) return failed(name, 'the journal is empty or missing');
  if (expected !== undefined && (expected.seq !== head.seq || expected.hash !== head.hash)) {
    return failed(
      name,
      `it is not the journal of ${expected.seq} lines that epoch ${expected.epoch + 1} follows`,
    );
  }
  const tail = torn === 0 ? '' : `, then ${torn} bytes of a line that a crash left unfinished`;
  return held(name, `${head.seq} lines, each follows from the one before it${tail}`);
};

const LISTED_LINES = 10;

const sealCheck = ({ head, unsealed }: JournalReading, key: Uint8Array | undefined): Check => {
  const name = 'journal seals';
  if (key === undefined) return untold(name, 'could not be checked: the seal key is not here');
  if (unsealed.length === 0) return held(name, `${head.seq} lines carry your seal`);
  const listed = unsealed.slice(0, LISTED_LINES).join(', ');
  const more = unsealed.length > LISTED_LINES ? ` and ${unsealed.length - LISTED_LINES} more` : '';
  return failed(
    name,
    `not made with your key: line ${listed}${more}. Somebody else made them, on this machine or on another`,
  );
};

/** Gates, approvals and verdicts against the digests that they were asked about. */
const answerChecks = ({ evidence, broken }: JournalReading): Check[] => {
  const { counts, problems } = evidence;
  const rest = broken === undefined ? '' : `; ${BROKEN_JOURNAL}`;
  const rows = (name: string, count: number, found: readonly string[], holds: string): Check[] =>
    count + found.length === 0 ? [] : eachProblem(name, found, `${count} ${holds}${rest}`);
  return [
    ...rows('gates', counts.gates, problems.gates, 'answers, each bound to bytes that had been sealed'),
    ...rows('approvals', counts.approvals, problems.approvals, 'answers, each for the digest that was asked'),
    ...rows(
      'verdicts',
      counts.verdicts,
      problems.verdicts,
      'approvals by a critic, each for the receipt that it was given',
    ),
  ];
};
