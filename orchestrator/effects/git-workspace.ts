import { existsSync, lstatSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { Problem } from '../model/failure.js';
import type { Facts, Receipt } from '../model/event.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline } from '../model/pipeline.js';
import { fail, ok, type Result } from '../model/result.js';
import { expectedHere, expectedOnRemote } from '../machine/left-behind.js';
import { factOf } from '../machine/run-state.js';
import { resolveBase } from '../git/base.js';
import { checkoutTree } from '../git/checkout.js';
import { commitTree } from '../git/commit.js';
import { openGit, redact, runForText, type Git } from '../git/git.js';
import { importCommit } from '../git/import.js';
import { land } from '../git/land.js';
import { writePages } from '../git/pages.js';
import { publishBranch } from '../git/publish.js';
import { pushCommit } from '../git/push.js';
import { recordsBetween } from '../git/read.js';
import { removeTree } from '../git/remove.js';
import { checkoutGitDir } from '../git/repository.js';
import { snapshot, type Snapshot } from '../git/snapshot.js';
import { openStore, type Store } from '../git/store.js';
import { cloneTree } from '../git/tree.js';
import { identityOf, readUserConfig, remoteUrls } from '../git/user-config.js';
import { crossing } from '../state/crossing.js';
import { checkoutsFolder, treesFolder } from '../state/home.js';
import { indexPath } from '../state/run-dir.js';
import { underOneOf } from './old-values.js';
import type { Sealed, Workspace } from './workspace.js';
import type { TicketRun } from './ticket-run.js';

/**
 * What a first run needs of the user's repository, asked before anything is made.
 * @throws `Problem` `git-missing`, `no-commits`, or `usage` when git does not know who commits
 */
export const requireBase = async (env: NodeJS.ProcessEnv, paths: RepositoryPaths, pipeline: Pipeline): Promise<void> => {
  const git = openGit(paths, env);
  const head = await runForText(git, {
    args: ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'],
    gitDir: checkoutGitDir(paths),
    answers: [1],
  });
  if (!head.ok) throw new Problem(head.failure);
  if (head.value === '' && pipeline.settings.base === undefined) {
    throw new Problem({
      kind: 'no-commits',
      message: 'the repository has no commits, so there is nothing to start from',
      where: paths.root,
      next: 'make a first commit: `git add -A && git commit -m "Start"`',
    });
  }
  const config = await readUserConfig(git, paths);
  identityOf(config);
  requireRemote(pipeline, remoteUrls(config, pipeline.settings.remote, paths) !== undefined);
};

/** Found now, and not after an hour of work. */
const requireRemote = (pipeline: Pipeline, hasRemote: boolean): void => {
  const needing = pipeline.targets.find(({ recipe }) => recipe.kind === 'builtin' && ['push', 'land'].includes(recipe.builtin));
  if (hasRemote || needing === undefined) return;
  const { remote } = pipeline.settings;
  throw new Problem({
    kind: 'usage',
    message: `target \`${needing.name}\` needs the remote \`${remote}\`, which this repository does not have`,
    next: `\`git remote add ${remote} URL\`, or drop the targets in a targets.yaml that says \`extends: builtin\` and \`push: null\`, \`land: null\``,
  });
};

/** Where a branch of the user's repository is; `undefined` when there is none. */
export const branchHead = async (env: NodeJS.ProcessEnv, paths: RepositoryPaths, branch: string): Promise<string | undefined> => {
  const head = await runForText(openGit(paths, env), {
    args: ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`],
    gitDir: checkoutGitDir(paths),
    answers: [1],
  });
  if (!head.ok) throw new Problem(head.failure);
  return head.value === '' ? undefined : head.value;
};

/** Everything of git that one ticket needs, over the private store. */
export const openWorkspace = async (run: TicketRun): Promise<Workspace> => {
  const git = openGit(run.paths, run.env);
  const store = openStore(run.paths);
  const trees = treesFolder(run.home, run.paths.mainRoot);
  const checkouts = checkoutsFolder(run.home, run.paths.mainRoot);
  const context: Context = { run, git, store, trees, index: indexPath(run.paths.mainRoot, run.ticket) };
  return crossed({
    prepare: () => prepare(context),
    snapshot: () => takeSnapshot(context),
    changedPaths: async ({ base, tree, records }) => {
      const found = await recordsBetween({ git, store }, base, tree);
      if (!found.ok) return found;
      if (found.value.digest === records) return ok(found.value.records.map(({ path }) => path));
      return fail({ kind: 'evidence-refused', message: 'the sealed tree does not differ from its base as its receipt says' });
    },
    checkout: async (treeId, folder, access) => {
      const made = await checkoutTree({ git, store, tree: treeId, dir: folder, readOnly: access === 'read-only' });
      return made.ok ? ok(undefined) : made;
    },
    removeCheckout: async (folder) => {
      const removed = existsSync(folder) ? await removeTree({ folder: checkouts, dir: folder }) : ok(undefined);
      if (!removed.ok) throw new Problem(removed.failure);
    },
    pages: (diffFile, folder) => writePages(diffFile, folder),
    commit: (request) => commitReviewed(context, request),
    push: (commit) => pushReviewed(context, commit),
    land: (request) => landReviewed(context, request),
  });
};

/** Every write of git is a place where a crash must be harmless. */
const crossed = (workspace: Workspace): Workspace =>
  Object.fromEntries(
    Object.entries(workspace).map(([name, call]) => [
      name,
      async (...args: never[]) => {
        crossing(`git ${name}`);
        const result: unknown = await (call as (...given: never[]) => Promise<unknown>)(...args);
        crossing(`git ${name} done`);
        return result;
      },
    ]),
  ) as unknown as Workspace;

interface Context {
  readonly run: TicketRun;
  readonly git: Git;
  readonly store: Store;
  readonly trees: string;
  readonly index: string;
}

const unwrap = <T>(result: Result<T>): T => {
  if (result.ok) return result.value;
  throw new Problem(result.failure);
};

const prepare = async ({ run, git, store, trees, index }: Context): Promise<Facts & { readonly notes: readonly string[] }> => {
  const { settings } = run.pipeline;
  const base = await resolveBase({ git, paths: run.paths, store, baseBranch: settings.base, remote: settings.remote });
  const imported = unwrap(
    await importCommit({ git, store, paths: run.paths, commit: base.commit, unpublishedOn: base.unpublished ? settings.remote : undefined }),
  );
  crossing('git base imported');
  const branch = settings.branch.replaceAll('{ticket}', run.ticket);
  const dir = join(trees, run.ticket);
  const notes = [...base.notes, ...setAside(dir)];
  unwrap(await cloneTree({ git, store, paths: run.paths, base: imported, dir, index, branch, author: base.author }));
  crossing('git tree cloned');
  linkTree(run, dir);
  return {
    branch,
    base: base.commit,
    tree: dir,
    author: base.author,
    notes,
    ...(base.branch === undefined ? {} : { baseBranch: base.branch }),
    ...(base.remoteUrl === undefined ? {} : { remoteUrl: base.remoteUrl }),
  };
};

/** A tree that is already there belongs to a run whose record is gone. It may hold work: it is moved, never adopted. */
const setAside = (dir: string): string[] => {
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) return [];
  let number = 1;
  while (lstatSync(`${dir}.old-${number}`, { throwIfNoEntry: false }) !== undefined) number += 1;
  renameSync(dir, `${dir}.old-${number}`);
  return [`an older tree of this ticket was moved to ${dir}.old-${number}`];
};

/** `tree` in the run directory, for people. */
const linkTree = (run: TicketRun, dir: string): void => {
  const link = run.recorder.directory.tree;
  rmSync(link, { force: true });
  symlinkSync(relative(dirname(link), dir), link);
};

const required = <T>(value: T | undefined, what: string): T => {
  if (value !== undefined) return value;
  throw new Problem({ kind: 'internal', message: `the record has no ${what}` });
};

const takeSnapshot = async ({ run, git, store, index }: Context): Promise<Result<Sealed>> => {
  const { run: state, directory } = run.recorder;
  const base = required(factOf(state, 'base'), 'base commit');
  const taken = await snapshot({
    git,
    store,
    tree: required(factOf(state, 'tree'), 'tree'),
    base,
    index,
    diffFile: join(directory.artifacts, 'branch.diff'),
  });
  return taken.ok ? ok(sealedOf(base, taken.value)) : taken;
};

const sealedOf = (base: string, taken: Snapshot): Sealed => {
  const receipt: Receipt = {
    base,
    tree: taken.treeId,
    diff: taken.diffDigest,
    diffBytes: taken.diffBytes,
    records: taken.recordsDigest,
    ignored: taken.ignoredDigest,
    files: taken.files,
    addedLines: taken.addedLines,
    removedLines: taken.removedLines,
    pages: [],
  };
  return { receipt, diffFile: taken.diffFile };
};

/** Facts of Target 1 that commit, push and land stand on. */
const frozenFacts = ({ run }: Context) => {
  const state = run.recorder.run;
  return {
    base: required(factOf(state, 'base'), 'base commit'),
    branch: required(factOf(state, 'branch'), 'branch'),
    author: required(factOf(state, 'author'), 'author'),
    baseBranch: factOf(state, 'baseBranch'),
    remoteUrl: factOf(state, 'remoteUrl'),
  };
};

const protectedBranches = (baseBranch: string | undefined): string[] => (baseBranch === undefined ? [] : [baseBranch]);

/** One commit of the reviewed tree object, brought into the user's repository as the ticket's branch. */
const commitReviewed: Bound<Workspace['commit']> = async (context, { receipt, message, date }) => {
  const { git, store, run } = context;
  const { base, branch, author, baseBranch } = frozenFacts(context);
  const made = await commitTree({ git, store, tree: receipt.tree, parents: [base], message, author, date });
  if (!made.ok) return made;
  crossing('git commit made, not published');
  const protect = protectedBranches(baseBranch);
  const published = await underOneOf(expectedHere(run.recorder.run), (expected) =>
    publishBranch({ git, store, paths: run.paths, commit: made.value, base, branch, protect, expected }),
  );
  return published.ok ? ok({ commit: made.value, branch }) : published;
};

const pushReviewed: Bound<Workspace['push']> = async (context, commit) => {
  const { git, store, run } = context;
  const { branch, baseBranch, remoteUrl } = frozenFacts(context);
  const url = required(remoteUrl, 'remote');
  const protect = protectedBranches(baseBranch);
  const pushed = await underOneOf(expectedOnRemote(run.recorder.run), (expected) =>
    pushCommit({ git, store, paths: run.paths, url, commit, branch, protect, expected }),
  );
  return pushed.ok ? ok({ head: pushed.value.commit, url: redact(url) }) : pushed;
};

const landReviewed: Bound<Workspace['land']> = async (context, { commit, receipt, message, date }) => {
  const { git, store, run } = context;
  const { base, author, baseBranch, remoteUrl } = frozenFacts(context);
  const landed = await land({
    git,
    store,
    paths: run.paths,
    url: remoteUrl,
    baseBranch,
    base,
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

const HOW = { 'fast-forward': 'fast-forward', merge: 'merged with a base that had moved', already: 'it was there already' } as const;

type Bound<F extends (argument: never) => unknown> = (
  context: Context,
  argument: Parameters<F>[0],
) => ReturnType<F>;
