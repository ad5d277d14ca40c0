import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf } from '../model/digest.js';
import type { Pipeline } from '../model/pipeline.js';
import type { RunState } from '../machine/run-state.js';
import type { StateDocument } from '../record/boot.js';
import { nextActionOf } from '../record/next.js';
import { trackerOf } from '../record/tracker.js';
import { nextActionDocument, readNextAction } from '../state/next-action.js';
import { DOCUMENTS, type RunDirectory } from '../state/run-dir.js';
import { parseCheckpoint, readCheckpoint } from '../record/checkpoint.js';
import { BROKEN_JOURNAL, failed, held, untold, type Check } from './verify-check.js';
import { stateDigest, type JournalReading } from './verify-journal.js';

const NEXT_ACTION = '99_next_action.md';

/**
 * Documents 00 to 30 against the bytes that the journal says it wrote.
 * @param mayLack a crash may have kept this one, or its end, from the disk
 */
export const documentChecks = (
  directory: RunDirectory,
  reading: JournalReading,
  documents: readonly StateDocument[],
  mayLack: (name: string) => boolean,
): Check[] => {
  const onDisk = new Map(documents.map(({ name, bytes }) => [name, bytes]));
  const governed = DOCUMENTS.filter((name) => name !== NEXT_ACTION && onDisk.has(name));
  const names = new Set([...Object.keys(reading.run.documents), ...governed]);
  return [...names].toSorted().map((name) =>
    documentCheck(reading, {
      name,
      path: join(directory.state, name),
      actual: onDisk.get(name),
      mayLack: mayLack(name),
    }),
  );
};

interface DocumentCase {
  readonly name: string;
  readonly path: string;
  readonly actual: Buffer | undefined;
  readonly mayLack: boolean;
}

const documentCheck = ({ run, broken }: JournalReading, subject: DocumentCase): Check => {
  const { name, path, actual } = subject;
  const text = run.documents[name];
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    return failed(name, 'is a symbolic link');
  if (text !== undefined) return comparedDocument(subject, Buffer.from(text), broken);
  if (broken !== undefined || actual === undefined) return untold(name, BROKEN_JOURNAL);
  return failed(name, 'was not written by orchestrate: the journal does not know it');
};

const comparedDocument = (
  { name, actual, mayLack }: DocumentCase,
  expected: Buffer,
  broken: string | undefined,
): Check => {
  if (actual?.equals(expected) === true) return held(name, `${actual.length} bytes, ${digestOf(actual)}`);
  if (broken !== undefined && actual?.subarray(0, expected.length).equals(expected) === true) {
    return untold(name, `begins as the journal says; ${BROKEN_JOURNAL}`);
  }
  const isShort = actual === undefined || expected.subarray(0, actual.length).equals(actual);
  if (isShort && mayLack) {
    return held(
      name,
      'a crash kept it, or its end, from the disk: the next `run` writes it from the journal',
    );
  }
  if (actual === undefined) return failed(name, 'is missing');
  return failed(name, `was changed outside orchestrate, from line ${differingLine(actual, expected)} on`);
};

const differingLine = (actual: Buffer, expected: Buffer): number => {
  let line = 1;
  for (let at = 0; at < actual.length && actual[at] === expected[at]; at += 1)
    if (actual[at] === 10) line += 1;
  return line;
};

export interface NextActionCase {
  readonly document: StateDocument | undefined;
  readonly key: Uint8Array | undefined;
  /** The pipeline as it is now, or why it cannot be had. */
  readonly pipeline: Pipeline | string;
}

