/** Reading what a worker returned. The file was written by a process that we do not trust. */
import { constants, lstatSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { WorkerReturn } from '../model/child.js';
import { RETURN_BYTES } from '../model/limits.js';
import type { Makes } from '../model/pipeline.js';
import { oneLine } from '../model/text.js';
import { codeOf } from './child-folder.js';
import { repeatedKeys } from './json-keys.js';

export type ReturnAnswer =
  | { readonly ok: true; readonly value: WorkerReturn }
  /** Short sentences that name the place; cleaned. */
  | { readonly ok: false; readonly problems: readonly string[] };

const refused = (problem: string): ReturnAnswer => ({ ok: false, problems: [problem] });

/** A link could lead to any file, and a pipe would never end: neither is followed or waited for. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The return file at the one path that the parent named, against its schema. Summaries are cut to 15 lines. A verdict must be
 * there for a review and for nothing else; its nonce, pages and pillars are compared by the gate, which knows them.
 */
export const readReturn = async (
  path: string,
  { makes }: { readonly makes: Makes },
): Promise<ReturnAnswer> => {
  const bytes = await readBounded(path);
  if (typeof bytes === 'string') return refused(bytes);
  const text = decode(bytes);
  if (text === undefined) return refused('the return file is not valid UTF-8');
  return checkReturnText(text, { makes, what: 'the return file' });
};

/** The same for a return that came as text. @param what begins the sentences, e.g. "the return file" */
export const checkReturnText = async (
  text: string,
  { makes, what }: { readonly makes: Makes; readonly what: string },
): Promise<ReturnAnswer> => {
  if (Buffer.byteLength(text) > RETURN_BYTES) return refused(`${what} has more than ${RETURN_BYTES} bytes`);
  const parsed = parse(text);
  if (!parsed.ok) return refused(`${what} is not valid JSON`);
  const [repeated] = repeatedKeys(text);
  if (repeated !== undefined) return refused(oneLine(`${what} says \`${repeated}\` twice`));
  return checkReturnValue(parsed.value, makes);
};

/** The same for a value that a program has parsed already. */
export const checkReturnValue = async (value: unknown, makes: Makes): Promise<ReturnAnswer> => {
  const { checkReturn } = await import('./return-schema.js');
  return checkReturn(value, makes);
};

/** @returns the bytes, or what is wrong with the file */
const readBounded = async (path: string): Promise<Uint8Array | string> => {
  try {
    // `out/` belongs to the worker: it could lead elsewhere by now.
    if (!lstatSync(dirname(path)).isDirectory())
      return 'the folder of the return file is not a folder any more';
    const file = await open(path, FLAGS);
    try {
      const found = await file.stat();
      if (!found.isFile()) return 'the return file is not a regular file';
      if (found.size > RETURN_BYTES)
        return `the return file has ${found.size} bytes; at most ${RETURN_BYTES} are read`;
      // One more, because it may have grown since.
      const buffer = Buffer.alloc(RETURN_BYTES + 1);
      const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
      if (bytesRead > RETURN_BYTES) return `the return file has more than ${RETURN_BYTES} bytes`;
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return 'the worker wrote no return file';
    if (code === 'ELOOP') return 'the return file is a link';
    return `the return file cannot be read (${code})`;
  }
};

const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
};

const parse = (text: string): { readonly ok: true; readonly value: unknown } | { readonly ok: false } => {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
};
