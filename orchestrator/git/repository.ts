import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';

/**
 * Finds the repository that contains `startDir` with a few file system calls and no process: every command calls it.
 * Symbolic links are resolved, so that one repository has one name. `GIT_DIR` and its relatives are not looked at.
 *
 * In a linked worktree `mainRoot` is the root of the main worktree; where there is none (worktrees of a bare
 * repository) and in a submodule it is the checkout itself.
 * @throws `Problem` `not-a-repository` when there is none, or only a bare one
 */
export const findRepository = (startDir: string): RepositoryPaths => {
  const start = realFolder(startDir);
  for (let folder = start; ; folder = dirname(folder)) {
    const gitDir = gitDirOf(folder);
    if (gitDir !== undefined) return pathsOf(folder, gitDir);
    if (isGitDir(folder) && basename(folder) !== '.git') throw bareRepository(folder);
    if (dirname(folder) === folder) throw noRepository(start);
  }
};

/** The checkout's own git directory, which holds its HEAD and index; in a linked worktree it is not the common one. */
export const checkoutGitDir = (paths: RepositoryPaths): string => gitDirOf(paths.root) ?? paths.gitDir;

/** Looks like one, as git itself judges it: a HEAD, and objects and refs of its own or the way to them. */
const isGitDir = (path: string): boolean =>
  existsSync(join(path, 'HEAD')) &&
  (existsSync(join(path, 'commondir')) ||
    (existsSync(join(path, 'objects')) && existsSync(join(path, 'refs'))));

const pathsOf = (root: string, gitDir: string): RepositoryPaths => {
  const common = commonDirOf(gitDir);
  if (common === gitDir) return { root, gitDir, mainRoot: root };
  const candidate = dirname(common);
  const isMain = gitDirOf(candidate) === common;
  return { root, gitDir: common, mainRoot: isMain ? candidate : root };
};

const commonDirOf = (gitDir: string): string => {
  const pointer = readIfThere(join(gitDir, 'commondir'));
  return pointer === undefined ? gitDir : realpathSync.native(resolve(gitDir, pointer.trim()));
};

/** The git directory that `folder/.git` is or points to; `undefined` when there is no such entry. */
const gitDirOf = (folder: string): string | undefined => {
  const entry = join(folder, '.git');
  const stat = statSync(entry, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (stat.isDirectory()) return isGitDir(entry) ? realpathSync.native(entry) : undefined;
  const target = /^gitdir: (.+?)\n?$/s.exec(readIfThere(entry) ?? '')?.[1];
  if (target === undefined) return undefined;
  const gitDir = resolve(folder, target);
  if (isGitDir(gitDir)) return realpathSync.native(gitDir);
  throw new Problem({
    kind: 'not-a-repository',
    message: `\`${entry}\` points to \`${gitDir}\`, which is not a git directory`,
    next: 'if the repository was moved, run `git worktree repair` in its main checkout',
  });
};

const readIfThere = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

const realFolder = (path: string): string => {
  try {
    return realpathSync.native(path);
  } catch (error) {
    throw new Problem(
      {
        kind: 'not-a-repository',
        message: `the folder \`${path}\` cannot be entered: ${(error as Error).message}`,
        next: 'start in a git repository, or name one with `-C DIR`',
      },
      { cause: error },
    );
  }
};

const noRepository = (start: string): Problem =>
  new Problem({
    kind: 'not-a-repository',
    message: `\`${start}\` is not in a git repository`,
    next: 'start in a git repository, name one with `-C DIR`, or make one with `git init`',
  });

const bareRepository = (folder: string): Problem =>
  new Problem({
    kind: 'not-a-repository',
    message: `\`${folder}\` is a bare repository: it has no files to work on`,
    next: 'clone it (`git clone`) or add a worktree (`git worktree add`) and start there',
  });
