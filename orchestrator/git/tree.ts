import {
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
} from 'node:fs';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { RepositoryPaths } from '../model/git.js';
import { fail, ok, type Result } from '../model/result.js';
import { type Git, isInside, run } from './git.js';
import type { Imported } from './import.js';
import { isBranchName, makeGitDir, quoteConfigValue } from './layout.js';
import { removeAll } from './remove.js';
import type { Store } from './store.js';
import type { Identity } from './user-config.js';

export interface CloneRequest {
  readonly git: Git;
  readonly store: Store;
  readonly paths: RepositoryPaths;
  /** The base, as `importCommit` returned it. */
  readonly base: Imported;
  /** Absolute path of the clone, outside the repository; must not exist. */
  readonly dir: string;
  /** Index file for the snapshots of this tree; replaced. It knows the files as they are now, which makes snapshots cheap. */
  readonly index: string;
  /** Name without `refs/heads/`. */
  readonly branch: string;
  /** So that the worker may commit in its own clone. */
  readonly author: Identity;
}

/**
 * Makes a worker's own clone of the base: its own `.git` with copied objects, no remote, no alternates, no hooks, no link
 * to the user's repository or the store. It appears under its name only when it is complete. One process.
 *
 * Files are written as they are in git: no filter and no line ending conversion, here or in what the worker's git does.
 * @returns `usage` when `dir` is inside the repository or `branch` is no branch name, `git-failed` when `dir` exists
 */
export const cloneTree = async (request: CloneRequest): Promise<Result<string>> => {
  const { dir, branch } = request;
  const unusable = problemWith(request);
  if (unusable !== undefined) return fail(unusable);
  mkdirSync(dirname(dir), { recursive: true });
  await removePartials(dir);
  // Names of tickets do not start with a dot, so this is never somebody's tree.
  const partial = join(dirname(dir), `.partial-${process.pid}-${basename(dir)}`);
  makeGitDirOfClone(request, join(partial, '.git'), branch);
  mkdirSync(dirname(request.index), { recursive: true });
  rmSync(request.index, { force: true });
  rmSync(`${request.index}.lock`, { force: true });
  const filled = await run(request.git, {
    args: ['read-tree', '--reset', '-u', request.base.commit],
    gitDir: join(partial, '.git'),
    workTree: partial,
    indexFile: request.index,
    cwd: partial,
  });
  if (!filled.ok) {
    await removeAll(partial);
    return filled;
  }
  copyFileSync(request.index, join(partial, '.git', 'index'));
  renameSync(partial, dir);
  return ok(dir);
};

const problemWith = ({ paths, dir, branch }: CloneRequest) => {
  if (!isBranchName(branch)) {
    return {
      kind: 'usage',
      message: `${JSON.stringify(branch)} is not a name for a branch`,
      next: 'correct `branch` in targets.yaml, e.g. `orchestrate/{ticket}`',
    } as const;
  }
  const real = realOfNearest(dir);
  if (!isAbsolute(dir) || [paths.root, paths.mainRoot, paths.gitDir].some((root) => isInside(real, root))) {
    return {
      kind: 'usage',
      message: `the working copy of a worker must lie outside the repository, and \`${dir}\` does not`,
      next: 'set ORCHESTRATE_HOME (or XDG_STATE_HOME) to a folder outside the repository',
    } as const;
  }
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) return undefined;
  return {
    kind: 'git-failed',
    message: `\`${dir}\` exists already`,
    next: 'use it if it is the working copy of this ticket, or remove it',
  } as const;
};

/** The path with links resolved as far as it exists. */
const realOfNearest = (path: string): string => {
  const missing: string[] = [];
  let existing = resolve(path);
  while (!existsSync(existing) && dirname(existing) !== existing) {
    missing.unshift(basename(existing));
    existing = dirname(existing);
  }
  return join(realpathSync.native(existing), ...missing);
};

/** What a killed run left behind under this name. */
const removePartials = async (dir: string): Promise<void> => {
  for (const name of readdirSync(dirname(dir))) {
    if (/^\.partial-\d+-(.+)$/s.exec(name)?.[1] === basename(dir)) await removeAll(join(dirname(dir), name));
  }
};

const makeGitDirOfClone = (request: CloneRequest, gitDir: string, branch: string): void => {
  const { store, base, author } = request;
  makeGitDir({
    path: gitDir,
    format: store.format,
    head: `refs/heads/${branch}`,
    bare: false,
    config: [
      '[user]',
      `\tname = ${quoteConfigValue(author.name)}`,
      `\temail = ${quoteConfigValue(author.email)}`,
      // The user's own configuration may ask for signatures, and a worker cannot answer for a key.
      '[commit]',
      '\tgpgSign = false',
      '[tag]',
      '\tgpgSign = false',
      '',
    ].join('\n'),
  });
  for (const suffix of ['pack', 'idx', 'rev']) {
    const name = join('objects', 'pack', `${base.pack}.${suffix}`);
    const from = join(store.path, name);
    // A copy on write where the file system can, and never a link: a worker could write through it.
    if (existsSync(from)) copyFileSync(from, join(gitDir, name), constants.COPYFILE_FICLONE);
  }
  if (base.boundary.length > 0) writeFileSync(join(gitDir, 'shallow'), `${base.boundary.join('\n')}\n`);
  const ref = join(gitDir, 'refs', 'heads', ...branch.split('/'));
  mkdirSync(dirname(ref), { recursive: true });
  writeFileSync(ref, `${base.commit}\n`);
};
