/**
 * `rebuild.json`: a rebuild has begun and is not over. Written before anything else and removed last, so that whoever takes
 * the ticket's lock next knows what to finish or to undo.
 */
import { createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf, type Digest } from '../model/digest.js';
import { Problem } from '../model/failure.js';
import { replaceFile } from '../state/files.js';
import type { RunDirectory } from '../state/run-dir.js';

export interface RebuildMarker {
  /** The target that was asked for. */
  readonly asked: string;
  /** The epoch that is archived; the next one has the next number. */
  readonly epoch: number;
  /** SHA-256 of the new journal: the ticket's journal has it from the moment at which the new epoch counts. */
  readonly journal: Digest;
}

export const markerPath = (directory: RunDirectory): string => join(directory.path, 'rebuild.json');

const textOf = ({ asked, epoch, journal }: RebuildMarker, key: Uint8Array): string => {
  const fields = { v: 1, asked, epoch, journal };
  const mac = createHmac('sha256', key).update(JSON.stringify(fields)).digest('hex');
  return `${JSON.stringify({ ...fields, mac })}\n`;
};

export const writeMarker = (directory: RunDirectory, key: Uint8Array, marker: RebuildMarker): void =>
  replaceFile(markerPath(directory), textOf(marker, key), { sync: true });

/**
 * The marker; `undefined` when no rebuild is going on.
 * @throws `Problem` `record-refused` when the file is not what we wrote
 */
export const readMarker = (directory: RunDirectory, key: Uint8Array): RebuildMarker | undefined => {
  const path = markerPath(directory);
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  const marker = parse(text);
  if (marker !== undefined && textOf(marker, key) === text) return marker;
  throw new Problem({
    kind: 'record-refused',
    message: '`rebuild.json` was not written by orchestrate',
    where: path,
    next: 'nothing was started; move the file away and run again',
  });
};

const parse = (text: string): RebuildMarker | undefined => {
  try {
    const { asked, epoch, journal } = JSON.parse(text) as RebuildMarker;
    return Number.isSafeInteger(epoch) ? { asked, epoch, journal } : undefined;
  } catch {
    return undefined;
  }
};

/** Does the new epoch count already? */
export const isSwitched = ({ journal }: RebuildMarker, bytes: Uint8Array): boolean =>
  digestOf(bytes) === journal;

/**
 * Between the switch and its end the documents are those of the old epoch: no reader takes them for tampering.
 * @throws `Problem` `record-refused`
 */
export const refuseHalfRebuilt = (directory: RunDirectory, key: Uint8Array, journal: Uint8Array): void => {
  const marker = readMarker(directory, key);
  if (marker === undefined || !isSwitched(marker, journal)) return;
  throw new Problem({
    kind: 'record-refused',
    message: `the rebuild of \`${marker.asked}\` was interrupted: epoch ${marker.epoch + 1} is recorded, its documents are not in place yet`,
    where: markerPath(directory),
    next: `\`orchestrate run --ticket ${directory.ticket}\` finishes it`,
  });
};
