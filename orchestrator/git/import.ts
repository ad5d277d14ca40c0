import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Failure } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import { fail, ok, type Result } from '../model/result.js';
import { type Git, type GitCommand, run } from './git.js';
import { transferPack } from './pack.js';
import { isPartial, lazyFetching } from './partial.js';
import { readShallow, updateShallow } from './shallow.js';
import type { Store } from './store.js';

/**
 * Commits that come along with a base, so that `git log` and `git blame` in a worker's clone say something.
 * Measured on 2,000 files and 300 commits: 50 cost 5 ms more than 1, all of them 15 ms, but a long history costs seconds.
 */
export const HISTORY_COMMITS = 50;

export interface ImportRequest {
  readonly git: Git;
  readonly store: Store;
  readonly paths: RepositoryPaths;
  /** Full id; must be in the user's repository. */
  readonly commit: string;
  /**
   * Name of the remote, when the commit is not on it yet: everything that the remote has not seen comes along, as it must
   * be pushed together with our commit.
   */
  readonly unpublishedOn?: string | undefined;
}

export interface Imported {
  readonly commit: string;
  /** `pack-<hex>`: holds everything that is reachable from the commit up to the boundary. */
  readonly pack: string;
  /** Commits whose parents were left out. */
  readonly boundary: readonly string[];
}

/**
 * Copies a commit with all of its files and some history into the store, once. Every object's id is computed again from
 * its bytes, so an object that was swapped in the user's repository is refused.
 * @returns `git-failed` when an object is missing or false
 */
export const importCommit = async (request: ImportRequest): Promise<Result<Imported>> => {
  const done = readMarker(request.store, request.commit);
  if (done !== undefined) return ok(done);
  const key = `import:${request.store.path}:${request.commit}`;
  const running = request.git.memo.get(key) ?? importNow(request).finally(() => request.git.memo.delete(key));
  request.git.memo.set(key, running);
  return (await running) as Result<Imported>;
};

const importNow = async (request: ImportRequest): Promise<Result<Imported>> => {
  const { git, store, paths, commit } = request;
  const reading = await lazyFetching(git, paths);
  const history = await readHistory(request, reading);
  if (!history.ok) return history;
  const { boundary, within } = cutHistory(history.value, commit, new Set(readShallow(paths.gitDir)));
  // Before the objects: the check of their links must know where history ends.
  await updateShallow(store.path, { add: boundary, drop: [] });
  const pack = await transferPack({
    git,
    from: paths.gitDir,
    to: store.path,
    revisions: [...boundary.map((id) => `--shallow ${id}`), commit],
    scratch: store.path,
    loose: false,
    reading,
  });
  if (!pack.ok) return isPartial(paths) ? partly(pack.failure) : pack;
  // After them: another import may still count on history ending there.
  await updateShallow(store.path, { add: [], drop: within });
  if (pack.value === undefined) {
    return fail({ kind: 'git-failed', message: '`git index-pack` named no pack', where: store.path });
  }
  return ok(writeMarker(store, { commit, pack: pack.value, boundary }));
};

const partly = (failure: Failure) =>
  fail({
    ...failure,
    next: 'this repository is a partial clone, and git could not fetch what is missing of the base: see that `git fetch` works without asking for anything, then run again',
  });

/** Parents by commit. */
type History = Map<string, readonly string[]>;

const readHistory = async (
  request: ImportRequest,
  reading: Pick<GitCommand, 'env' | 'timeoutMs'>,
): Promise<Result<History>> => {
  const history: History = new Map();
  // Old contents that a partial clone has not got would all be fetched.
  const depth = isPartial(request.paths) ? 1 : HISTORY_COMMITS;
  const ranges = [[`--max-count=${depth}`, request.commit]];
  if (request.unpublishedOn !== undefined) {
    // With the published commits right below: history may only be cut where the remote has it.
    ranges.push(['--boundary', request.commit, '--not', `--remotes=${request.unpublishedOn}`]);
  }
  for (const range of ranges) {
    const listed = await run(request.git, {
      ...reading,
      args: ['rev-list', '--parents', ...range],
      gitDir: request.paths.gitDir,
    });
    if (!listed.ok) return listed;
    for (const line of listed.value.stdout.toString('latin1').split('\n')) {
      const [id, ...parents] = line.replace(/^-/, '').split(' ');
      if (id !== undefined && id !== '') history.set(id, parents);
    }
  }
  return ok(history);
};

interface Cut {
  /** Where history ends: a parent was not listed, or the user's own clone is shallow there. */
  readonly boundary: readonly string[];
  /** Commits that come with all of their parents. */
  readonly within: readonly string[];
}

/** Only what can be reached counts: a cut at a merge may hide a listed commit behind it. */
const cutHistory = (history: History, commit: string, shallow: ReadonlySet<string>): Cut => {
  const boundary: string[] = [];
  const within: string[] = [];
  const seen = new Set([commit]);
  for (const id of seen) {
    const parents = history.get(id) ?? [];
    const ends = shallow.has(id) || parents.some((parent) => !history.has(parent));
    (ends ? boundary : within).push(id);
    if (!ends) for (const parent of parents) seen.add(parent);
  }
  return { boundary, within };
};

const markerPath = (store: Store, commit: string): string => join(store.path, 'imported', commit);

const readMarker = (store: Store, commit: string): Imported | undefined => {
  const path = markerPath(store, commit);
  if (!existsSync(path)) return undefined;
  const [pack, ...boundary] = readFileSync(path, 'latin1').trim().split('\n');
  return pack === undefined ? undefined : { commit, pack, boundary };
};

/** The ref keeps the objects from a later `git gc`; the marker, written last, says that the import is complete. */
const writeMarker = (store: Store, imported: Imported): Imported => {
  replace(join(store.path, 'refs', 'base', imported.commit), `${imported.commit}\n`);
  replace(markerPath(store, imported.commit), `${[imported.pack, ...imported.boundary].join('\n')}\n`);
  return imported;
};

const replace = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.tmp-${process.pid}`;
  writeFileSync(temporary, text);
  renameSync(temporary, path);
};
