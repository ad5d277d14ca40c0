import { existsSync } from 'node:fs';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline, Target } from '../model/pipeline.js';
import { oneLine } from '../model/text.js';
import { emptyRun, factOf, type RunState } from '../machine/run-state.js';
import { openTargetFiles } from '../effects/target-files.js';
import { isOver } from '../record/next.js';
import { freshnessOf, type Freshness, type TargetFiles } from '../scheduler/freshness.js';
import { runDirectory } from '../state/run-dir.js';
import { printJson } from './io.js';
import { table } from './paint.js';
import { atRest } from './at-rest.js';
import { bootRun, recordedFile } from './boot-run.js';
import {
  existingRun,
  flagText,
  oneTicket,
  pipelineFor,
  repositoryOf,
  type Loaded,
  type Session,
} from './session.js';

export interface Explanation {
  readonly number: number;
  readonly target: string;
  readonly verdict: Freshness['kind'] | 'blocked';
  readonly reason: string;
}

/** Why each target would or would not run now. What stands below something that will run is judged when that is made. */
const explanations = (pipeline: Pipeline, run: RunState, files: TargetFiles, now: number): Explanation[] => {
  const pending = new Map<string, string>();
  return pipeline.targets.map((target) => {
    const above = target.needs.find((need) => pending.has(need));
    const judged = freshnessOf(target, run, files, now);
    if (judged.kind === 'stale' || judged.kind === 'resting' || above !== undefined)
      pending.set(target.name, target.name);
    return explanation(target, judged, above);
  });
};

const explanation = (target: Target, judged: Freshness, above: string | undefined): Explanation => {
  const { number, name } = target;
  if (judged.kind === 'stale' && above === undefined)
    return { number, target: name, verdict: 'stale', reason: judged.reason };
  if (judged.kind === 'resting') return { number, target: name, verdict: 'resting', reason: judged.reason };
  if (above !== undefined)
    return { number, target: name, verdict: 'blocked', reason: `judged again after ${above}` };
  return {
    number,
    target: name,
    verdict: judged.kind,
    reason: judged.kind === 'held' ? judged.reason : 'up to date',
  };
};

const explainRun = async (
  session: Session,
  paths: RepositoryPaths,
  pipeline: Pipeline,
  run: RunState,
): Promise<Explanation[]> => {
  const files = await openTargetFiles({
    pipeline,
    root: () => factOf(run, 'tree') ?? paths.mainRoot,
    memory: run.stats,
    now: session.clock.now,
    isOver: () => isOver(pipeline, run),
    ticket: { root: paths.root, id: run.ticket },
  });
  return explanations(pipeline, run, files, session.clock.now());
};

const FRESH: Freshness = { kind: 'fresh' };

const WORDS: Readonly<Record<Explanation['verdict'], string>> = {
  fresh: 'up to date',
  held: 'held',
  stale: 'runs',
  blocked: 'later',
  resting: 'rests',
};

const text = (list: readonly Explanation[]): string =>
  table(
    list.map(({ number, target, verdict, reason }) => [
      String(number),
      target,
      WORDS[verdict],
      verdict === 'fresh' ? '' : oneLine(reason, 300),
    ]),
  );

/** `explain`: why each target would or would not run; writes nothing. */
export const explain = async (session: Session): Promise<number> => {
  const paths = repositoryOf(session);
  const directory = existingRun(session, paths, oneTicket(session));
  const booted = bootRun(session, directory);
  const { pipeline } = await pipelineFor(session, paths, recordedFile(booted));
  const all = await explainRun(session, paths, pipeline, booted.run);
  const name = session.request.target ?? flagText(session, 'target');
  const list = name === undefined ? all : all.filter(({ target }) => target === name);
  if (list.length === 0) {
    throw new Problem({
      kind: 'usage',
      message: `the pipeline has no target \`${name ?? ''}\``,
      next: '`orchestrate graph` shows the targets',
    });
  }
  if (session.request.json) printJson(session.io, { ticket: directory.ticket, targets: list });
  else session.io.stdout(`${text(list)}\n`);
  return 0;
};

/** As it is, or as a rebuild that is asked for would begin. */
const runToExplain = async (
  session: Session,
  paths: RepositoryPaths,
  ticket: string,
  pipeline: Pipeline,
): Promise<RunState> => {
  const asked = flagText(session, 'rebuild');
  if (asked !== undefined)
    return (await import('./rebuild.js')).plannedRun(session, { paths, ticket, pipeline, asked });
  const directory = runDirectory(paths.mainRoot, ticket);
  return existsSync(directory.journal) ? bootRun(session, directory).run : emptyRun(ticket);
};

/** Nothing of a ticket at rest has to be judged again; a rebuild has its own answers. */
const isAtRest = (session: Session, paths: RepositoryPaths, ticket: string, { targets }: Pipeline): boolean =>
  flagText(session, 'rebuild') === undefined && atRest(session, paths, ticket) === targets.length;

/** `run --dry-run`: the same, also for a ticket that was never run. */
export const dryRun = async (
  session: Session,
  paths: RepositoryPaths,
  loaded: ReadonlyMap<string, Loaded>,
): Promise<number> => {
  const all: { readonly ticket: string; readonly targets: readonly Explanation[] }[] = [];
  for (const [ticket, { pipeline }] of loaded) {
    if (isAtRest(session, paths, ticket, pipeline)) {
      all.push({ ticket, targets: pipeline.targets.map((target) => explanation(target, FRESH, undefined)) });
      continue;
    }
    const run = await runToExplain(session, paths, ticket, pipeline);
    all.push({ ticket, targets: await explainRun(session, paths, pipeline, run) });
  }
  if (session.request.json) {
    printJson(session.io, all.length === 1 ? all[0] : { tickets: all });
    return 0;
  }
  for (const { ticket, targets } of all) session.io.stdout(`ticket ${ticket}\n${text(targets)}\n`);
  return 0;
};
