import type { Digest } from '../model/digest.js';
import { fail, ok, type Result } from '../model/result.js';
import { commitTree } from './commit.js';
import { type Git, redact, run } from './git.js';
import { transferPack } from './pack.js';
import { lazyFetching } from './partial.js';
import { type Records, recordsBetween, treeOf } from './read.js';
import { pathText, shownPath } from './records.js';
import type { RepositoryPaths } from '../model/git.js';
import { updateShallow } from './shallow.js';
import type { Store } from './store.js';
import type { Identity } from './user-config.js';

export interface MergeRequest {
  readonly git: Git;
  readonly store: Store;
  readonly paths: RepositoryPaths;
  readonly url: string;
  readonly baseBranch: string;
  readonly base: string;
  readonly commit: string;
  /** Where the base branch is now: a descendant of `base`, in the user's object database. */
  readonly onto: string;
  readonly recordsDigest: Digest;
  readonly message: string;
  readonly author: Identity;
  readonly date: string;
}

/**
 * Merges the reviewed commit into a base that moved, in the store: no attributes, no driver, no rerere, no renames. A
 * merge commit is made only when it adds to the new base exactly what was reviewed.
 * @returns the merge commit, or `already` when the new base holds every reviewed change (a squash merge by hand);
 * `land-failed` on a conflict, `evidence-refused` when reviewed bytes would change
 */
export const mergeReviewed = async (
  request: MergeRequest,
): Promise<Result<{ readonly how: 'merge' | 'already'; readonly commit: string }>> => {
  const { onto, commit } = request;
  const brought = await bring(request);
  if (!brought.ok) return brought;
  const ontoTree = await treeOf(request, onto);
  if (!ontoTree.ok) return ontoTree;
  const merged = await mergeTrees(request, ontoTree.value);
  if (!merged.ok) return merged;
  if (merged.value === ontoTree.value) return ok({ how: 'already', commit: onto });
  const records = await recordsBetween(request, onto, merged.value);
  if (!records.ok) return records;
  if (records.value.digest !== request.recordsDigest) return notReviewed(request, records.value);
  const made = await commitTree({ ...request, tree: merged.value, parents: [onto, commit] });
  return made.ok ? ok({ how: 'merge', commit: made.value }) : made;
};

/** Names the paths whose records are not the reviewed ones. */
const notReviewed = async (request: MergeRequest, merged: Records) => {
  const reviewed = await recordsBetween(request, request.base, request.commit);
  if (!reviewed.ok) return reviewed;
  const before = pathsByRecord(reviewed.value);
  const now = pathsByRecord(merged);
  const others = [...before, ...now].filter(([record]) => !before.has(record) || !now.has(record));
  const paths = [...new Set(others.map(([, path]) => path))];
  return fail({
    kind: 'evidence-refused',
    message: `\`${request.baseBranch}\` moved and changed the same files, so the merged work is not what was reviewed:\n${paths.map(shownPath).join('\n')}`,
    where: redact(request.url),
    next: 'it needs review again on the new base: `orchestrate run --rebuild ticket`',
  });
};

const pathsByRecord = ({ records }: Records): ReadonlyMap<string, string> =>
  new Map(records.map((record) => [JSON.stringify(record), record.path]));

/** The new base comes into the store without its history, which merging does not need. */
const bring = async ({ git, store, paths, base, onto }: MergeRequest): Promise<Result<unknown>> => {
  await updateShallow(store.path, { add: [onto], drop: [] });
  return transferPack({
    git,
    from: paths.gitDir,
    to: store.path,
    revisions: [`--shallow ${onto}`, onto, `^${base}`],
    scratch: store.path,
    loose: false,
    reading: await lazyFetching(git, paths),
  });
};

/**
 * Three-way merge with `base` as the merge base. As the store has no history between `base` and `onto`, a commit of
 * `onto`'s tree on top of `base` stands in for it; `--merge-base` would need git 2.40.
 */
const mergeTrees = async (request: MergeRequest, ontoTree: string): Promise<Result<string>> => {
  const standIn = await commitTree({ ...request, tree: ontoTree, parents: [request.base], message: 'base' });
  if (!standIn.ok) return standIn;
  const merged = await run(request.git, {
    args: ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', standIn.value, request.commit],
    gitDir: request.store.path,
    answers: [1],
  });
  if (!merged.ok) return merged;
  const [tree = '', ...names] = merged.value.stdout.toString('latin1').split('\0');
  if (merged.value.code === 0) return ok(tree);
  const paths = names.filter((name) => name !== '').map((name) => shownPath(pathText(name)));
  return fail({
    kind: 'land-failed',
    message: `\`${request.baseBranch}\` moved and conflicts with this work:\n${paths.join('\n')}`,
    where: redact(request.url),
    next: 'make the work again on the new base: `orchestrate run --rebuild ticket`',
  });
};
