import { existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Digest, digestOf } from '../model/digest.js';
import type { RawRecord } from '../model/git.js';
import { fail, ok, type Result } from '../model/result.js';
import { renderDiff } from './diff.js';
import { type Git, type GitCommand, type GitOutput, run, runForText } from './git.js';
import { type IndexPaths, readIndexPaths } from './index-file.js';
import { asBytes, digestOfRecords, type PathRecord, pathText } from './records.js';
import type { Store } from './store.js';
import { isPlainFolder, leavesTree, type Odd, type Walked, walkTree } from './walk.js';

export interface SnapshotRequest {
  readonly git: Git;
  readonly store: Store;
  /** Absolute path of the worker's clone. */
  readonly tree: string;
  /** Base commit, full id, in the store. */
  readonly base: string;
  /** Index file of the ticket, kept from one snapshot to the next; made when it is missing. */
  readonly index: string;
  /** Path of `branch.diff`; replaced whole. */
  readonly diffFile: string;
}

export interface Snapshot {
  readonly treeId: string;
  readonly records: readonly RawRecord[];
  readonly recordsDigest: Digest;
  readonly diffFile: string;
  readonly diffDigest: Digest;
  readonly diffBytes: number;
  readonly files: number;
  readonly addedLines: number;
  readonly removedLines: number;
  /** Files of the tree that the ignore rules of the tree leave out, sorted. */
  readonly ignored: readonly string[];
  readonly ignoredDigest: Digest;
}

/**
 * Turns the files of a working copy into a git tree object in the private store and renders its difference from the base.
 * The worker's own `.git` is not read: its index, configuration, hooks, filters, attributes, replaced objects and excludes
 * cannot hide a change. Three processes when the index is warm.
 *
 * Nothing may be writing to the tree meanwhile; what is committed later is this tree object, so a late change is not in it.
 * @returns `evidence-refused`, naming every path, when the tree holds what a tree object cannot: a repository, a fifo, a
 * socket, a device, a link that leads out; `git-failed` otherwise
 */
export const snapshot = async (request: SnapshotRequest): Promise<Result<Snapshot>> => {
  if (!isPlainFolder(request.tree))
    return refuse(request, [{ path: '.', what: 'not a folder', subject: '.' }]);
  const [added, walked] = await Promise.all([addAll(request), walkTree(request.tree)]);
  const odd = await notIgnored(request, walked.odd);
  if (odd.length > 0) return refuse(request, odd);
  if (!added.ok) return notTaken(added);
  const index = readIndexPaths(request.index, request.store.format);
  const hidden = insideGitlinks(walked, index);
  if (hidden.length > 0) return refuse(request, hidden);
  const treeId = await runForText(request.git, command(request, ['write-tree']));
  if (!treeId.ok) return treeId;
  const rendered = await renderDiff({
    git: request.git,
    store: request.store,
    from: request.base,
    to: treeId.value,
    file: request.diffFile,
  });
  if (!rendered.ok) return rendered;
  const { records, ...diff } = rendered.value;
  const leaving = oddRecords(request, records);
  if (leaving.length > 0) return refuse(request, leaving);
  const ignored = walked.files.filter((path) => !index.paths.has(path)).toSorted();
  return ok({
    treeId: treeId.value,
    ...diff,
    records: records.map(({ pathBytes: _, ...record }) => record),
    recordsDigest: digestOfRecords(records),
    diffFile: request.diffFile,
    files: records.length,
    ignored: ignored.map(pathText),
    ignoredDigest: digestOf(asBytes(ignored.map((path) => `${path}\0`).join(''))),
  });
};

const command = (request: SnapshotRequest, args: readonly string[]): GitCommand => ({
  args,
  gitDir: request.store.path,
  workTree: request.tree,
  indexFile: request.index,
  cwd: request.tree,
});

const BROKEN_INDEX = /index file|bad (index|signature)|index uses .* extension/i;

const addAll = async (request: SnapshotRequest): Promise<Result<GitOutput>> => {
  // Left by a process that died; the ticket's lock is ours.
  rmSync(`${request.index}.lock`, { force: true });
  const fresh = !existsSync(request.index);
  const first = fresh ? await fromBase(request) : await add(request);
  if (fresh || first.ok || !BROKEN_INDEX.test(first.failure.message)) return first;
  rmSync(request.index);
  return fromBase(request);
};

/** Files that the base has and the ignore rules name stay in only when the index knows them. */
const fromBase = async (request: SnapshotRequest): Promise<Result<GitOutput>> => {
  mkdirSync(dirname(request.index), { recursive: true });
  const read = await run(request.git, command(request, ['read-tree', request.base]));
  return read.ok ? add(request) : read;
};

const add = (request: SnapshotRequest): Promise<Result<GitOutput>> =>
  run(request.git, command(request, ['add', '-A', '.']));

/** Ignored things are in no tree object, so they may be odd: a socket of a build daemon, a cached repository. */
const notIgnored = async (request: SnapshotRequest, odd: readonly Odd[]): Promise<Odd[]> => {
  if (odd.length === 0) return [];
  const checked = await run(request.git, {
    ...command(request, ['check-ignore', '-z', '--stdin', '--no-index']),
    input: asBytes(odd.map(({ subject }) => `${subject}\0`).join('')),
    answers: [1],
  });
  if (!checked.ok) return [...odd];
  const ignored = new Set(checked.value.stdout.toString('latin1').split('\0'));
  return odd.filter(({ subject }) => !ignored.has(subject));
};

/** git does not look below a gitlink, so files there would be in no diff. */
const insideGitlinks = (walked: Walked, index: IndexPaths): Odd[] => {
  if (index.gitlinks.length === 0) return [];
  const folders = index.gitlinks.map((path) => `${path}/`);
  return walked.files
    .filter((path) => folders.some((folder) => path.startsWith(folder)))
    .map((path) => ({ path, what: 'a file inside a submodule', subject: path }));
};

const oddRecords = (request: SnapshotRequest, records: readonly PathRecord[]): Odd[] => {
  const root = realpathSync.native(request.tree);
  const odd: Odd[] = [];
  for (const { newMode, pathBytes: path } of records) {
    if (newMode === '160000') odd.push({ path, what: 'a link to another repository', subject: path });
    if (newMode === '120000' && leavesTree(root, path)) {
      odd.push({ path, what: 'a symbolic link that leads out of the tree', subject: path });
    }
  }
  return odd;
};

const MAX_NAMED = 200;

const refuse = (request: SnapshotRequest, odd: readonly Odd[]) => {
  const lines = odd.slice(0, MAX_NAMED).map(({ path, what }) => `\`${pathText(path)}\` is ${what}`);
  if (odd.length > MAX_NAMED) lines.push(`and ${odd.length - MAX_NAMED} more`);
  return fail({
    kind: 'evidence-refused',
    message: `the working copy holds what cannot be reviewed and committed:\n${lines.join('\n')}`,
    where: request.tree,
    next: 'remove it, or add it to `.gitignore` if it does not belong to the work',
  });
};

const MACHINE_FAULT =
  /No space left|Input\/output error|\.lock|Read-only file system|could not be started|was ended by/;

/** What `git add` cannot take is a fault of the tree, unless the machine failed. */
const notTaken = (added: Extract<Result<GitOutput>, { ok: false }>) =>
  MACHINE_FAULT.test(added.failure.message)
    ? added
    : fail({
        ...added.failure,
        kind: 'evidence-refused',
        next: 'make every file of the working copy readable and its name acceptable to git, or remove it',
      });
