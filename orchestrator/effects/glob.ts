import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import picomatch from 'picomatch';

/** Folders that hold what others made, and never what a person wrote. */
const SKIPPED = new Set(['.git', '.orchestrate', 'node_modules']);

/** Files below `root` that match, in lexical order. Links are not followed. */
export const expandGlob = (root: string, glob: string): string[] => {
  const { base } = picomatch.scan(glob);
  const matches = picomatch(glob, { dot: true });
  const found: string[] = [];
  const stack = [base === '' ? '.' : base];
  while (stack.length > 0) {
    const folder = stack.pop() ?? '.';
    for (const entry of entriesOf(join(root, folder))) {
      const path = folder === '.' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!SKIPPED.has(entry.name)) stack.push(path);
      } else if (matches(path)) found.push(path);
    }
  }
  return found.toSorted();
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
