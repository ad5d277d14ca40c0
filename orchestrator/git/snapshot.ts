import { rmSync } from 'node:fs';
import { type Digest, digestOf } from '../model/digest.js';
import type { RawRecord } from '../model/git.js';
import { fail, ok, type Result } from '../model/result.js';
import { addAll, changeIndex, ignoredAmong, isGiven, overTree } from './add.js';
import { type ContentsRequest, lookAtContents, type Taken } from './contents.js';
import { renderDiff } from './diff.js';
import { runForText } from './git.js';
import { distrustSince, type IndexPaths, readIndexPaths } from './index-file.js';
import { asBytes, digestOfRecords, type PathRecord, pathText } from './records.js';
import { refuseAdd, refuseOdd } from './refusal.js';
import { storeProblem } from './store.js';
import { filledSubmodules, isInSubmodule, submodulesOf } from './submodules.js';
import { isPlainFolder, type Odd, type Walked, walkTree } from './walk.js';

export interface SnapshotRequest extends ContentsRequest {
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
  /**
   * What lies in the working copy and is not in the tree object: files that the ignore rules leave out, empty folders and
   * folders that the tree was given (both with a slash at the end). Sorted.
   */
  readonly ignored: readonly string[];
  readonly ignoredDigest: Digest;
  /** Those of them that the tree was not given. */
  readonly newIgnored: readonly string[];
}

/**
 * Turns the files of a working copy into a git tree object in the private store and renders its difference from the base.
 * The worker's own `.git` is not read: its index, configuration, hooks, filters, attributes, replaced objects and excludes
 * cannot hide a change. Four to six processes when the index is warm.
 *
 * Nothing may be writing to the tree meanwhile; what is committed later is this tree object, so a late change is not in it.
 * @returns `evidence-refused`, naming every path, when the tree holds what a tree object cannot: a repository, a fifo, a
 * socket, a device, a link that leads out, contents that a declared filter would not have stored; or when the store was
 * changed by something else; `git-failed` otherwise
 */
export const snapshot = async (request: SnapshotRequest): Promise<Result<Snapshot>> => {
  const taken = await takeSnapshot(request);
  // The index may know a repository in the tree as a link: it would pass over the files there when that is one no more.
  if (!taken.ok) rmSync(request.index, { force: true, recursive: true });
  return taken;
};

/** For clocks of file systems that lag a little. */
const MARGIN_S = 1;

const takeSnapshot = async (request: SnapshotRequest): Promise<Result<Snapshot>> => {
  const since = Math.floor(Date.now() / 1000) - MARGIN_S;
  const problem = storeProblem(request.store);
  if (problem !== undefined) return fail(problem);
  if (!isPlainFolder(request.tree))
    return refuseOdd(request.tree, [{ path: '.', what: 'not a folder', subject: '.' }]);
  const given = new Set(request.given?.map((path) => Buffer.from(path).toString('latin1')));
  const [added, walked] = await Promise.all([addAll(request), walkTree(request.tree, given)]);
  const odd = await oddOf(request, walked, added.ok ? added.value : undefined);
  if (!odd.ok) return odd;
  if (odd.value.length > 0) return refuseOdd(request.tree, odd.value);
  if (!added.ok) return refuseAdd(added);
  const taken = await takeWhole(request, added.value, walked);
  if (!taken.ok) return taken;
  const gitlinks = changedGitlinks(taken.value.rendered.records);
  if (gitlinks.length > 0) return refuseOdd(request.tree, gitlinks);
  distrustSince(request.index, request.store.format, since);
  const unfit = await lookAtContents(request, taken.value);
  if (!unfit.ok) return unfit;
  if (unfit.value.length > 0) return refuseOdd(request.tree, unfit.value);
  return ok({ ...described(request, taken.value), ...leftOut(request, walked, taken.value.index) });
};

const oddOf = async (
  request: SnapshotRequest,
  walked: Walked,
  index: IndexPaths | undefined,
): Promise<Result<Odd[]>> => {
  if (index === undefined && walked.odd.length === 0) return ok([]);
  const submodules = await submodulesOf(request, index ?? { gitlinks: gitlinksBefore(request) });
  if (!submodules.ok) return submodules;
  const others = walked.odd.filter(({ path }) => !isInSubmodule(path, submodules.value));
  return ok([...filledSubmodules(walked, submodules.value), ...(await notIgnored(request, others))]);
};

