import { existsSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../model/failure.js';
import { isInside } from '../git/git.js';
import { removeTree } from '../git/remove.js';
import { indexPath, type RunDirectory } from '../state/run-dir.js';

export interface Removed {
  readonly what: 'tree' | 'checkouts' | 'index' | 'temporary';
  readonly path: string;
  readonly bytes: number;
}

export interface CleanPlan {
  readonly directory: RunDirectory;
  readonly mainRoot: string;
  /** Folders of this repository's trees and checkouts; nothing outside them and the run's own temporary files is removed. */
  readonly trees: string;
  readonly checkouts: string;
  /** As the record names it. */
  readonly tree: string | undefined;
}

/** Apparent size of all files below; links count as themselves. */
const bytesOf = (path: string): number => {
  let bytes = 0;
  const stack = [path];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const stat = lstatSync(next, { throwIfNoEntry: false });
    if (stat?.isDirectory() === true) for (const name of readdirSync(next)) stack.push(join(next, name));
    else bytes += stat?.size ?? 0;
  }
  return bytes;
};

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/**
 * Removes the ticket's tree, its checkouts, its index, and what a crash left half made or half removed. The record stays.
 * @throws `Problem` when the recorded tree does not lie where trees of this repository lie
 */
export const removeFiles = async (plan: CleanPlan): Promise<readonly Removed[]> => {
  const { directory, trees, checkouts, tree } = plan;
  requireInside(plan);
  const removed: Removed[] = [];
  if (tree !== undefined && isThere(tree)) removed.push(await removeFolder('tree', trees, tree));
  const checkout = join(checkouts, directory.ticket);
  if (isThere(checkout)) removed.push(await removeFolder('checkouts', checkouts, checkout));
  for (const folder of [trees, checkouts]) {
    for (const path of leftovers(folder, directory.ticket))
      removed.push(await removeFolder('temporary', folder, path));
  }
  const index = indexPath(plan.mainRoot, directory.ticket);
  for (const path of [index, `${index}.lock`]) if (isThere(path)) removed.push(removeFile('index', path));
  for (const path of temporaryFiles(directory)) removed.push(removeFile('temporary', path));
  // A link that leads nowhere helps nobody.
  if (lstatSync(directory.tree, { throwIfNoEntry: false })?.isSymbolicLink() === true) rmSync(directory.tree);
  return removed;
};

const requireInside = ({ tree, trees, directory }: CleanPlan): void => {
  if (tree === undefined || !isThere(tree) || (tree !== trees && isInside(tree, trees))) return;
  throw new Problem({
    kind: 'target-failed',
    message: `the tree of ticket \`${directory.ticket}\` lies outside \`${trees}\`, so it is not removed`,
    where: tree,
    next: 'call it with the ORCHESTRATE_HOME (or XDG_STATE_HOME) that the run had, or remove it by hand',
  });
};

const removeFolder = async (what: Removed['what'], folder: string, dir: string): Promise<Removed> => {
  const bytes = bytesOf(dir);
  const result = await removeTree({ folder, dir });
  if (!result.ok) throw new Problem({ ...result.failure, kind: 'target-failed' });
  return { what, path: dir, bytes };
};

const removeFile = (what: Removed['what'], path: string): Removed => {
  const bytes = bytesOf(path);
  rmSync(path);
  return { what, path, bytes };
};

/** A clone or a checkout that was being made, a tree that was being removed. Names of tickets do not start with a dot. */
const LEFTOVER = /^\.(?:partial-\d+|removed-\d+-\d+)-(.+)$/s;

const leftovers = (folder: string, ticket: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => LEFTOVER.exec(name)?.[1] === ticket)
        .map((name) => join(folder, name))
    : [];

/** Halves of a write or of a rendered diff that a crash cut short; the inbox is left out, as `tell` takes no lock. */
const temporaryFiles = ({ path, state, artifacts }: RunDirectory): string[] =>
  [path, state, artifacts, join(artifacts, 'notes')]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { withFileTypes: true })
        .filter(
          (entry) => entry.isFile() && (entry.name.startsWith('.tmp-') || /\.tmp-\d+$/.test(entry.name)),
        )
        .map((entry) => join(folder, entry.name)),
    );

/** Trees that were moved aside may hold work of a run whose record is gone: a person looks at them. */
export const setAsideTrees = (trees: string, ticket: string): string[] =>
  existsSync(trees)
    ? readdirSync(trees)
        .filter((name) => name.startsWith(`${ticket}.old-`) && /^\d+$/.test(name.slice(ticket.length + 5)))
        .map((name) => join(trees, name))
    : [];
