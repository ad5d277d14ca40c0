import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const OWNER_WRITE = 0o200;
const PERMISSIONS = 0o777;

/** Copies a folder so that the copy can be written to, however read-only the original is. `.git` stays behind. */
const copyFolder = (from: string, to: string): void => {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const copy = join(to, entry.name);
    if (entry.name === '.git') continue;
    if (entry.isDirectory()) copyFolder(source, copy);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), copy);
    else if (entry.isFile()) copyWritable(source, copy);
  }
};

const copyWritable = (source: string, copy: string): void => {
  copyFileSync(source, copy);
  chmodSync(copy, (statSync(source).mode & PERMISSIONS) | OWNER_WRITE);
};

/** A new folder for scratch: the system's place for it, or `otherwise` where a sandbox hides that. */
const scratchFolder = (otherwise: string): string => {
  try {
    return mkdtempSync(join(tmpdir(), 'orchestrate-probe-'));
  } catch {
    return mkdtempSync(join(otherwise, 'probe-'));
  }
};

/** Gives `use` a writable copy of the tree in a folder of its own, and removes it afterwards. */
export const withWritableCopy = <T>(tree: string, out: string, use: (copy: string) => T): T => {
  const folder = scratchFolder(out);
  try {
    const copy = join(folder, 'tree');
    copyFolder(tree, copy);
    return use(copy);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
