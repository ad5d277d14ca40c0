/** Why a tree may not be removed yet. Everything is asked before anything is removed. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Problem, type Failure } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Result } from '../model/result.js';
import { leftBehind } from '../machine/left-behind.js';
import { factOf, type RunState } from '../machine/run-state.js';
import { branchHead, branchThatContains, isAncestor } from '../git/ancestry.js';
import { openGit, redact, type Git } from '../git/git.js';
import { recordsBetween, treeOf } from '../git/read.js';
import { snapshot } from '../git/snapshot.js';
import { openStore, type Store } from '../git/store.js';
import { indexPath } from '../state/run-dir.js';

interface Context {
  readonly git: Git;
  readonly store: Store;
  readonly paths: RepositoryPaths;
  readonly run: RunState;
  readonly tree: string;
  /** Ignored files that the tree was given when it was made. */
  readonly given: readonly string[];
}

/**
 * Is all that the tree holds in git, and is our commit where it was to go?
 * @returns one line for the person: where the work is
 * @throws `Problem` with exit status 1 that names the work that would be lost
 */
export const requireSafe = async (
  env: NodeJS.ProcessEnv,
  paths: RepositoryPaths,
  { run, tree, given }: Pick<Context, 'run' | 'tree' | 'given'>,
): Promise<string> => {
  const context: Context = { git: openGit(paths, env), store: openStore(paths), paths, run, tree, given };
  const commit = leftBehind(run)?.commit;
  await requireCommitted(context, commit);
  return commit === undefined
    ? 'nothing was committed, and the tree is as the base has it'
    : requireShipped(context, commit);
};

const refuse = (run: RunState, failure: Pick<Failure, 'message' | 'where'>, next: string): Problem =>
  new Problem({
    kind: 'target-failed',
    ...failure,
    next: `nothing was removed: ${next}. \`orchestrate abandon --ticket ${run.ticket}\` gives the work up, then it may be cleaned`,
  });

const unwrap = <T>(run: RunState, result: Result<T>, doing: string): T => {
  if (result.ok) return result.value;
  const { message, where, next } = result.failure;
  throw refuse(
    run,
    { message: `${doing}: ${message}`, ...(where === undefined ? {} : { where }) },
    next ?? 'try again',
  );
};

const NAMED = 10;

const requireCommitted = async (context: Context, commit: string | undefined): Promise<void> => {
  const { git, store, run, tree } = context;
  const base = factOf(run, 'base') ?? '';
  const taken = await takeSnapshot(context, base);
  const of = async (id: string): Promise<string> =>
    unwrap(run, await treeOf({ git, store }, id), 'the tree cannot be compared');
  const known = commit ?? base;
  if (taken === (await of(known)) || taken === (await of(base))) return;
  const { records } = unwrap(
    run,
    await recordsBetween({ git, store }, known, taken),
    'the tree cannot be compared',
  );
  const paths = records.slice(0, NAMED).map(({ path }) => `\`${path}\``);
  if (records.length > NAMED) paths.push(`and ${records.length - NAMED} more`);
  throw refuse(
    run,
    { message: `the tree holds changes that are in no commit of ours: ${paths.join(', ')}`, where: tree },
    commit === undefined
      ? `\`orchestrate run --ticket ${run.ticket}\` goes on with them`
      : 'copy them out, or undo them',
  );
};

let counter = 0;

const takeSnapshot = async (
  { git, store, paths, run, tree, given }: Context,
  base: string,
): Promise<string> => {
  counter += 1;
  const diffFile = join(store.path, `tmp-clean-${process.pid}-${counter}.diff`);
  try {
    const taken = await snapshot({
      git,
      store,
      tree,
      base,
      index: indexPath(paths.mainRoot, run.ticket),
      given,
      diffFile,
    });
    return unwrap(run, taken, 'the tree cannot be looked at').treeId;
  } finally {
    rmSync(diffFile, { force: true });
  }
};

/** By ancestry: others may have pushed on top, the base may have got it by a merge, the branch may be deleted after that. */
const requireShipped = async (context: Context, commit: string): Promise<string> => {
  const { git, store, paths, run } = context;
  const left = leftBehind(run);
  const baseBranch = factOf(run, 'baseBranch');
  const branches = [...new Set([left?.branch, baseBranch].filter((name) => name !== undefined))];
  if (left?.remoteUrl === undefined) return requireOnBranch(context, commit, branches);
  const question = {
    // What landed may be a merge of ours, or a head that had our changes under another commit.
    commits: [commit, ...(left.landed === undefined || left.landed === commit ? [] : [left.landed])],
    branches,
    haves: [factOf(run, 'base'), commit].filter((id) => id !== undefined),
  };
  const found = unwrap(
    run,
    await branchThatContains({ git, store, paths, url: left.remoteUrl }, question),
    'whether the work is pushed or landed cannot be told',
  );
  if (found !== undefined)
    return `commit ${commit.slice(0, 12)} is in \`${found}\` on ${redact(left.remoteUrl)}`;
  const names = branches.map((name) => `\`${name}\``).join(' nor in ');
  throw refuse(
    run,
    {
      message: `commit ${commit.slice(0, 12)} is neither pushed nor landed: on the remote it is not in ${names}`,
      where: redact(left.remoteUrl),
    },
    `\`orchestrate run --ticket ${run.ticket}\` goes on, or push it by hand`,
  );
};

/** Without a remote the user's own repository is where the work goes. */
const requireOnBranch = async (
  { git, paths, run }: Context,
  commit: string,
  branches: readonly string[],
): Promise<string> => {
  for (const branch of branches) {
    const head = unwrap(run, await branchHead(git, paths, branch), 'the branches cannot be listed');
    if (head !== undefined && (await isAncestor(git, paths.gitDir, commit, head)))
      return `commit ${commit.slice(0, 12)} is in your branch \`${branch}\``;
  }
  const names = branches.map((name) => `\`${name}\``).join(' nor in ');
  throw refuse(
    run,
    {
      message: `there is no remote, and commit ${commit.slice(0, 12)} is not in ${names} here`,
      where: paths.mainRoot,
    },
    'make a branch of it',
  );
};
