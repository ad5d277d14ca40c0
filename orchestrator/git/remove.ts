import { chmodSync, lstatSync, readdirSync, realpathSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fail, ok, type Result } from '../model/result.js';
import { isInside } from './git.js';

export interface RemoveRequest {
  /** Folder that holds trees or checkouts; nothing outside it is ever removed. */
  readonly folder: string;
  /** The tree, directly or further down in `folder`. */
  readonly dir: string;
}

let counter = 0;

/**
 * Removes a tree or a checkout, read-only folders included. Symbolic links are removed, never followed; where the parent
 * of `dir` really lies is what counts. The tree is renamed first, so that half of one is never taken for a whole.
 * @returns `usage` when `dir` is not inside `folder`; nothing to remove is fine
 */
export const removeTree = async ({ folder, dir }: RemoveRequest): Promise<Result<undefined>> => {
  const stat = lstatSync(dir, { throwIfNoEntry: false });
  if (stat === undefined) return ok(undefined);
  const parent = realpathSync.native(dirname(dir));
  const name = basename(dir);
  if (!isInside(parent, realpathSync.native(folder)) || name === '' || name === '..' || name === '.') {
    return fail({
      kind: 'usage',
      message: `\`${dir}\` is not a tree inside \`${folder}\`, so it is not removed`,
      where: dir,
      next: 'remove it by hand if it is not needed',
    });
  }
  counter += 1;
  const doomed = join(parent, `.removed-${process.pid}-${counter}-${name}`);
  renameSync(join(parent, name), doomed);
  await removeAll(doomed);
  return ok(undefined);
};

/** Removes a folder of our own, whatever the modes in it. */
export const removeAll = async (path: string): Promise<void> => {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    makeWritable(path);
    await rm(path, { recursive: true, force: true });
  }
};

/** Entries of a read-only folder cannot be removed; those of a link's target are none of our business. */
const makeWritable = (root: string): void => {
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    if (!lstatSync(folder).isDirectory()) continue;
    chmodSync(folder, 0o700);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
    }
  }
};
