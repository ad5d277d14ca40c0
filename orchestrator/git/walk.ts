import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asBytes } from './records.js';

/** Something in a working copy that a git tree cannot hold, or that would hide what is in it. */
export interface Odd {
  /** Relative to the tree, bytes as characters. */
  readonly path: string;
  readonly what: string;
  /** Path that the ignore rules are asked about. */
  readonly subject: string;
  /** What can be done about it; `undefined`: remove it. */
  readonly next?: string;
}

export interface Walked {
  /** Regular files and symbolic links, relative, bytes as characters. */
  readonly files: readonly string[];
  /** Folders with nothing in them, relative, bytes as characters. No tree object holds them. */
  readonly emptyFolders: readonly string[];
  /** Folders that were passed over as asked. */
  readonly passedOver: readonly string[];
  readonly odd: readonly Odd[];
}

/** Longest time without a turn of the event loop. PERFORMANCE P12. */
const SLICE_MS = 8;

/**
 * Lists a working copy without following a link. The tree's own `.git` is left out, any other is odd, as is a folder that
 * cannot be read: git would pass over it with a warning.
 * @param passOver folders that are not looked into; relative, bytes as characters
 */
export const walkTree = async (root: string, passOver: ReadonlySet<string> = new Set()): Promise<Walked> => {
  const walked: Found = { files: [], emptyFolders: [], passedOver: [], odd: [], passOver };
  const folders = [''];
  let sliceStart = performance.now();
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const below of listFolder(root, folder, walked)) folders.push(below);
    if (performance.now() - sliceStart > SLICE_MS) {
      await nextTurn();
      sliceStart = performance.now();
    }
  }
  return walked;
};

interface Found {
  readonly files: string[];
  readonly emptyFolders: string[];
  readonly passedOver: string[];
  readonly odd: Odd[];
  readonly passOver: ReadonlySet<string>;
}

/** @returns the folders in it, each with a slash at its end */
const listFolder = (root: string, folder: string, found: Found): string[] => {
  const entries = entriesOf(root, folder);
  const self = folder.slice(0, -1);
  if (typeof entries === 'string') {
    found.odd.push({ path: self === '' ? '.' : self, what: entries, subject: self === '' ? '.' : self });
    return [];
  }
  if (entries.length === 0 && folder !== '') found.emptyFolders.push(self);
  const below: string[] = [];
  for (const entry of entries) {
    const path = folder + entry.name.toString('latin1');
    const kind = kindOf(entry, path);
    if (kind === 'file') found.files.push(path);
    else if (kind === 'folder' && found.passOver.has(path)) found.passedOver.push(path);
    else if (kind === 'folder') below.push(`${path}/`);
    else if (kind !== 'own') found.odd.push({ path, what: kind, subject: subjectOf(kind, folder, path) });
  }
  return below;
};

/** Why it cannot be listed, where it cannot. */
const entriesOf = (root: string, folder: string): Dirent<Buffer>[] | string => {
  try {
    return readdirSync(absolute(root, folder), { withFileTypes: true, encoding: 'buffer' });
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const isGone = code === 'ENOENT' || code === 'ENOTDIR';
    return isGone
      ? 'a folder that was removed while it was looked at'
      : `a folder that cannot be read (${code})`;
  }
};

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

/** The tree itself must be a folder: a link in its place would show other files than those that were worked on. */
export const isPlainFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
