import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RepositoryPaths } from '../model/git.js';
import { ok, type Result } from '../model/result.js';
import { type Git, run, runForText } from './git.js';
import { makeGitDir } from './layout.js';
import { fetchBranches, lookAtRemote, type Remote } from './remote.js';
import { readShallow } from './shallow.js';

/** Is `older` the same commit as `newer` or below it? A commit that the git directory has not got is nobody's ancestor. */
export const isAncestor = async (
  git: Git,
  gitDir: string,
  older: string,
  newer: string,
): Promise<boolean> => {
  const answer = await run(git, {
    args: ['merge-base', '--is-ancestor', older, newer],
    gitDir,
    answers: [1, 128],
  });
  return answer.ok && answer.value.code === 0;
};

/** Head of a branch of the user's repository; `undefined` when there is no such branch. */
export const branchHead = async (
  git: Git,
  paths: RepositoryPaths,
  branch: string,
): Promise<Result<string | undefined>> => {
  const ref = `refs/heads/${branch}`;
  // The pattern `a` finds `a/b` as well.
  const listed = await runForText(git, {
    args: ['for-each-ref', '--format=%(refname) %(objectname)', ref],
    gitDir: paths.gitDir,
  });
  if (!listed.ok) return listed;
  const line = listed.value.split('\n').find((text) => text.startsWith(`${ref} `));
  return ok(line?.slice(ref.length + 1));
};

export interface ContainmentQuestion {
  /** Any of these commits will do; full ids, in the user's repository or the store. */
  readonly commits: readonly string[];
  /** Branches of the remote that are looked at, without `refs/heads/`; those that it has not got are passed over. */
  readonly branches: readonly string[];
  /** Commits that the user's repository has, so that little is fetched. */
  readonly haves: readonly string[];
}

/**
 * The branch of the remote that contains one of the commits now, by ancestry: its head, or anywhere below. What has to be
 * fetched to tell goes into a short-lived git directory beside the store; neither the store nor the user's repository is
 * written.
 * @returns `undefined` in the value when none does; `git-failed` when the remote cannot be asked
 */
export const branchThatContains = async (
  remote: Remote,
  question: ContainmentQuestion,
): Promise<Result<string | undefined>> => {
  const look = await lookAtRemote(remote, question.branches);
  if (!look.ok) return look;
  const { heads } = look.value;
  const atHead = [...heads].find(([, head]) => question.commits.includes(head));
  if (atHead !== undefined) return ok(atHead[0]);
  return heads.size === 0 ? ok(undefined) : searchBelow(remote, question, [...heads.keys()]);
};

let counter = 0;

const searchBelow = async (
  remote: Remote,
  { commits, haves }: ContainmentQuestion,
  branches: readonly string[],
): Promise<Result<string | undefined>> => {
  counter += 1;
  const gitDir = join(remote.store.path, `tmp-look-${process.pid}-${counter}.git`);
  rmSync(gitDir, { recursive: true, force: true });
  try {
    makeScout(remote, gitDir, haves);
    const heads = await fetchBranches(remote, gitDir, branches);
    if (!heads.ok) return heads;
    for (const [branch, head] of heads.value) {
      if (await containsOne(remote.git, gitDir, commits, head)) return ok(branch);
    }
    return ok(undefined);
  } finally {
    rmSync(gitDir, { recursive: true, force: true });
  }
};

const containsOne = async (
  git: Git,
  gitDir: string,
  commits: readonly string[],
  head: string,
): Promise<boolean> => {
  for (const commit of commits) if (await isAncestor(git, gitDir, commit, head)) return true;
  return false;
};

/** Reads the objects of the user's repository and of the store, and writes its own. */
const makeScout = ({ store, paths }: Remote, gitDir: string, haves: readonly string[]): void => {
  makeGitDir({ path: gitDir, format: store.format, head: 'refs/heads/none', config: '', bare: true });
  const lenders = [join(paths.gitDir, 'objects'), join(store.path, 'objects')];
  writeFileSync(join(gitDir, 'objects', 'info', 'alternates'), `${lenders.join('\n')}\n`);
  for (const [position, have] of haves.entries()) {
    writeFileSync(join(gitDir, 'refs', 'heads', `have-${position}`), `${have}\n`);
  }
  const shallow = readShallow(paths.gitDir);
  if (shallow.length > 0) writeFileSync(join(gitDir, 'shallow'), `${shallow.join('\n')}\n`);
  mkdirSync(join(gitDir, 'refs', 'incoming'), { recursive: true });
};
