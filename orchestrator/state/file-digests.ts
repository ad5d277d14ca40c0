import { createHash } from 'node:crypto';
import {
  closeSync,
  lstatSync,
  openSync,
  readSync,
  readdirSync,
  readlinkSync,
  statSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';
import { digestOf, type Digest } from '../model/digest.js';
import type { FileStat } from '../model/event.js';

/** A file whose mtime is this close to the moment it was hashed may change again without a visible change of its stat. */
export const RACY_MS = 100;

/** `join` and a fresh options object cost as much as the call, ten thousand times. */
const NO_THROW = { throwIfNoEntry: false } as const;

const CHUNK = 1 << 20;

/** Digests of files below one folder, remembered by stat. The memory is the caller's, and safe to lose. */
export interface FileDigests {
  /**
   * `undefined` when there is no such file. A folder has the digest of all that is in it; a link in it counts as where it
   * leads, and is not followed, because it may lead back. What is neither file nor folder is not opened: a pipe has no end.
   */
  readonly digest: (path: string) => Digest | undefined;
  /** Did any remembered digest change or arrive? */
  readonly learned: () => boolean;
}

const isSame = (known: FileStat, stat: Stats): boolean =>
  known.mtimeMs === stat.mtimeMs &&
  known.size === stat.size &&
  known.ctimeMs === stat.ctimeMs &&
  known.ino === stat.ino;

type Look = (path: string, options: { readonly throwIfNoEntry: false }) => Stats | undefined;

/** `undefined` when there is no such entry, also because something above it is a file or a link that leads nowhere. */
const statOf = (look: Look, path: string): Stats | undefined => {
  try {
    return look(path, NO_THROW);
  } catch (error) {
    if (['ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
};

const hashFile = (path: string): Digest => {
  const hash = createHash('sha256');
  const fd = openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, 1 << 16));
    for (let read = readSync(fd, buffer); read > 0; read = readSync(fd, buffer))
      hash.update(buffer.subarray(0, read));
  } finally {
    closeSync(fd);
  }
  return `sha256:${hash.digest('hex')}`;
};

export const fileDigests = (
  root: string,
  memory: Record<string, FileStat>,
  now: () => number,
): FileDigests => {
  let learned = false;
  const ofFile = (path: string, stat: Stats): Digest => {
    const known = memory[path];
    if (known !== undefined && isSame(known, stat)) return known.digest;
    const digest = hashFile(join(root, path));
    if (now() - stat.mtimeMs > RACY_MS) {
      const { size, mtimeMs, ctimeMs, ino } = stat;
      memory[path] = { size, mtimeMs, ctimeMs, ino, digest };
      learned = true;
    }
    return digest;
  };
  const ofAny = (path: string, stat: Stats): Digest => {
    if (stat.isFile()) return ofFile(path, stat);
    if (stat.isDirectory()) return ofFolder(path);
    return digestOf(
      stat.isSymbolicLink() ? `link to ${readlinkSync(join(root, path))}` : 'neither file nor folder',
    );
  };
  const ofFolder = (path: string): Digest => {
    const hash = createHash('sha256');
    for (const name of readdirSync(join(root, path)).toSorted()) {
      if (name === '.git') continue;
      const stat = statOf(lstatSync, join(root, path, name));
      hash.update(`${name}\0${stat === undefined ? '' : ofAny(`${path}/${name}`, stat)}\n`);
    }
    return `sha256:${hash.digest('hex')}`;
  };
  return {
    digest: (path) => {
      const stat = statOf(statSync, `${root}/${path}`);
      return stat === undefined ? undefined : ofAny(path, stat);
    },
    learned: () => learned,
  };
};
