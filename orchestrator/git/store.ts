import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Failure, Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import { configText, makeGitDir, NEUTRAL_ATTRIBUTES, type ObjectFormat, objectFormatOf } from './layout.js';

/**
 * The private store: a bare repository with base commits, snapshots and our commits. It has no alternates, no hooks and
 * no remotes, shares no file with the user's repository, and its settings are ours alone. DESIGN section 5.
 */
export interface Store {
  /** Absolute path of `store.git`. */
  readonly path: string;
  readonly format: ObjectFormat;
}

const HEAD = 'refs/heads/none';

/**
 * Opens `<mainRoot>/.orchestrate/store.git`, making it at first use. No process is started.
 * @throws `Problem` `evidence-refused` when its settings are not the ones it was made with
 */
export const openStore = (paths: RepositoryPaths): Store => {
  const folder = join(paths.mainRoot, '.orchestrate');
  const store: Store = { path: join(folder, 'store.git'), format: objectFormatOf(paths.gitDir) };
  if (!existsSync(store.path)) makeStore(folder, store);
  const problem = storeProblem(store);
  if (problem !== undefined) throw new Problem(problem);
  return store;
};

const settingsOf = (store: Store) => ({ format: store.format, config: '', bare: true });

/** Whole or not at all: two commands may do this at the same time. */
const makeStore = (folder: string, store: Store): void => {
  mkdirSync(folder, { recursive: true });
  const ignore = join(folder, '.gitignore');
  // `.orchestrate` ignores itself, so that the user's `git status` stays as it was.
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n');
  const partial = join(folder, `.tmp-store-${process.pid}`);
  rmSync(partial, { recursive: true, force: true });
  makeGitDir({ ...settingsOf(store), path: partial, head: HEAD });
  mkdirSync(join(partial, 'imported'));
  try {
    renameSync(partial, store.path);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    if (!existsSync(store.path)) throw error;
  }
};

/** What git would obey if it were there; we never make it. */
const FOREIGN: readonly string[] = [
  'hooks',
  'objects/info/alternates',
  'objects/info/http-alternates',
  // They answer for commits and packs without being checked against them.
  'objects/info/commit-graph',
  'objects/info/commit-graphs',
  'objects/pack/multi-pack-index',
  'refs/replace',
  'packed-refs',
  'config.worktree',
  'commondir',
  'info/grafts',
];

/**
 * What is wrong with the settings of the store, now: they decide what git sees. A dozen file system calls.
 * @returns `undefined` when they are the ones that it was made with
 */
export const storeProblem = (store: Store): Failure | undefined => {
  const expected: Readonly<Record<string, string>> = {
    HEAD: `ref: ${HEAD}\n`,
    config: configText(settingsOf(store)),
    'info/attributes': NEUTRAL_ATTRIBUTES,
    'info/exclude': '',
  };
  const changed = Object.entries(expected)
    .filter(([name, text]) => readText(join(store.path, name)) !== text)
    .map(([name]) => name);
  const added = FOREIGN.filter((name) => existsSync(join(store.path, name)));
  const wrong = [...changed, ...added];
  if (wrong.length === 0) return undefined;
  return {
    kind: 'evidence-refused',
    message: `the private store was changed by something else: ${wrong.map((name) => `\`${name}\``).join(', ')}`,
    where: store.path,
    next: 'find out what wrote there; to start afresh move `.orchestrate` away and run the tickets again',
  };
};

const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};
