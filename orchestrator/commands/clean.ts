import { lstatSync } from 'node:fs';
import { isoTime } from '../model/clock.js';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline } from '../model/pipeline.js';
import { factOf, targetState, type RunState } from '../machine/run-state.js';
import { givenIn } from '../effects/git-workspace.js';
import { boot } from '../record/boot.js';
import { isGivenUp, isOver, rebuildCommand } from '../record/next.js';
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
    const pipeline = await pipelineOf(session, paths, run);
    const isAbandoned = pipeline !== undefined && isGivenUp(pipeline, run);
    const why = isAbandoned
      ? 'a person gave the ticket up'
      : await reasonToClean(session, paths, run, pipeline);
    const trees = treesFolder(session.home, paths.mainRoot);
    const checkouts = checkoutsFolder(session.home, paths.mainRoot);
    const removed = await removeFiles({ directory, mainRoot: paths.mainRoot, trees, checkouts, tree });
    report(session, directory, {
      why,
      removed,
      kept: setAsideTrees(trees, ticket),
      open: pipeline === undefined ? [] : openTargets(pipeline, run),
    });
    return 0;
  } finally {
    lock.release();
  }
};

const isThere = (path: string | undefined): path is string =>
  path !== undefined && lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** @throws `Problem` when the tree holds work that is nowhere else */
const reasonToClean = async (
  session: Session,
  paths: RepositoryPaths,
  run: RunState,
  pipeline: Pipeline | undefined,
): Promise<string> => {
  const tree = factOf(run, 'tree');
  if (!isThere(tree)) return 'there is no tree';
  const given = pipeline === undefined ? [] : givenIn(pipeline);
  return requireSafe(session.io.env, paths, { run, tree, given });
};

/** One that cannot be loaded any more cannot say what is left to do, and keeps nobody from cleaning up. */
const pipelineOf = async (
  session: Session,
  paths: RepositoryPaths,
  run: RunState,
): Promise<Pipeline | undefined> => {
  try {
    return (await pipelineFor(session, paths, run.opened?.pipeline.file)).pipeline;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
};

/** Pushed is enough to clean, and yet something may be left to do. */
const openTargets = (pipeline: Pipeline, run: RunState): string[] =>
  isOver(pipeline, run)
    ? []
    : pipeline.targets
        .map(({ name }) => name)
        .filter((name) => !['done', 'abandoned'].includes(targetState(run, name).value));

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
  /** Targets that are not done, and will miss the tree. */
  readonly open: readonly string[];
}

const report = (session: Session, { ticket }: RunDirectory, { why, removed, kept, open }: Report): void => {
  const bytes = removed.reduce((sum, item) => sum + item.bytes, 0);
  if (session.request.json) {
    printJson(session.io, { ticket, reason: why, removed, bytes, kept, open });
    return;
  }
  const { stdout } = session.io;
  stdout(`${why}\n`);
  if (removed.length > 0)
    stdout(`${table(removed.map((item) => ['removed', item.what, size(item.bytes), item.path]))}\n`);
  for (const path of kept)
    stdout(`kept     ${path}, which was moved aside; look at it and remove it by hand\n`);
  const { directories } = session.request;
  if (open.length > 0) {
    const next = fromHere(directories, `\`${rebuildCommand(ticket, 'ticket')}\``);
    session.io.stderr(
      `note: ${open.join(', ')} ${open.length === 1 ? 'is' : 'are'} not done and may miss the tree; ${next} makes a new one\n`,
    );
  }
  const status = fromHere(directories, `\`orchestrate status --ticket ${ticket}\``);
  stdout(
    `${removed.length === 0 ? 'nothing to remove' : `${size(bytes)} (${bytes} bytes) freed`}; the record of ticket ${ticket} stays: ${status}\n`,
  );
};
