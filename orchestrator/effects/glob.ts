import { readdirSync, statSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import picomatch from 'picomatch';

/** Folders that hold what others made, and never what a person wrote. */
const SKIPPED = new Set(['.git', '.orchestrate', 'node_modules']);

const OPTIONS = { dot: true, nonegate: true, noextglob: true } as const;

/** Files below `root` that match, in lexical order. Links to folders are not followed; pipes and sockets are no files. */
export const expandGlob = (root: string, glob: string): string[] => {
  const { base } = picomatch.scan(glob, OPTIONS);
  const matches = picomatch(glob, OPTIONS);
  const found: string[] = [];
  const stack = [base === '' ? '.' : base];
  while (stack.length > 0) {
    const folder = stack.pop() ?? '.';
    for (const entry of entriesOf(join(root, folder))) {
      const path = folder === '.' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) stack.push(path);
      if (matches(path) && isFile(entry, join(root, path))) found.push(path);
    }
  }
  return found.toSorted();
};

const isFile = (entry: Dirent, path: string): boolean =>
  entry.isFile() || (entry.isSymbolicLink() && leadsToFile(path));

const leadsToFile = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    // A link that leads in a circle, or through a file.
    return false;
  }
};

const entriesOf = (folder: string) => {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    // A glob that matches nothing yet is no mistake.
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
};
