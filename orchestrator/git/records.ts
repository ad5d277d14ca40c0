import { type Digest, digestOf } from '../model/digest.js';
import type { RawRecord } from '../model/git.js';
import { cleanText, cutTo } from '../model/text.js';

/**
 * A record with its path as git has it: bytes, each as one character. Paths need not be UTF-8, and two that differ must
 * not become equal.
 */
export interface PathRecord extends RawRecord {
  readonly pathBytes: string;
}

/** Bytes as characters, one to one. */
export const asBytes = (path: string): Buffer => Buffer.from(path, 'latin1');

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A path for people and globs: as it is when it is UTF-8, else quoted as git quotes it: `"caf\351.txt"`. A name that looks
 * like a quoted one is quoted too, so that two paths never have one text.
 */
export const pathText = (pathBytes: string): string => {
  if (pathBytes.startsWith('"')) return quoted(pathBytes);
  try {
    return utf8.decode(asBytes(pathBytes));
  } catch {
    return quoted(pathBytes);
  }
};

const quoted = (pathBytes: string): string => {
  const text = pathBytes.replaceAll(/[\u007F-\u00FF\u0000-\u001F"\\]/g, (character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    return `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;
  });
  return `"${text}"`;
};

/** Longest path in a message; the file system allows 4,096 bytes. */
const SHOWN_CHARACTERS = 300;

/**
 * A path, as `pathText` has it, in a message: in backticks, on one line, with nothing that a terminal acts on or does not
 * draw, and never the end of the code.
 */
export const shownPath = (path: string): string => {
  const isPlain = !/[\n\t`]/.test(path) && cleanText(path) === path;
  const text = isPlain
    ? path
    : quoted(Buffer.from(path).toString('latin1')).replaceAll('`', String.raw`\140`);
  return `\`${cutTo(text, SHOWN_CHARACTERS)}\``;
};

const META = /^:([0-7]{6}) ([0-7]{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z][0-9]*)$/;

/**
 * One record of `git diff-tree --raw -z`.
 * @throws `Error` when it is not one: git's output format is a contract
 */
export const parseRecord = (meta: string, pathBytes: string): PathRecord => {
  const [, oldMode = '', newMode = '', oldId = '', newId = '', status = ''] = META.exec(meta) ?? [];
  if (status === '') throw new Error(`not a raw record: ${JSON.stringify(meta)}`);
  return { status, oldMode, newMode, oldId, newId, path: pathText(pathBytes), pathBytes };
};

/** Records of a whole `--raw -z` output. */
export const parseRecords = (output: Buffer): PathRecord[] => {
  const parts = output.toString('latin1').split('\0');
  const records: PathRecord[] = [];
  for (let position = 0; position + 1 < parts.length; position += 2) {
    records.push(parseRecord(parts[position] ?? '', parts[position + 1] ?? ''));
  }
  return records;
};

/**
 * SHA-256 over the records, sorted by path: modes, full object ids, status and path of everything that changed, and so
 * of every byte of it. It does not depend on the base, except where the base has a changed file itself: a clean merge of
 * a base that moved elsewhere leaves it as it is, and any other change of a reviewed byte does not.
 */
export const digestOfRecords = (records: readonly PathRecord[]): Digest => {
  const lines = records
    .map((it) => ({
      path: it.pathBytes,
      meta: `:${it.oldMode} ${it.newMode} ${it.oldId} ${it.newId} ${it.status}`,
    }))
    .toSorted((a, b) => (a.path < b.path ? -1 : Number(a.path > b.path)));
  return digestOf(asBytes(lines.map(({ meta, path }) => `${meta}\0${path}\0`).join('')));
};
