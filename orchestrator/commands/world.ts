import { lstatSync } from 'node:fs';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline } from '../model/pipeline.js';
import { factOf, targetState, type RunState } from '../machine/run-state.js';
import type { Session } from './session.js';

const refused = (where: string, message: string, next: string): Problem =>
  new Problem({ kind: 'record-refused', message, where, next });

/** Is anything left to be made that stands on the tree? A finished or abandoned ticket may have been cleaned. */
const isUnfinished = (pipeline: Pipeline, run: RunState): boolean =>
  pipeline.targets.some(({ name }) => !['done', 'abandoned'].includes(targetState(run, name).value));

/**
 * The record against the world, before anything is started: the worker's tree must be there, and the ticket's branch must
 * be where we left it.
 * @throws `Problem` `record-refused` that names what differs and the way on
 */
export const requireWorld = async (
  session: Session,
  paths: RepositoryPaths,
  run: RunState,
  pipeline: Pipeline,
): Promise<void> => {
  const tree = factOf(run, 'tree');
  if (tree === undefined || !isUnfinished(pipeline, run)) return;
  requireTree(run, pipeline);
  const commit = factOf(run, 'commit');
  const branch = factOf(run, 'branch');
  if (commit === undefined || branch === undefined || commit === factOf(run, 'base')) return;
  const { branchHead } = await import('../effects/repository-facts.js');
  const head = await branchHead(session.io.env, paths, branch);
  if (head === commit) return;
  throw refused(
    `refs/heads/${branch}`,
    head === undefined
      ? `branch \`${branch}\` is gone; our commit is ${commit}`
      : `branch \`${branch}\` was moved by someone else: it is at ${head}, our commit is ${commit}`,
    `put it back with \`git branch -f ${branch} ${commit}\`, or rename theirs, then run again`,
  );
};

/** @throws `Problem` `record-refused` when the ticket had a tree and it is gone */
export const requireTree = (run: RunState, pipeline: Pipeline): void => {
  const tree = factOf(run, 'tree');
  if (tree === undefined || lstatSync(tree, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw refused(
    tree,
    `the working tree of ticket \`${run.ticket}\` is gone`,
    `restore it, or make everything again in a new epoch: \`orchestrate run --ticket ${run.ticket} --rebuild ${ticketTarget(pipeline)}\``,
  );
};

const ticketTarget = (pipeline: Pipeline): string =>
  pipeline.targets.find(({ recipe }) => recipe.kind === 'builtin' && recipe.builtin === 'ticket')?.name ??
  'ticket';