/** 99: its seal, and whether it is what the last line of the journal comes to. */
export const nextActionCheck = (reading: JournalReading, subject: NextActionCase): Check => {
  const { document, key } = subject;
  const { head, broken } = reading;
  if (document === undefined)
    return untold(NEXT_ACTION, 'is not there: the next `run` writes it from the journal');
  const read = readFields(document.text, key);
  if ('problem' in read) return failed(NEXT_ACTION, `was changed outside orchestrate: ${read.problem}`);
  if (read.seq > head.seq) {
    const detail = `follows from journal line ${read.seq}, but the journal ends at ${head.seq}`;
    return broken === undefined
      ? failed(NEXT_ACTION, `${detail}: lines were cut off`)
      : untold(NEXT_ACTION, `${detail}: ${BROKEN_JOURNAL}`);
  }
  if (read.seq < head.seq) {
    return rated(
      key,
      `follows from journal line ${read.seq} of ${head.seq}: the next \`run\` writes it again`,
    );
  }
  const { pipeline } = subject;
  if (typeof pipeline === 'string')
    return rated(key, `follows from the last line; not computed again: ${pipeline}`);
  if (pipeline.digest !== read.pipeline) {
    return rated(
      key,
      'follows from the last line; not computed again: the pipeline or a manual changed since',
    );
  }
  return isImplied(reading.run, pipeline, document.text, key)
    ? rated(key, 'is what the journal implies')
    : failed(NEXT_ACTION, 'is not what the journal implies');
};

/** Without the key only half of the question has an answer. */
const rated = (key: Uint8Array | undefined, detail: string): Check =>
  key === undefined
    ? untold(NEXT_ACTION, `${detail}; its seal could not be checked: the key is not here`)
    : held(NEXT_ACTION, detail);

interface NextActionFields {
  readonly seq: number;
  /** Digest of the pipeline that it was written under. */
  readonly pipeline: string;
}

const readFields = (
  text: string,
  key: Uint8Array | undefined,
): NextActionFields | { readonly problem: string } => {
  const sealed = key === undefined ? undefined : readNextAction(text, key);
  if (sealed !== undefined && 'problem' in sealed) return sealed;
  const seq = /^seq: (\d+)$/m.exec(text)?.[1];
  const pipeline = /^pipeline: "([^"\n]*)"$/m.exec(text)?.[1];
  if (seq === undefined || pipeline === undefined)
    return { problem: 'its front matter is not what orchestrate writes' };
  return { seq: Number(seq), pipeline };
};

const SEAL_LINE = /^seal: "[0-9a-f]{64}"$/m;

const isImplied = (run: RunState, pipeline: Pipeline, text: string, key: Uint8Array | undefined): boolean => {
  const expected = nextActionDocument(nextActionOf(pipeline, run, trackerOf(run)), key ?? new Uint8Array());
  return text.replace(SEAL_LINE, '') === expected.replace(SEAL_LINE, '');
};

interface StoredCheckpoint {
  readonly head: { readonly seq: number; readonly bytes: number };
  readonly run: RunState;
}

/** The checkpoint as it lies there, believed or not; `undefined` when there is none. */
export const storedCheckpoint = (path: string): StoredCheckpoint | 'damaged' | undefined => {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  try {
    return parseCheckpoint(readFileSync(path, 'utf8'));
  } catch {
    return 'damaged';
  }
};

/** No rows when there is no checkpoint: it is a cache. */
export const checkpointChecks = (
  directory: RunDirectory,
  reading: JournalReading,
  {
    stored,
    key,
    bytes,
  }: {
    readonly stored: ReturnType<typeof storedCheckpoint>;
    readonly key: Uint8Array | undefined;
    readonly bytes: Buffer;
  },
): Check[] => {
  const name = 'checkpoint.json';
  if (stored === undefined) return [];
  if (stored === 'damaged') return [failed(name, `is damaged. ${REMEDY}`)];
  const lines = stored.head.seq;
  if (reading.broken !== undefined && reading.mark === undefined) return [untold(name, BROKEN_JOURNAL)];
  if (stored.head.bytes > bytes.length) {
    return [
      failed(
        name,
        `knows ${lines} lines, but the journal has ${reading.head.seq}: lines were cut off its end`,
      ),
    ];
  }
  if (key !== undefined && readCheckpoint(directory.checkpoint, key, bytes) === undefined) {
    return [failed(name, `does not carry your seal, or was made from another journal. ${REMEDY}`)];
  }
  if (reading.mark !== stateDigest(stored.run))
    return [failed(name, `is not what a replay of ${lines} lines gives. ${REMEDY}`)];
  return [held(name, `is what a replay of ${lines} lines gives`)];
};

const REMEDY = 'It is a cache: remove it';