/** When `git add` failed: what the index has of old. */
const gitlinksBefore = ({ index, store }: SnapshotRequest): readonly string[] => {
  try {
    return readIndexPaths(index, store.format).gitlinks;
  } catch {
    return [];
  }
};

/** Ignored things are in no tree object, so they may be odd: a socket of a build daemon, a cached repository. */
const notIgnored = async (request: SnapshotRequest, odd: readonly Odd[]): Promise<Odd[]> => {
  const ignored = await ignoredAmong(
    request,
    odd.map(({ subject }) => subject),
  );
  return ignored.ok ? odd.filter(({ subject }) => !ignored.value.has(subject)) : [...odd];
};

/**
 * Makes the tree depend on the files alone, and not on what the index knows of an earlier snapshot: a file of the base that
 * was gone then and is back stays in, although an ignore rule names it; one that was new then and is ignored now is out.
 */
const takeWhole = async (
  request: SnapshotRequest,
  index: IndexPaths,
  walked: Walked,
): Promise<Result<Taken>> => {
  const taken = await take(request, index);
  if (!taken.ok) return taken;
  const { records } = taken.value.rendered;
  const back = presentAmong(pathsWith(records, 'D'), walked);
  const out = await outAmong(request, pathsWith(records, 'A'));
  if (!out.ok) return out;
  if (back.length === 0 && out.value.length === 0) return taken;
  const changed = await changeIndex(request, { add: back, remove: out.value });
  if (!changed.ok) return refuseAdd(changed);
  return take(request, readIndexPaths(request.index, request.store.format));
};

const pathsWith = (records: readonly PathRecord[], status: string): string[] =>
  records.filter((record) => record.status === status).map(({ pathBytes }) => pathBytes);

const presentAmong = (paths: readonly string[], { files }: Walked): string[] => {
  if (paths.length === 0) return [];
  const present = new Set(files);
  return paths.filter((path) => present.has(path));
};

const outAmong = async (
  request: SnapshotRequest,
  paths: readonly string[],
): Promise<Result<readonly string[]>> => {
  const ignored = await ignoredAmong(request, paths);
  if (!ignored.ok) return ignored;
  return ok(paths.filter((path) => ignored.value.has(path) || isGiven(request, path)));
};

const take = async (request: SnapshotRequest, index: IndexPaths): Promise<Result<Taken>> => {
  const treeId = await runForText(request.git, overTree(request, ['write-tree']));
  if (!treeId.ok) return treeId;
  const { git, store, base: from, diffFile: file } = request;
  const rendered = await renderDiff({ git, store, from, to: treeId.value, file });
  return rendered.ok ? ok({ treeId: treeId.value, index, rendered: rendered.value }) : rendered;
};

const changedGitlinks = (records: readonly PathRecord[]): Odd[] =>
  records
    .filter(({ newMode }) => newMode === '160000')
    .map(({ oldMode, pathBytes: path }) => ({
      path,
      what: oldMode === '160000' ? 'a submodule at another commit' : 'a link to another repository',
      subject: path,
      next: 'undo it: submodules are added and moved by hand, as what they name cannot be reviewed here',
    }));

const described = (request: SnapshotRequest, { treeId, rendered }: Taken) => {
  const { records, diffDigest, diffBytes, addedLines, removedLines } = rendered;
  return {
    treeId,
    records: records.map(({ pathBytes: _, ...record }) => record),
    recordsDigest: digestOfRecords(records),
    diffDigest,
    diffBytes,
    addedLines,
    removedLines,
    diffFile: request.diffFile,
    files: records.length,
  };
};

const leftOut = (request: SnapshotRequest, walked: Walked, index: IndexPaths) => {
  const gitlinks = new Set(index.gitlinks);
  const folders = [...walked.emptyFolders.filter((path) => !gitlinks.has(path)), ...walked.passedOver];
  const files = walked.files.filter((path) => !index.paths.has(path));
  const left = [...files, ...folders.map((path) => `${path}/`)].toSorted();
  const ignored = left.map(pathText);
  const given = new Set(request.given?.flatMap((path) => [path, `${path}/`]));
  return {
    ignored,
    ignoredDigest: digestOf(asBytes(left.map((path) => `${path}\0`).join(''))),
    newIgnored: ignored.filter((path) => !given.has(path)),
  };
};
