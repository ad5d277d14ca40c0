import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RepositoryPaths } from '../model/git.js';
import { fail, ok, type Result } from '../model/result.js';
import { type Git, run, runForText } from './git.js';
import { isBranchName } from './layout.js';
import { transferPack } from './pack.js';
import type { Store } from './store.js';
import { crossing } from '../state/crossing.js';

export interface PublishRequest {
  readonly git: Git;
  readonly store: Store;
  readonly paths: RepositoryPaths;
  /** Commit in the store, full id. */
  readonly commit: string;
  /** Its base, which the user's repository has. */
  readonly base: string;
  /** Name without `refs/heads/`. */
  readonly branch: string;
  /** Branches that are never written, the base branch above all. */
  readonly protect: readonly string[];
  /** Where we left the branch before; `undefined`: it must not exist. */
  readonly expected?: string | undefined;
}

/**
 * Brings a commit into the user's repository as a branch. Their checkout, index, stash, HEAD, configuration and other
 * refs are not touched, and no hook runs. Harmless when repeated.
 *
 * A branch that somebody else made, moved or has checked out is never adopted or overwritten.
 * @returns whether the branch was there already; `usage` or `git-failed` when the branch cannot be ours
 */
export const publishBranch = async (
  request: PublishRequest,
): Promise<Result<{ readonly already: boolean }>> => {
  const { branch, paths } = request;
  if (!isBranchName(branch) || request.protect.includes(branch)) {
    return fail({
      kind: 'usage',
      message: `${JSON.stringify(branch)} cannot be the branch of a ticket`,
      next: 'correct `branch` in targets.yaml, e.g. `orchestrate/{ticket}`',
    });
  }
  const user = checkoutOf(paths, branch);
  if (user !== undefined) {
    const current = await currentOf(request);
    if (current.ok && current.value === request.commit) return ok({ already: true });
    return fail({
      kind: 'git-failed',
      message: `branch \`${branch}\` is in use by a checkout (\`${user}\`), so it is not moved`,
      where: paths.mainRoot,
      next: 'switch that checkout to another branch, then run again',
    });
  }
  const moved = await transferPack({
    git: request.git,
    from: request.store.path,
    to: paths.gitDir,
    revisions: [request.commit, `^${request.base}`],
    scratch: request.store.path,
    loose: true,
  });
  crossing('git objects published, not the branch');
  return moved.ok ? updateRef(request) : moved;
};

const updateRef = async (request: PublishRequest): Promise<Result<{ readonly already: boolean }>> => {
  const ref = `refs/heads/${request.branch}`;
  const none = '0'.repeat(request.commit.length);
  const updated = await run(request.git, {
    args: ['update-ref', '--no-deref', '-m', 'orchestrate', ref, request.commit, request.expected ?? none],
    gitDir: request.paths.gitDir,
    env: { GIT_COMMITTER_NAME: 'orchestrate', GIT_COMMITTER_EMAIL: 'orchestrate@localhost' },
  });
  if (updated.ok) return ok({ already: false });
  const current = await currentOf(request);
  if (!current.ok || current.value === '' || current.value === request.expected) return updated;
  if (current.value === request.commit) return ok({ already: true });
  return fail({
    kind: 'git-failed',
    message: `branch \`${request.branch}\` is at \`${current.value}\`, which this run did not put there`,
    where: request.paths.mainRoot,
    next: `keep it under another name (\`git branch -m ${request.branch} NAME\`) or delete it, then run again`,
  });
};

/** Empty when the branch does not exist. */
const currentOf = (request: PublishRequest): Promise<Result<string>> =>
  runForText(request.git, {
    // Not `for-each-ref`, which takes `X/…` for `X` as well.
    args: ['rev-parse', '--verify', '--quiet', `refs/heads/${request.branch}^{commit}`],
    gitDir: request.paths.gitDir,
    answers: [1],
  });

/** Files that say which branch a worktree holds, during a rebase or bisect too. Source: git's `branch_checked_out`. */
const HOLDERS = ['HEAD', 'rebase-merge/head-name', 'rebase-apply/head-name', 'BISECT_START'];

/** The git directory of the worktree that holds the branch. */
const checkoutOf = (paths: RepositoryPaths, branch: string): string | undefined => {
  const worktrees = join(paths.gitDir, 'worktrees');
  const linked = existsSync(worktrees) ? readdirSync(worktrees).map((name) => join(worktrees, name)) : [];
  return [paths.gitDir, ...linked].find((gitDir) =>
    HOLDERS.some((name) => branchIn(join(gitDir, name)) === branch),
  );
};

const branchIn = (file: string): string | undefined => {
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, 'utf8').trim();
  return text.replace(/^ref: /, '').replace(/^refs\/heads\//, '');
};
