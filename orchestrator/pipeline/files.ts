import { readFileSync, statSync } from 'node:fs';

import { digestOf } from '../model/digest.js';
import type { SourceFile } from '../model/pipeline.js';

/** Above this a file is refused unread: 10,000 targets are below one megabyte. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

export type FileRead =
  | { readonly ok: true; readonly source: SourceFile; readonly bytes: Buffer }
  | { readonly ok: false; readonly reason: string };

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EACCES: 'permission denied',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the path is too long',
};

const reasonOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? (code === '' ? String(error) : code);
};

/**
 * Reads a small regular file whole. Synchronous on purpose: a handful of small files before anything else runs, and
 * twice as fast as the promises.
 * @returns `ok: false` with a reason for a person when it is missing, not a file, unreadable or above 16 MiB
 */
export const readSmallFile = (path: string): FileRead => {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return { ok: false, reason: 'it is not a file' };
    if (stat.size > MAX_FILE_BYTES) return { ok: false, reason: `it has ${stat.size} bytes` };
    const bytes = readFileSync(path);
    const source = { path, digest: digestOf(bytes), bytes: bytes.length, mtimeMs: stat.mtimeMs };
    return { ok: true, source, bytes };
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  }
};

/** The text, or `undefined` when it is not valid UTF-8. */
export const decodeText = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
};
