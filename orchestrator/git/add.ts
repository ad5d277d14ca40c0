import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fail, ok, type Result } from '../model/result.js';
import { type Git, type GitCommand, run } from './git.js';
import { type IndexPaths, readIndexPaths } from './index-file.js';
import { asBytes } from './records.js';
import type { Store } from './store.js';

/** Where the files of a working copy are taken in: an index of our own, over the private store. */
export interface IndexRequest {
  readonly git: Git;
  readonly store: Store;
  /** Absolute path of the worker's clone. */
  readonly tree: string;
  /** Base commit, full id, in the store. */
  readonly base: string;
  /** Index file of the ticket, kept from one snapshot to the next; made when it is missing. */
  readonly index: string;
  /**
   * Files and folders that the tree was given when it was made, such as dependencies: the baseline of what is ignored. They
   * are never taken in, whatever the ignore rules say, but for files in them that the base has. Default: none.
   */
  readonly given?: readonly string[];
}

export const overTree = (request: IndexRequest, args: readonly string[]): GitCommand => ({
  args,
  gitDir: request.store.path,
  workTree: request.tree,
  indexFile: request.index,
  cwd: request.tree,
});

const BROKEN_INDEX = /index file|bad (index|signature)|index uses .* extension/i;

/**
 * Takes every file of the working copy into the index. One that git cannot read, or that has bits which we never set, is
 * made again from the base: such bits make git pass over a file.
 */
export const addAll = async (request: IndexRequest): Promise<Result<IndexPaths>> => {
  // Left by a process that died; the ticket's lock is ours.
  rmSync(`${request.index}.lock`, { force: true });
  if (existsSync(request.index)) {
    const added = await add(request);
    const index = added.ok ? readIndex(request) : undefined;
    if (index !== undefined) return withGiven(request, index);
    if (!added.ok && !BROKEN_INDEX.test(added.failure.message)) return added;
    rmSync(request.index, { force: true, recursive: true });
  }
  const added = await fromBase(request);
  if (!added.ok) return added;
  const index = readIndex(request);
  if (index !== undefined) return withGiven(request, index);
  return fail({
    kind: 'git-failed',
    message: 'the index of the ticket is not what git wrote there',
    where: request.index,
    next: 'find out what else writes there, then run again',
  });
};

/** `undefined` when it is not as we write it. */
const readIndex = ({ index, store }: IndexRequest): IndexPaths | undefined => {
  try {
    const paths = readIndexPaths(index, store.format);
    return paths.isPlain ? paths : undefined;
  } catch {
    return undefined;
  }
};

/** Files of the base below what the tree was given were passed over, and may have been edited. */
const withGiven = async (request: IndexRequest, index: IndexPaths): Promise<Result<IndexPaths>> => {
  const known = (request.given ?? []).length === 0 ? [] : [...index.paths];
  const add = known.filter((path) => isGiven(request, path));
  if (add.length === 0) return ok(index);
  const added = await changeIndex(request, { add, remove: [] });
  return added.ok ? ok(readIndexPaths(request.index, request.store.format)) : added;
};

/** @param path bytes as characters */
export const isGiven = ({ given = [] }: IndexRequest, path: string): boolean =>
  given.some((name) => {
    const folder = Buffer.from(name).toString('latin1');
    return path === folder || path.startsWith(`${folder}/`);
  });

/** Files that the base has and the ignore rules name stay in only when the index knows them. */
const fromBase = async (request: IndexRequest): Promise<Result<unknown>> => {
  mkdirSync(dirname(request.index), { recursive: true });
  const read = await run(request.git, overTree(request, ['read-tree', request.base]));
  return read.ok ? add(request) : read;
};

const add = async (request: IndexRequest): Promise<Result<unknown>> => {
  const others = await givenNotIgnored(request);
  if (!others.ok) return others;
  const excluded = others.value.map((path) => `:(exclude,top,literal)${path}`);
  return run(request.git, overTree(request, ['add', '-A', '--', '.', ...excluded]));
};

/** What the ignore rules leave out already must not be named: git takes even an exclusion for a wish to add it, and fails. */
const givenNotIgnored = async (request: IndexRequest): Promise<Result<readonly string[]>> => {
  const { given = [], git } = request;
  if (given.length === 0) return ok(given);
  const checked = await run(git, {
    ...overTree(request, ['check-ignore', '-z', '--stdin', '--no-index']),
    input: Buffer.from(given.map((path) => `${path}\0`).join('')),
    answers: [1],
  });
  if (!checked.ok) return checked;
  const ignored = new Set(checked.value.stdout.toString().split('\0'));
  return ok(given.filter((path) => !ignored.has(path)));
};

/**
 * Takes files in by name, whatever the ignore rules say, and others out, which stay on disk.
 * @param change paths, bytes as characters
 */
export const changeIndex = async (
  request: IndexRequest,
  change: { readonly add: readonly string[]; readonly remove: readonly string[] },
): Promise<Result<unknown>> => {
  const update = (options: readonly string[], paths: readonly string[]): Promise<Result<unknown>> =>
    run(request.git, {
      ...overTree(request, ['update-index', ...options, '-z', '--stdin']),
      input: listOf(paths),
    });
  const added = change.add.length === 0 ? ok(undefined) : await update(['--add', '--remove'], change.add);
  if (!added.ok || change.remove.length === 0) return added;
  return update(['--force-remove'], change.remove);
};

/** Paths that the ignore rules of the working copy name; bytes as characters. No process for none. */
export const ignoredAmong = async (
  request: IndexRequest,
  paths: readonly string[],
): Promise<Result<ReadonlySet<string>>> => {
  if (paths.length === 0) return ok(new Set());
  const checked = await run(request.git, {
    ...overTree(request, ['check-ignore', '-z', '--stdin', '--no-index']),
    input: listOf(paths),
    answers: [1],
  });
  return checked.ok ? ok(new Set(checked.value.stdout.toString('latin1').split('\0'))) : checked;
};

const listOf = (paths: readonly string[]): Buffer => asBytes(paths.map((path) => `${path}\0`).join(''));
