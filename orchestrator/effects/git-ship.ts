import { Problem } from '../model/failure.js';
import { ok } from '../model/result.js';
import { expectedHere, expectedOnRemote } from '../machine/left-behind.js';
import { factOf } from '../machine/run-state.js';
import { commitTree, readBack } from '../git/commit.js';
import { redact, type Git } from '../git/git.js';
import { land } from '../git/land.js';
import { publishBranch } from '../git/publish.js';
import { pushCommit } from '../git/push.js';
import { storeProblem, type Store } from '../git/store.js';
import { crossing } from '../state/crossing.js';
import { underOneOf } from './old-values.js';
import type { TicketRun } from './ticket-run.js';
import type { Workspace } from './workspace.js';

/** Git, the private store, and where the ticket's files are. */
export interface GitContext {
  readonly run: TicketRun;
  readonly git: Git;
  readonly store: Store;
  readonly trees: string;
  readonly index: string;
}

/** @throws `Problem` `internal`: a target ran before the one that finds this out */
export const required = <T>(value: T | undefined, what: string): T => {
  if (value !== undefined) return value;
  throw new Problem({ kind: 'internal', message: `the record has no ${what}` });
};

/**
 * Facts of Target 1 that commit, push and land stand on.
 * @throws `Problem` `evidence-refused` when the settings of the store, which git obeys, are not ours any more
 */
const frozenFacts = ({ run, store }: GitContext) => {
  const problem = storeProblem(store);
  if (problem !== undefined) throw new Problem(problem);
  const state = run.recorder.run;
  return {
    branch: required(factOf(state, 'branch'), 'branch'),
    author: required(factOf(state, 'author'), 'author'),
    baseBranch: factOf(state, 'baseBranch'),
    remoteUrl: factOf(state, 'remoteUrl'),
  };
};

const protectedBranches = (baseBranch: string | undefined): string[] =>
  baseBranch === undefined ? [] : [baseBranch];

/** One commit of the reviewed tree object, brought into the user's repository as the ticket's branch. */
export const commitReviewed: Bound<Workspace['commit']> = async (context, { receipt, message, date }) => {
  const { git, store, run } = context;
  const { branch, author, baseBranch } = frozenFacts(context);
  const { base } = receipt;
  const made = await commitTree({ git, store, tree: receipt.tree, parents: [base], message, author, date });
  if (!made.ok) return made;
  crossing('git commit made, not published');
  const protect = protectedBranches(baseBranch);
  const published = await underOneOf(expectedHere(run.recorder.run), (expected) =>
    publishBranch({ git, store, paths: run.paths, commit: made.value, base, branch, protect, expected }),
  );
  return published.ok ? ok({ commit: made.value, branch }) : published;
};

export const pushReviewed: Bound<Workspace['push']> = async (context, commit, receipt) => {
  const { git, store, run } = context;
  const { branch, baseBranch, remoteUrl } = frozenFacts(context);
  const url = required(remoteUrl, 'remote');
  const reviewed = await readBack({ git, store, tree: receipt.tree, parents: [receipt.base] }, commit);
  if (!reviewed.ok) return reviewed;
  const protect = protectedBranches(baseBranch);
  const pushed = await underOneOf(expectedOnRemote(run.recorder.run), (expected) =>
    pushCommit({ git, store, paths: run.paths, url, commit, branch, protect, expected }),
  );
  return pushed.ok ? ok({ head: pushed.value.commit, url: redact(url) }) : pushed;
};

export const landReviewed: Bound<Workspace['land']> = async (context, { commit, receipt, message, date }) => {
  const { git, store, run } = context;
  const { author, baseBranch, remoteUrl } = frozenFacts(context);
  const landed = await land({
    git,
    store,
    paths: run.paths,
    url: remoteUrl,
    baseBranch,
    base: receipt.base,
    commit,
    recordsDigest: receipt.records,
    message,
    author,
    date,
  });
  if (!landed.ok) return landed;
  const { how, commit: brought, head } = landed.value;
  return ok({ landed: brought, how: `${HOW[how]}: ${baseBranch ?? ''} is at ${head.slice(0, 12)}` });
};

const HOW = {
  'fast-forward': 'fast-forward',
  merge: 'merged with a base that had moved',
  already: 'it was there already',
} as const;

type Bound<F extends (...args: never[]) => unknown> = (
  context: GitContext,
  ...args: Parameters<F>
) => ReturnType<F>;
