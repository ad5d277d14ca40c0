/** Moving, sharing and removing what is on the disk, without reading it. Renames and links only: no byte is ever rewritten. */
import {
  constants,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  type Dirent,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { crossing } from './crossing.js';
import { syncFolder } from './files.js';

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Is there anything of that name? A link that leads nowhere is something. */
export const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** A file of its own, no link to one. */
export const isRegularFile = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** Renames a file or a folder, durably. An empty folder in its place is replaced, as rename(2) does. */
export const moveEntry = (from: string, to: string): void => {
  crossing(`move ${basename(from)}`);
  renameSync(from, to);
  crossing(`moved ${basename(from)}`);
  syncFolder(dirname(to));
  if (dirname(from) !== dirname(to)) syncFolder(dirname(from));
};

/** Where the file system or its rules give no second name: another one's file, too many links, no such feature. */
const CANNOT_LINK = new Set(['EPERM', 'EACCES', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV']);

/** The same file under a second name; a copy where that cannot be. Only for what is never written in place. */
export const shareFile = (from: string, to: string): void => {
  mkdirSync(dirname(to), { recursive: true });
  try {
    linkSync(from, to);
  } catch (error) {
    if (!CANNOT_LINK.has(codeOf(error) ?? '')) throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  }
};

/** A folder of its own with the same files. Links stay links; pipes, sockets and what cannot be read are left out. */
export const shareFolder = (from: string, to: string): void => {
  const pending: (readonly [string, string])[] = [[from, to]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [source, copy] = next;
    mkdirSync(copy, { recursive: true });
    for (const entry of entriesOf(source)) {
      const path = join(source, entry.name);
      if (entry.isDirectory()) pending.push([path, join(copy, entry.name)]);
      else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(path), join(copy, entry.name));
      else if (entry.isFile()) shareFile(path, join(copy, entry.name));
    }
  }
};

const entriesOf = (folder: string): Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === 'EACCES') return [];
    throw error;
  }
};

/** Makes what was made in a folder durable: its entries and those of all folders in it. */
export const syncTree = (folder: string): void => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) syncTree(join(folder, entry.name));
  }
  syncFolder(folder);
};

/** Removes a folder of ours; nothing to remove is fine. */
export const removeFolder = (folder: string): void => {
  rmSync(folder, { recursive: true, force: true });
};
