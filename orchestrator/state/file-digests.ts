import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, readdirSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import type { Digest } from '../model/digest.js';
import type { FileStat } from '../model/event.js';

/** A file whose mtime is this close to the moment it was hashed may change again without a visible change of its stat. */
const RACY_MS = 100;

const CHUNK = 1 << 20;

/** Digests of files below one folder, remembered by stat. The memory is the caller's, and safe to lose. */
export interface FileDigests {
  /** `undefined` when there is no such file. A folder has the digest of all that is in it. */
  readonly digest: (path: string) => Digest | undefined;
  /** Did any remembered digest change or arrive? */
  readonly learned: () => boolean;
}

const isSame = (known: FileStat, stat: Stats): boolean =>
  known.mtimeMs === stat.mtimeMs &&
  known.size === stat.size &&
  known.ctimeMs === stat.ctimeMs &&
  known.ino === stat.ino;

const hashFile = (path: string): Digest => {
  const hash = createHash('sha256');
  const fd = openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, 1 << 16));
    for (let read = readSync(fd, buffer); read > 0; read = readSync(fd, buffer)) hash.update(buffer.subarray(0, read));
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
  const digest = (path: string): Digest | undefined => {
    const stat = statSync(join(root, path), { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    return stat.isDirectory() ? ofFolder(path) : ofFile(path, stat);
  };
  const ofFolder = (path: string): Digest => {
    const hash = createHash('sha256');
    for (const name of readdirSync(join(root, path)).toSorted()) {
      if (name === '.git') continue;
      hash.update(`${name}\0${digest(`${path}/${name}`) ?? ''}\n`);
    }
    return `sha256:${hash.digest('hex')}`;
  };
  return { digest, learned: () => learned };
};
