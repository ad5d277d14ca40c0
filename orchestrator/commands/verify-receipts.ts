/** Receipts, commits and the branch against git objects. Nothing here asks a remote or writes to a repository. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../model/failure.js';
import type { Receipt } from '../model/event.js';
import type { RepositoryPaths } from '../model/git.js';
import { leftBehind } from '../machine/left-behind.js';
import { factOf, type RunState } from '../machine/run-state.js';
import { branchHead, isAncestor } from '../git/ancestry.js';
import { renderDiff, type RenderedDiff } from '../git/diff.js';
import { openGit, type Git } from '../git/git.js';
import { inspectObjects, type CommitFacts, type Inspection, type Root } from '../git/objects.js';
import { writePages } from '../git/pages.js';
import { digestOfRecords } from '../git/records.js';
import { openStore, type Store } from '../git/store.js';
import { storePath } from '../state/run-dir.js';
import { failed, held, untold, type Check } from './verify-check.js';
import type { CommitClaim, Evidence, SeenReceipt } from './verify-evidence.js';

interface Context {
  readonly git: Git;
  readonly store: Store;
  readonly inspection: Inspection;
  readonly evidence: GitEvidence;
  /** For rendered diffs; removed afterwards. */
  readonly scratch: string;
}

/** Of all epochs, the oldest first. */
export type GitEvidence = Pick<Evidence, 'receipts' | 'plans' | 'commits'>;

const STORE = 'private store';

