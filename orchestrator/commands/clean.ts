import { lstatSync } from 'node:fs';
import { isoTime } from '../model/clock.js';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import { factOf, type RunState } from '../machine/run-state.js';
import { boot } from '../record/boot.js';
import { isGivenUp } from '../record/next.js';
import { checkoutsFolder, sealKey, treesFolder } from '../state/home.js';
import { takeLock } from '../state/lock.js';
import type { RunDirectory } from '../state/run-dir.js';
import { removeFiles, setAsideTrees, type Removed } from './clean-files.js';
import { requireSafe } from './clean-safety.js';
import { fromHere } from './from-here.js';
import { printJson } from './io.js';
import { requireNoLiveChild } from './live-children.js';
import { table } from './paint.js';
import { existingRun, oneTicket, pipelineFor, repositoryOf, type Session } from './session.js';

/** `clean`: removes what can be made again from the record and from git, once the work is where it was to go. */
export const clean = async (session: Session): Promise<number> => {
  const paths = repositoryOf(session);
  const ticket = oneTicket(session);
  const directory = existingRun(session, paths, ticket);
  const key = sealKey(session.home);
  const lock = takeLock(directory.path, ticket, isoTime(session.clock));
  try {
    const { run } = boot(directory, key);
    requireNoLiveChild(directory, run);
    const tree = factOf(run, 'tree');
    const why = await reasonToClean(session, paths, run, tree);
    const trees = treesFolder(session.home, paths.mainRoot);
    const checkouts = checkoutsFolder(session.home, paths.mainRoot);
    const removed = await removeFiles({ directory, mainRoot: paths.mainRoot, trees, checkouts, tree });
    report(session, directory, { why, removed, kept: setAsideTrees(trees, ticket) });
    return 0;
  } finally {
    lock.release();
  }
};

const isThere = (path: string | undefined): path is string => path !== undefined && lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** @throws `Problem` when the tree holds work that is nowhere else */
const reasonToClean = async (session: Session, paths: RepositoryPaths, run: RunState, tree: string | undefined): Promise<string> => {
  if (await isAbandoned(session, paths, run)) return 'a person gave the ticket up';
  return isThere(tree) ? requireSafe(session.io.env, paths, run, tree) : 'there is no tree';
};

/** A pipeline that cannot be loaded any more cannot say that nothing is left to do. */
const isAbandoned = async (session: Session, paths: RepositoryPaths, run: RunState): Promise<boolean> => {
  try {
    return isGivenUp((await pipelineFor(session, paths, run.opened?.pipeline.file)).pipeline, run);
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
};

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

const size = (bytes: number): string => {
  const step = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  const value = bytes / 1024 ** step;
  return `${step === 0 ? String(value) : value.toFixed(1)} ${UNITS[step] ?? ''}`;
};

interface Report {
  readonly why: string;
  readonly removed: readonly Removed[];
  readonly kept: readonly string[];
}

const report = (session: Session, { ticket }: RunDirectory, { why, removed, kept }: Report): void => {
  const bytes = removed.reduce((sum, item) => sum + item.bytes, 0);
  if (session.request.json) {
    printJson(session.io, { ticket, reason: why, removed, bytes, kept });
    return;
  }
  const { stdout } = session.io;
  stdout(`${why}\n`);
  if (removed.length > 0) stdout(`${table(removed.map((item) => ['removed', item.what, size(item.bytes), item.path]))}\n`);
  for (const path of kept) stdout(`kept     ${path}, which was moved aside; look at it and remove it by hand\n`);
  const status = fromHere(session.request.directories, `\`orchestrate status --ticket ${ticket}\``);
  stdout(`${removed.length === 0 ? 'nothing to remove' : `${size(bytes)} (${bytes} bytes) freed`}; the record of ticket ${ticket} stays: ${status}\n`);
};
