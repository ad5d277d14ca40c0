import { existsSync, lstatSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { Problem } from '../model/failure.js';
import type { Facts, Receipt } from '../model/event.js';
import type { Pipeline } from '../model/pipeline.js';
import { fail, ok, type Result } from '../model/result.js';
import { factOf } from '../machine/run-state.js';
import { resolveBase, type Base } from '../git/base.js';
import { checkoutTree } from '../git/checkout.js';
import { openGit } from '../git/git.js';
import { importCommit, type Imported } from '../git/import.js';
import { writePages } from '../git/pages.js';
import { recordsBetween } from '../git/read.js';
import { removeTree } from '../git/remove.js';
import { snapshot, type Snapshot } from '../git/snapshot.js';
import { openStore } from '../git/store.js';
import { cloneTree } from '../git/tree.js';
import { configuredFilters, readUserConfig } from '../git/user-config.js';
import { crossing } from '../state/crossing.js';
import { checkoutsFolder, treesFolder } from '../state/home.js';
import { indexPath } from '../state/run-dir.js';
import { commitReviewed, landReviewed, pushReviewed, required, type GitContext } from './git-ship.js';
import type { Sealed, SnapshotPurpose, Workspace } from './workspace.js';
import type { TicketRun } from './ticket-run.js';

/** Everything of git that one ticket needs, over the private store. */
export const openWorkspace = async (run: TicketRun): Promise<Workspace> => {
  const git = openGit(run.paths, run.env);
  const store = openStore(run.paths);
  const trees = treesFolder(run.home, run.paths.mainRoot);
  const checkouts = checkoutsFolder(run.home, run.paths.mainRoot);
  const context: GitContext = { run, git, store, trees, index: indexPath(run.paths.mainRoot, run.ticket) };
  return crossed({
    prepare: () => prepare(context),
    snapshot: (purpose) => takeSnapshot(context, purpose),
    changedPaths: (receipt) => changedPaths(context, receipt),
    checkout: async (treeId, folder, access) => {
      const made = await checkoutTree({
        git,
        store,
        tree: treeId,
        dir: folder,
        readOnly: access === 'read-only',
      });
      return made.ok ? ok(undefined) : made;
    },
    removeCheckout: async (folder) => {
      const removed = existsSync(folder)
        ? await removeTree({ folder: checkouts, dir: folder })
        : ok(undefined);
      if (!removed.ok) throw new Problem(removed.failure);
    },
    pages: (diffFile, folder) => writePages(diffFile, folder),
    commit: (request) => commitReviewed(context, request),
    push: (commit, receipt) => pushReviewed(context, commit, receipt),
    land: (request) => landReviewed(context, request),
  });
};

const changedPaths = async (
  { git, store }: GitContext,
  { base, tree, records }: Receipt,
): Promise<Result<readonly string[]>> => {
  const found = await recordsBetween({ git, store }, base, tree);
  if (!found.ok) return found;
  if (found.value.digest === records) return ok(found.value.records.map(({ path }) => path));
  return fail({
    kind: 'evidence-refused',
    message: 'the sealed tree does not differ from its base as its receipt says',
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

const unwrap = <T>(result: Result<T>): T => {
  if (result.ok) return result.value;
  throw new Problem(result.failure);
};

const prepare = async ({
  run,
  git,
  store,
  trees,
  index,
}: GitContext): Promise<Facts & { readonly notes: readonly string[] }> => {
  const { settings } = run.pipeline;
  const base = await resolveBase({
    git,
    paths: run.paths,
    store,
    baseBranch: settings.base,
    remote: settings.remote,
  });
  const imported = await importBase({ run, git, store }, base);
  crossing('git base imported');
  const branch = settings.branch.replaceAll('{ticket}', run.ticket);
  const dir = join(trees, run.ticket);
  const notes = [...base.notes, ...setAside(dir)];
  unwrap(
    await cloneTree({
      git,
      store,
      paths: run.paths,
      base: imported,
      dir,
      index,
      branch,
      author: base.author,
    }),
  );
  crossing('git tree cloned');
  notes.push(...missingIn(dir));
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

const importBase = async (
  { run, git, store }: Pick<GitContext, 'run' | 'git' | 'store'>,
  { commit, unpublished }: Base,
): Promise<Imported> =>
  unwrap(
    await importCommit({
      git,
      store,
      paths: run.paths,
      commit,
      unpublishedOn: unpublished ? run.pipeline.settings.remote : undefined,
    }),
  );

/** A tree that is already there belongs to a run whose record is gone. It may hold work: it is moved, never adopted. */
const setAside = (dir: string): string[] => {
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) return [];
  let number = 1;
  while (lstatSync(`${dir}.old-${number}`, { throwIfNoEntry: false }) !== undefined) number += 1;
  renameSync(dir, `${dir}.old-${number}`);
  return [`an older tree of this ticket was moved to ${dir}.old-${number}`];
};

/** What the user's own checkout may have and a new working copy has not, in sentences. */
const missingIn = (dir: string): string[] => {
  const attributes = join(dir, '.gitattributes');
  const isFile = lstatSync(attributes, { throwIfNoEntry: false })?.isFile() === true;
  const hasLfs = isFile && /\bfilter=lfs\b/.test(readFileSync(attributes, 'utf8'));
  return [
    ...(hasLfs ? ['files in Git LFS are pointers in the working copy, not their contents'] : []),
    ...(existsSync(join(dir, '.gitmodules')) ? ['submodules are empty folders in the working copy'] : []),
  ];
};

/** `tree` in the run directory, for people. */
const linkTree = (run: TicketRun, dir: string): void => {
  const link = run.recorder.directory.tree;
  rmSync(link, { force: true });
  symlinkSync(relative(dirname(link), dir), link);
};

const takeSnapshot = async (
  { run, git, store, index }: GitContext,
  purpose: SnapshotPurpose,
): Promise<Result<Sealed>> => {
  const { run: state, directory } = run.recorder;
  const base = required(factOf(state, 'base'), 'base commit');
  const taken = await snapshot({
    git,
    store,
    tree: required(factOf(state, 'tree'), 'tree'),
    base,
    index,
    given: givenIn(run.pipeline),
    filters: async () => configuredFilters(await readUserConfig(git, run.paths)),
    diffFile: purpose === 'seal' ? join(directory.artifacts, 'branch.diff') : `${index}.diff`,
  });
  return taken.ok ? ok(sealedOf(base, taken.value)) : taken;
};

/** As the working copy was given them when it was made; paths as git has them. */
export const givenIn = ({ settings }: Pick<Pipeline, 'settings'>): readonly string[] =>
  settings.ignored.map((path) => normalize(path).replace(/\/+$/, '')).filter((path) => path !== '.');

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
  return { receipt, diffFile: taken.diffFile, ignored: taken.newIgnored };
};