/** No rows when the journal claims nothing about git. */
export const gitChecks = async (
  env: NodeJS.ProcessEnv,
  paths: RepositoryPaths,
  run: RunState,
  evidence: GitEvidence,
): Promise<Check[]> => {
  const roots = rootsOf(run, evidence);
  if (roots.length === 0) return [];
  const git = openGit(paths, env);
  const store = openExisting(paths);
  const branch = await branchChecks(git, paths, run);
  if ('ok' in store) return [store, ...branch];
  const inspection = await inspectObjects({ git, store }, roots);
  const scratch = await mkdtemp(join(tmpdir(), 'orchestrate-verify-'));
  try {
    const context = { git, store, inspection, evidence, scratch };
    const checks = [
      held(STORE, `its settings are ours; ${roots.length} roots were read`),
      ...baseChecks(context, run),
    ];
    for (const seen of evidence.receipts.values()) checks.push(await receiptCheck(context, seen));
    return [...checks, ...distinct(evidence.commits).map((claim) => commitCheck(context, claim)), ...branch];
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

/** A rebuild records again what it keeps. */
const distinct = (claims: readonly CommitClaim[]): CommitClaim[] => [
  ...new Map(claims.map((claim) => [`${claim.commit} ${claim.receipt?.tree ?? ''}`, claim])).values(),
];

const rootsOf = (run: RunState, evidence: GitEvidence): Root[] => {
  const receipts = [...evidence.receipts.values()].map(({ receipt }) => receipt);
  const base = factOf(run, 'base');
  const commits = new Set([
    ...(base === undefined ? [] : [base]),
    ...receipts.map((receipt) => receipt.base),
    ...evidence.commits.map(({ commit }) => commit),
  ]);
  const trees = new Set(receipts.map(({ tree }) => tree));
  return [
    ...[...commits].map((id) => ({ id, type: 'commit' }) as const),
    ...[...trees].map((id) => ({ id, type: 'tree' }) as const),
  ];
};

/** The store must not be made by looking for it, and one that somebody set up differently is not read with git. */
const openExisting = (paths: RepositoryPaths): Store | Check => {
  if (!existsSync(storePath(paths.mainRoot)))
    return failed(STORE, 'is gone: no receipt, commit or tree can be proved');
  try {
    return openStore(paths);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return failed(STORE, `${error.failure.message}; receipts and commits were not looked at`);
  }
};

const problemsOf = ({ inspection }: Context, id: string): readonly string[] =>
  inspection.problems.get(id) ?? [`object ${id} was not looked at`];

/** The base as document 10 names it; a ticket without a receipt has nothing else. */
const baseChecks = (context: Context, run: RunState): Check[] => {
  const base = factOf(run, 'base');
  if (base === undefined) return [];
  const problems = problemsOf(context, base);
  return [
    problems.length === 0
      ? held(`base ${base.slice(0, 12)}`, 'every object is what its id says')
      : failed(`base ${base.slice(0, 12)}`, problems.join('; ')),
  ];
};

const receiptCheck = async (context: Context, { name, receipt, seq }: SeenReceipt): Promise<Check> => {
  const row = `receipt ${name}`;
  const damaged = [...new Set([...problemsOf(context, receipt.base), ...problemsOf(context, receipt.tree)])];
  const plan = unknownPlan(context.evidence, receipt);
  // A diff of damaged trees would prove nothing.
  const problems = damaged.length > 0 ? damaged : await diffProblems(context, receipt);
  const all = [...problems, ...plan];
  if (all.length > 0) return failed(row, `journal line ${seq}: ${all.join('; ')}`);
  const { files, addedLines, removedLines } = receipt;
  return held(
    row,
    `tree ${receipt.tree.slice(0, 12)} on base ${receipt.base.slice(0, 12)}: ${files} files, +${addedLines} -${removedLines}, rendered again`,
  );
};

const unknownPlan = ({ plans }: GitEvidence, { plan }: Receipt): string[] =>
  plan === undefined || plans.has(plan) ? [] : [`its plan ${plan} was never sealed`];

const diffProblems = async (context: Context, receipt: Receipt): Promise<string[]> => {
  const { git, store, scratch } = context;
  const file = join(scratch, 'branch.diff');
  const rendered = await renderDiff({ git, store, from: receipt.base, to: receipt.tree, file });
  if (!rendered.ok) return [rendered.failure.message];
  const pages = (await writePages(file, join(scratch, 'pages'))).map(({ digest }) => digest);
  return differences(receipt, rendered.value, pages);
};

const differences = (receipt: Receipt, rendered: RenderedDiff, pages: readonly string[]): string[] => {
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['digest of the diff', receipt.diff, rendered.diffDigest],
    ['bytes of the diff', receipt.diffBytes, rendered.diffBytes],
    ['digest of the raw records', receipt.records, digestOfRecords(rendered.records)],
    ['number of files', receipt.files, rendered.records.length],
    ['count of added lines', receipt.addedLines, rendered.addedLines],
    ['count of removed lines', receipt.removedLines, rendered.removedLines],
    ['pages', receipt.pages.join(' '), pages.join(' ')],
  ];
  return pairs
    .filter(([, claimed, found]) => claimed !== found)
    .map(([what]) => `the ${what} is not that of base and tree`);
};

/** What was committed is what was approved, on the base that it was approved for. */
const commitCheck = (context: Context, { commit, receipt, seq }: CommitClaim): Check => {
  const row = `commit ${commit.slice(0, 12)}`;
  const broken = problemsOf(context, commit);
  if (broken.length > 0) return failed(row, broken.join('; '));
  if (receipt === undefined) return failed(row, `journal line ${seq}: no receipt stands behind it`);
  if (commit === receipt.base) {
    return receipt.files === 0
      ? held(row, 'nothing was to be committed: it is the base')
      : failed(row, 'is the base, but the receipt has changes');
  }
  const problems = commitProblems(context.inspection.commits.get(commit), receipt);
  if (problems.length > 0) return failed(row, problems.join('; '));
  return held(row, `tree ${receipt.tree.slice(0, 12)} as approved, parent ${receipt.base.slice(0, 12)}`);
};

const commitProblems = (facts: CommitFacts | undefined, { tree, base }: Receipt): string[] => {
  if (facts === undefined) return ['it is not a commit'];
  const parents = facts.parents.join(', ');
  return [
    ...(facts.tree === tree ? [] : [`its tree is ${facts.tree}, not ${tree} as approved`]),
    ...(parents === base ? [] : [`its parent is ${parents === '' ? 'none' : parents}, not the base ${base}`]),
  ];
};

/** The branch in the user's repository is where this ticket left it, or where it is now is said. */
const branchChecks = async (git: Git, paths: RepositoryPaths, run: RunState): Promise<Check[]> => {
  const { branch, commit, landed } = leftBehind(run) ?? {};
  if (branch === undefined || commit === undefined) return [];
  const row = `branch ${branch}`;
  const head = await branchHead(git, paths, branch);
  if (!head.ok) return [untold(row, head.failure.message)];
  if (head.value === commit) return [held(row, `is at our commit ${commit.slice(0, 12)}`)];
  if (head.value === undefined) {
    return [
      landed === undefined
        ? failed(row, `is gone; our commit is ${commit}`)
        : held(row, `is gone; the work was landed as ${landed.slice(0, 12)}`),
    ];
  }
  const isBelow = await isAncestor(git, paths.gitDir, commit, head.value);
  return [
    failed(
      row,
      `moved: it is at ${head.value}, which ${isBelow ? 'contains' : 'does not contain'} our commit ${commit}`,
    ),
  ];
};
