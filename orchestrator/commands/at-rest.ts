/** `run` of tickets that are finished and of which nothing has changed: found out by looking at files, without a boot. */
import { existsSync } from 'node:fs';
import type { RepositoryPaths } from '../model/git.js';
import { jsonText } from '../model/text.js';
import { pipelineSalt } from '../pipeline/load.js';
import { peekPipelineFile } from '../record/peek.js';
import { markerPath } from '../record/rebuild-marker.js';
import { targetsAtRest } from '../record/rest.js';
import { existingKey } from '../state/home.js';
import { isUnlocked } from '../state/lock.js';
import { runDirectory } from '../state/run-dir.js';
import { flagSet, flagText, pipelineRequest, refuseLinks, type Session } from './session.js';

/** Number of targets by ticket; `undefined` unless all of them are at rest, and no more was asked for. */
export const ticketsAtRest = (
  session: Session,
  paths: RepositoryPaths,
  tickets: readonly string[],
): ReadonlyMap<string, number> | undefined => {
  if (asksForMore(session)) return undefined;
  const found = new Map<string, number>();
  for (const ticket of tickets) {
    const targets = atRest(session, paths, ticket);
    if (targets === undefined) return undefined;
    found.set(ticket, targets);
  }
  return found;
};

const asksForMore = (session: Session): boolean =>
  flagSet(session, 'dry-run') || ['until', 'rebuild'].some((name) => flagText(session, name) !== undefined);

/** The same of one ticket, whatever was asked for. */
export const atRest = (session: Session, paths: RepositoryPaths, ticket: string): number | undefined => {
  const directory = runDirectory(paths.mainRoot, ticket);
  const key = existsSync(directory.rest) ? existingKey(session.home) : undefined;
  if (key === undefined) return undefined;
  refuseLinks(paths, directory);
  if (existsSync(markerPath(directory)) || !isUnlocked(directory.path)) return undefined;
  const request = pipelineRequest(session, paths, peekPipelineFile(directory.journal));
  return targetsAtRest(directory, key, pipelineSalt(request));
};

/** What a run that finds everything up to date ends with. */
export const wholeText = (targets: number, made: number): string =>
  `${made === 0 ? 'nothing to do: ' : ''}${targets} of ${targets} targets are up to date`;

/** The last words of a run that had nothing to do, the same as of one that booted; its exit status. */
export const sayAtRest = ({ io, request }: Session, resting: ReadonlyMap<string, number>): number => {
  for (const [ticket, targets] of resting) {
    const ended = { ticket, type: 'run.ended', state: 'done', upToDate: targets, made: 0, wanted: targets };
    const several = request.tickets.length > 1 ? `${ticket}  ` : '';
    io.stdout(request.json ? `${jsonText(ended)}\n` : `${several}${wholeText(targets, 0)}\n`);
  }
  return 0;
};
