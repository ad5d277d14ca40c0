import { fail, ok, type Result } from '../model/result.js';
import { redact } from './git.js';
import { isBranchName } from './layout.js';
import { lookAtRemote, pushRef, type Remote } from './remote.js';

export interface PushCommitRequest extends Remote {
  /** Commit in the store, full id. */
  readonly commit: string;
  /** Name without `refs/heads/`. */
  readonly branch: string;
  /** Where we left the branch before; `undefined`: it must not exist. */
  readonly expected?: string | undefined;
  /** Branches that are never pushed to from here, the base branch above all. The remote's default branch is added. */
  readonly protect: readonly string[];
}

export interface Pushed {
  readonly ref: string;
  /** What the remote says the branch is, asked after the push. */
  readonly commit: string;
  /** The remote had it already. */
  readonly already: boolean;
}

/**
 * Pushes exactly this commit to exactly this branch at the frozen URL, then looks at the remote. Harmless when repeated.
 * @returns `usage` for a base or default branch, `git-failed` when somebody else made or moved the branch, or the remote
 * refuses or cannot be reached
 */
export const pushCommit = async (request: PushCommitRequest): Promise<Result<Pushed>> => {
  const { branch, commit } = request;
  if (!isBranchName(branch)) return wrongBranch(branch, 'is not a name for a branch');
  if (request.protect.includes(branch)) return wrongBranch(branch, 'is a branch that work lands on');
  const before = await lookAtRemote(request, [branch]);
  if (!before.ok) return before;
  if (before.value.defaultBranch === branch) return wrongBranch(branch, "is the remote's default branch");
  const ref = `refs/heads/${branch}`;
  if (before.value.heads.get(branch) === commit) return ok({ ref, commit, already: true });
  const outcome = await pushRef(request, { commit, branch, expected: request.expected });
  if (!outcome.ok) return outcome;
  const after = await lookAtRemote(request, [branch]);
  if (!after.ok) return after;
  const now = after.value.heads.get(branch);
  return now === commit ? ok({ ref, commit, already: false }) : notOurs(request, now);
};

const wrongBranch = (branch: string, why: string) =>
  fail({
    kind: 'usage',
    message: `\`${branch}\` ${why}, so a ticket is not pushed to it`,
    next: 'correct `branch` in targets.yaml, e.g. `orchestrate/{ticket}`',
  });

const notOurs = (request: PushCommitRequest, now: string | undefined) =>
  fail({
    kind: 'git-failed',
    message: `branch \`${request.branch}\` on the remote is ${now === undefined ? 'missing' : `at \`${now}\``}, not at our commit \`${request.commit}\`: somebody else made or moved it`,
    where: redact(request.url),
    next: 'look at that branch; rename or delete it on the remote, then run again',
  });
