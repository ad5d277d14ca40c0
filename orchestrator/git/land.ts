import type { Digest } from '../model/digest.js';
import type { Failure } from '../model/failure.js';
import { fail, ok, type Result } from '../model/result.js';
import { redact, run } from './git.js';
import { mergeReviewed } from './merge.js';
import { recordsBetween } from './read.js';
import { fetchHead, lookAtRemote, pushRef, type Remote } from './remote.js';
import type { Identity } from './user-config.js';

export interface LandRequest extends Omit<Remote, 'url'> {
  /** Frozen URL; without it there is nowhere to land. */
  readonly url: string | undefined;
  /** Name without `refs/heads/`; `undefined` when the ticket started from no branch. */
  readonly baseBranch: string | undefined;
  /** Commit that the ticket started from. */
  readonly base: string;
  /** The reviewed commit; its only parent is `base`. */
  readonly commit: string;
  /** Of the receipt: what was reviewed. */
  readonly recordsDigest: Digest;
  /** Message, author and date (ISO 8601) of a merge commit, should one be needed. */
  readonly message: string;
  readonly author: Identity;
  readonly date: string;
}

export interface Landed {
  /** `already`: the base branch contained the work before we did anything. */
  readonly how: 'fast-forward' | 'merge' | 'already';
  /** The commit that brought the work in: ours, or our merge of it; for `already` the head that contains it. */
  readonly commit: string;
  /** Head of the base branch as the remote says, asked after the push. */
  readonly head: string;
}

interface Target extends LandRequest {
  readonly url: string;
  readonly baseBranch: string;
}

/** Times that the base may move between our look and our push before we give up. */
const MAX_ROUNDS = 5;

/**
 * Lands the reviewed commit on the base branch of the remote: as it is when the branch has not moved, else as a merge,
 * and only when the merged tree adds exactly the records that were reviewed. Every push is under a lease with an explicit
 * value and is followed by a look. Harmless when repeated.
 * @returns `land-failed` for a conflict (paths named), a rewritten base or a base that keeps moving; `evidence-refused`
 * when the merge would change a reviewed byte; `git-failed` when the remote refuses or cannot be reached
 */
export const land = async (request: LandRequest): Promise<Result<Landed>> => {
  const { url, baseBranch } = request;
  if (url === undefined || baseBranch === undefined) return nowhere(request);
  const target: Target = { ...request, url, baseBranch };
  const reviewed = await recordsBetween(request, request.base, request.commit);
  if (!reviewed.ok) return reviewed;
  if (reviewed.value.digest !== request.recordsDigest) {
    return fail({
      kind: 'evidence-refused',
      message: `commit \`${request.commit}\` does not hold the changes that were reviewed`,
      next: 'run again: the work must be reviewed as it is now',
    });
  }
  return rounds(target);
};

const rounds = async (target: Target): Promise<Result<Landed>> => {
  let pushed: Plan | undefined;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const head = await headOf(target);
    if (!head.ok) return head;
    const plan: Result<Plan> = pushed?.commit === head.value ? ok(pushed) : await planFor(target, head.value);
    if (!plan.ok) return plan;
    // After our own push the work is there: under our commit, or below one that came after it.
    if (plan.value.how === 'already' || plan.value === pushed) {
      const { how, commit } = pushed ?? plan.value;
      return ok({ how, commit, head: head.value });
    }
    const { commit, onto: expected } = plan.value;
    const outcome = await pushRef(target, { commit, branch: target.baseBranch, expected });
    if (!outcome.ok) return outcome;
    pushed = outcome.value === 'pushed' ? plan.value : undefined;
  }
  return fail({
    kind: 'land-failed',
    message: `\`${target.baseBranch}\` moved ${MAX_ROUNDS} times while this was landing`,
    where: redact(target.url),
    next: 'run again when the branch is quieter',
  });
};

interface Plan extends Pick<Landed, 'how' | 'commit'> {
  /** Head of the base branch that this was made for: the value of the lease. */
  readonly onto: string;
}

const headOf = async (target: Target): Promise<Result<string>> => {
  const look = await lookAtRemote(target, [target.baseBranch]);
  if (!look.ok) return look;
  const head = look.value.heads.get(target.baseBranch);
  if (head !== undefined) return ok(head);
  return refuse(target, {
    message: `the remote has no branch \`${target.baseBranch}\` to land on`,
    next: `create it: \`git push ${redact(target.url)} ${target.baseBranch}\``,
  });
};

const planFor = async (target: Target, head: string): Promise<Result<Plan>> => {
  if (head === target.commit) return ok({ how: 'already', commit: head, onto: head });
  if (head === target.base) return ok({ how: 'fast-forward', commit: target.commit, onto: head });
  const fetched = await fetchHead(target, { branch: target.baseBranch, haves: [target.base] });
  if (!fetched.ok) return fetched;
  // It may have moved on since the look; the lease names this one.
  const onto = fetched.value;
  const hasWork = await isAncestor(target, target.commit, onto);
  if (!hasWork.ok) return hasWork;
  if (hasWork.value) return ok({ how: 'already', commit: onto, onto });
  const isBelow = await isAncestor(target, target.base, onto);
  if (!isBelow.ok) return isBelow;
  if (!isBelow.value) return notBelow(target, onto);
  const merged = await mergeReviewed({ ...target, onto });
  return merged.ok ? ok({ ...merged.value, onto }) : merged;
};

const UNKNOWN_COMMIT = /Not a valid (?:commit|object) name/;

/** In the user's repository, which has the whole history. A commit that it has not got is nobody's ancestor there. */
const isAncestor = async (target: Target, older: string, newer: string): Promise<Result<boolean>> => {
  const answer = await run(target.git, {
    args: ['merge-base', '--is-ancestor', older, newer],
    gitDir: target.paths.gitDir,
    answers: [1, 128],
  });
  if (!answer.ok) return answer;
  const { code, stderr } = answer.value;
  if (code !== 128 || UNKNOWN_COMMIT.test(stderr)) return ok(code === 0);
  return fail({
    kind: 'git-failed',
    message: `git cannot tell whether \`${newer}\` contains \`${older}\`: ${stderr}`,
    where: target.paths.gitDir,
    next: 'see that `git fsck` finds nothing wrong with this repository, then run again',
  });
};

const notBelow = async (target: Target, head: string) => {
  const isBehind = await isAncestor(target, head, target.base);
  if (!isBehind.ok) return isBehind;
  return isBehind.value
    ? refuse(target, {
        message: `\`${target.baseBranch}\` on the remote is behind \`${target.base}\`, where this ticket started: landing would publish commits that were not reviewed`,
        next: `push your own commits of \`${target.baseBranch}\` first, then run again`,
      })
    : refuse(target, {
        message: `\`${target.baseBranch}\` on the remote no longer contains \`${target.base}\`, where this ticket started: its history was rewritten`,
        next: 'start the ticket again from the new base: `orchestrate run --rebuild ticket`',
      });
};

const refuse = (target: Target, failure: Pick<Failure, 'message' | 'next'>) =>
  fail({ kind: 'land-failed', where: redact(target.url), ...failure });

const nowhere = ({ url }: LandRequest) =>
  fail({
    kind: 'land-failed',
    message:
      url === undefined
        ? 'there is no remote to land on'
        : 'the ticket started from a commit on no branch, so there is no branch to land on',
    next:
      url === undefined
        ? 'add one (`git remote add origin URL`) and start the ticket again, or merge the branch by hand'
        : 'set `base` in targets.yaml and start the ticket again, or merge the branch by hand',
  });
