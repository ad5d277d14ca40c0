import { existsSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from '../model/child.js';
import type { RepositoryPaths } from '../model/git.js';
import { oneLine, visibleLine } from '../model/text.js';
import { changeLine } from '../record/source-changes.js';
import { statusView, type StatusView, type TargetView } from '../record/view.js';
import { lockHolder } from '../state/lock.js';
import { runDirectory, ticketsWithRuns, type RunDirectory } from '../state/run-dir.js';
import { fromHere } from './from-here.js';
import { printJson } from './io.js';
import { painter, table, type Painter } from './paint.js';
import { bootRun, recordedFile } from './boot-run.js';
import { existingRun, flagSet, oneTicket, pipelineFor, repositoryOf, type Session } from './session.js';

/** Identity of a child's process, as its reaper wrote it; `undefined` when it has not (yet). */
export const childIdentity =
  (directory: RunDirectory) =>
  (child: string): ProcessIdentity | undefined => {
    const path = join(directory.child(child), 'proc.json');
    if (!existsSync(path)) return undefined;
    try {
      const value = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProcessIdentity>;
      return typeof value.pid === 'number' && typeof value.startTime === 'string'
        ? (value as ProcessIdentity)
        : undefined;
    } catch {
      return undefined;
    }
  };

export const viewOf = async (
  session: Session,
  paths: RepositoryPaths,
  directory: RunDirectory,
): Promise<StatusView> => {
  const booted = bootRun(session, directory);
  const { pipeline } = await pipelineFor(session, paths, recordedFile(booted));
  const view = statusView({
    pipeline,
    run: booted.run,
    isHeld: lockHolder(directory.path) !== undefined,
    now: session.clock.now(),
    bootBytes: booted.documents.reduce((sum, { bytes }) => sum + bytes.length, 0),
    identityOf: childIdentity(directory),
  });
  if (view.waitingFor === null) return view;
  return {
    ...view,
    waitingFor: {
      ...view.waitingFor,
      command: fromHere(session.request.directories, view.waitingFor.command),
    },
  };
};

const duration = (ms: number | null): string => {
  if (ms === null) return '';
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

/** In and out without what came from the provider's cache, that apart, and the cost: whatever is known. */
const tokens = (usage: TargetView['usage']): string => {
  const { inputTokens, outputTokens, cacheReadTokens, costUsd } = usage;
  const isUnknown = inputTokens === null && outputTokens === null;
  return [
    isUnknown ? '' : `${(inputTokens ?? 0) + (outputTokens ?? 0)} tokens`,
    (cacheReadTokens ?? 0) > 0 ? `+ ${cacheReadTokens} cached` : '',
    costUsd === null ? '' : `$${costUsd.toFixed(2)}`,
  ]
    .filter((part) => part !== '')
    .join(' ');
};

const MARK: Readonly<Record<TargetView['phase'], string>> = {
  pending: '·',
  running: '▸',
  gating: '▸',
  waiting: '?',
  paused: '‖',
  failed: '✗',
  done: '✓',
  gated: '✓',
  abandoned: '–',
};

const targetRows = (view: StatusView, paint: Painter): string =>
  table(
    view.targets.map((target) => [
      paint.byPhase(target.phase, MARK[target.phase]),
      String(target.number),
      target.name,
      target.phase === 'gated' ? 'done, gates passed' : target.phase,
      target.attempt > 1 ? `attempt ${target.attempt}` : '',
      duration(target.elapsedMs),
      tokens(target.usage),
      oneLine((['failed', 'abandoned'].includes(target.phase) ? target.reason : target.summary[0]) ?? ''),
    ]),
  );

export const statusText = (view: StatusView, paint: Painter): string => {
  const waiting = view.waitingFor === null ? '' : `waiting for: ${view.waitingFor.command}\n`;
  const { bootTokens, forks } = view.context;
  const known = tokens(view.usage);
  const used = known === '' ? 'unknown tokens' : known;
  return (
    `ticket ${view.ticket}  ${paint.byState(view.state)}  pipeline ${oneLine(view.pipeline)}, epoch ${view.epoch}\n` +
    `${targetRows(view, paint)}\n${waiting}` +
    view.pipelineChanges
      .map((change) => `changed since epoch ${view.epoch} was opened: ${visibleLine(changeLine(change))}\n`)
      .join('') +
    `context: state ≈ ${bootTokens} tokens, ${forks} forks, workers used ${used}\n`
  );
};

/** `status`: every run, or one run target by target. */
export const status = async (session: Session): Promise<number> => {
  const paths = repositoryOf(session);
  if (session.request.tickets.length === 0) return allRuns(session, paths);
  const directory = existingRun(session, paths, oneTicket(session));
  if (flagSet(session, 'watch')) return watchRun(session, paths, directory);
  const view = await viewOf(session, paths, directory);
  if (session.request.json) printJson(session.io, view);
  else session.io.stdout(statusText(view, painter(session.io, 'stdout')));
  return 0;
};

const allRuns = async (session: Session, paths: RepositoryPaths): Promise<number> => {
  const views: StatusView[] = [];
  for (const ticket of ticketsWithRuns(paths.mainRoot)) {
    views.push(await viewOf(session, paths, runDirectory(paths.mainRoot, ticket)));
  }
  if (session.request.json) {
    printJson(session.io, { runs: views });
    return 0;
  }
  if (views.length === 0) {
    session.io.stdout('no runs here; start one with `orchestrate run --ticket ID`\n');
    return 0;
  }
  const paint = painter(session.io, 'stdout');
  const rows = views.map((view) => {
    const done = view.targets.filter(({ status: state }) => state === 'done').length;
    return [
      view.ticket,
      paint.byState(view.state),
      `${done}/${view.targets.length} targets`,
      oneLine(view.pipeline),
      view.waitingFor?.command ?? '',
    ];
  });
  session.io.stdout(`${table(rows)}\n`);
  return 0;
};

/** Redraws when the journal grows; ends when the run is at rest, or by a signal. */
const watchRun = async (
  session: Session,
  paths: RepositoryPaths,
  directory: RunDirectory,
): Promise<number> => {
  const { io } = session;
  let interrupted = false;
  let wake = (): void => undefined;
  const watcher = watch(directory.path, () => wake());
  const unsubscribe = io.onSignal(() => {
    interrupted = true;
    wake();
  });
  try {
    for (;;) {
      const view = await viewOf(session, paths, directory);
      if (session.request.json) printJson(io, view);
      else {
        io.clear?.();
        io.stdout(statusText(view, painter(io, 'stdout')));
      }
      if (interrupted) return 130;
      if (view.state !== 'running') return 0;
      await new Promise<void>((resolve) => {
        // The lock's release is an event of the folder as well; the timer only moves the clock of what is running.
        const timer = setTimeout(resolve, 1_000);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  } finally {
    watcher.close();
    unsubscribe();
  }
};
