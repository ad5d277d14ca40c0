import { PAGE_BYTES } from '../model/limits.js';
import type { ManualRef, SourceFile } from '../model/pipeline.js';
import { readSmallFile } from './files.js';

/** A kernel or manual: its digest, or why it cannot be used. */
export type ManualRead =
  | { readonly ok: true; readonly source: SourceFile; readonly ref: ManualRef }
  | { readonly ok: false; readonly reason: string; readonly fix: string };

const readManual = (path: string): ManualRead => {
  const read = readSmallFile(path);
  if (!read.ok) {
    return {
      ok: false,
      reason: `cannot be read: ${read.reason}`,
      fix: 'create the file, or correct the path',
    };
  }
  const { source } = read;
  if (source.bytes > PAGE_BYTES) {
    const reason = `has ${source.bytes} bytes, ${source.bytes - PAGE_BYTES} more than the ${PAGE_BYTES} that fit`;
    return { ok: false, reason, fix: 'shorten it, or split it over two targets' };
  }
  return { ok: true, source, ref: { path, digest: source.digest, bytes: source.bytes } };
};

/** Reads each path once, however many targets name it. */
export const readManuals = (paths: Iterable<string | undefined>): ReadonlyMap<string, ManualRead> => {
  const reads = new Map<string, ManualRead>();
  for (const path of paths) {
    if (path !== undefined && !reads.has(path)) reads.set(path, readManual(path));
  }
  return reads;
};
