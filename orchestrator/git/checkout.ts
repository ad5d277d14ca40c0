import { chmodSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fail, ok, type Result } from '../model/result.js';
import { type Git, run } from './git.js';
import { removeAll } from './remove.js';
import type { Store } from './store.js';

export interface CheckoutRequest {
  readonly git: Git;
  readonly store: Store;
  /** Tree or commit in the store, full id. */
  readonly tree: string;
  /** Absolute path; must not exist. Remove it with `removeTree`. */
  readonly dir: string;
  /** Files 0444 (0555 when executable), folders 0555: the bytes that a critic judges. */
  readonly readOnly: boolean;
}

let counter = 0;

/**
 * Writes the files of a tree object into a new folder, byte for byte: no `.git`, no filters, no line ending conversion,
 * nothing that was ignored or left over in the worker's copy. It appears under its name only when it is complete.
 */
export const checkoutTree = async (request: CheckoutRequest): Promise<Result<string>> => {
  const { dir, store } = request;
  if (lstatSync(dir, { throwIfNoEntry: false }) !== undefined) {
    return fail({ kind: 'git-failed', message: `\`${dir}\` exists already`, next: 'remove it first' });
  }
  counter += 1;
  const unique = `${process.pid}-${counter}`;
  const partial = join(dirname(dir), `.partial-${unique}-${basename(dir)}`);
  const index = join(store.path, `tmp-checkout-${unique}.index`);
  rmSync(index, { force: true });
  await removeAll(partial);
  mkdirSync(partial, { recursive: true });
  const filled = await run(request.git, {
    args: ['read-tree', '--reset', '-u', request.tree],
    gitDir: store.path,
    workTree: partial,
    indexFile: index,
    cwd: partial,
  });
  rmSync(index, { force: true });
  if (!filled.ok) {
    await removeAll(partial);
    return filled;
  }
  if (request.readOnly) protect(partial);
  renameSync(partial, dir);
  if (request.readOnly) chmodSync(dir, 0o555);
  return ok(dir);
};

const OWNER_EXECUTE = 0o100;

/** Everything below `root`; the root itself follows when it has its name. */
const protect = (root: string): void => {
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) chmodSync(path, lstatSync(path).mode & OWNER_EXECUTE ? 0o555 : 0o444);
    }
    if (folder !== root) chmodSync(folder, 0o555);
  }
};
