import { type Dirent, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isInside } from './git.js';
import { asBytes } from './records.js';

/** Something in a working copy that a git tree cannot hold, or that would hide what is in it. */
export interface Odd {
  /** Relative to the tree, bytes as characters. */
  readonly path: string;
  readonly what: string;
  /** Path that the ignore rules are asked about. */
  readonly subject: string;
}

export interface Walked {
  /** Regular files and symbolic links, relative, bytes as characters. */
  readonly files: readonly string[];
  readonly odd: readonly Odd[];
}

/** Longest time without a turn of the event loop. PERFORMANCE P12. */
const SLICE_MS = 8;

/** Lists a working copy without following a link. The tree's own `.git` is left out, any other is odd. */
export const walkTree = async (root: string): Promise<Walked> => {
  const files: string[] = [];
  const odd: Odd[] = [];
  const folders = [''];
  let sliceStart = performance.now();
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(root, folder)) {
      const path = folder + entry.name.toString('latin1');
      const kind = kindOf(entry, path);
      if (kind === 'file') files.push(path);
      else if (kind === 'folder') folders.push(`${path}/`);
      else if (kind !== 'own') odd.push({ path, what: kind, subject: subjectOf(kind, folder, path) });
    }
    if (performance.now() - sliceStart > SLICE_MS) {
      await nextTurn();
      sliceStart = performance.now();
    }
  }
  return { files, odd };
};

const entriesOf = (root: string, folder: string): Dirent<Buffer>[] =>
  readdirSync(absolute(root, folder), { withFileTypes: true, encoding: 'buffer' });

const absolute = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), asBytes(path)]);

const NESTED = 'a git repository inside the tree';

/** `own`: the tree's own git directory. */
const kindOf = (entry: Dirent<Buffer>, path: string): string => {
  // Other spellings of .git are the same folder on file systems that fold case.
  if (/(^|\/)\.git$/i.test(path)) return path === '.git' ? 'own' : NESTED;
  if (entry.isFile() || entry.isSymbolicLink()) return 'file';
  if (entry.isDirectory()) return 'folder';
  if (entry.isFIFO()) return 'a fifo';
  if (entry.isSocket()) return 'a socket';
  return 'a device';
};

/** For a nested repository the folder around it is what may be ignored. */
const subjectOf = (kind: string, folder: string, path: string): string =>
  kind === NESTED && folder !== '' ? folder.slice(0, -1) : path;

/**
 * Whether a symbolic link leads out of the tree: as text, and where it leads to now through other links.
 * @param root absolute, free of links
 */
export const leavesTree = (root: string, path: string): boolean => {
  const link = absolute(root, path);
  if (!lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) return false;
  const target = resolve(dirname(link.toString('latin1')), readlinkSync(link, 'latin1'));
  if (!isInside(target, Buffer.from(root).toString('latin1'))) return true;
  // The native one asks the kernel; Node's own joins `link/..` as text.
  try {
    return !isInside(realpathSync.native(link, 'latin1'), Buffer.from(root).toString('latin1'));
  } catch {
    // It leads nowhere yet; the text has been looked at.
    return false;
  }
};

/** The tree itself must be a folder: a link in its place would show other files than those that were worked on. */
export const isPlainFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
