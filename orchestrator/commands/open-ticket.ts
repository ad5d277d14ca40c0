import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { LimitFunction } from 'p-limit';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { JournalLine } from '../model/event.js';
import { oneLine } from '../model/text.js';
import { factOf, recordedPipeline, targetState } from '../machine/run-state.js';
import { newHalt, type AskApproval, type Halt, type TicketRun } from '../effects/ticket-run.js';
import { openTargetFiles } from '../effects/target-files.js';
import { boot, type Booted } from '../record/boot.js';
import { peekPipelineFile } from '../record/peek.js';
import { isOver, nextActionOf } from '../record/next.js';
import { markerPath } from '../record/rebuild-marker.js';
import { lookAtRecord, type Look } from '../record/rest.js';
import { openRecorder, type Recorder } from '../record/recorder.js';
import { trackerOf } from '../record/tracker.js';
import { sealKey } from '../state/home.js';
import { readDirectives } from '../state/inbox.js';
import { takeLock, type Lock } from '../state/lock.js';
import { nextActionDocument } from '../state/next-action.js';
import { makeRunDirectory, runDirectory, type RunDirectory } from '../state/run-dir.js';
import type { Workspace } from '../effects/workspace.js';
import { isoTime } from '../model/clock.js';
import { notePipeline, openedEvent } from './pipeline-record.js';
import { requireWorld } from './world.js';
import { whereFrom } from './where-from.js';
import { pipelineFor, refuseLinks, type Loaded, type Session } from './session.js';

/** One ticket that this process holds. */
export interface OpenTicket {
  readonly run: TicketRun;
  /** Journal line at which this process took over; 0 for a new ticket. */
  readonly resumedAt: number;
  /** How the record looked before it was read. */
  readonly record: readonly Look[];
  /** @param last is done when everything is written down, before the lock is given back */
  readonly close: (last?: () => void) => void;
}

export interface OpenOptions {
  readonly paths: RepositoryPaths;
  readonly ticket: string;
  readonly loaded: Loaded;
  readonly limit: LimitFunction;
  readonly halt?: Halt;
  readonly ask?: AskApproval;
  readonly onLine: (line: JournalLine) => void;
  readonly onNote: (text: string) => void;
  /** Target of `--rebuild`: a new epoch begins. */
  readonly rebuild?: string;
}

/**
 * Takes the lock, boots, and opens the record for writing. Whatever is refused is refused before anything is written
 * but the lock itself.
 */
export const openTicket = async (session: Session, options: OpenOptions): Promise<OpenTicket> => {
  const { paths, ticket } = options;
  const key = sealKey(session.home);
  const directory = runDirectory(paths.mainRoot, ticket);
  makeRunDirectory(paths.mainRoot, directory);
  refuseLinks(paths, directory);
  const lock = takeLock(directory.path, ticket, isoTime(session.clock));
  try {
    const finished = await settled(directory, key, options.onNote);
    const record = lookAtRecord(directory);
    const found = boot(directory, key);
    const { pipeline } = options.loaded;
    requireSameNextAction(directory, found, options.loaded, key);
    if (options.rebuild === undefined) await requireWorld(session, paths, found.run, pipeline);
    const resumedAt = found.run.seq;
    const booted = options.rebuild === finished ? found : await rebuilt(session, directory, found, options);
    const recorder = openRecorder({
      directory,
      key,
      booted,
      pipeline,
      clock: session.clock,
      onLine: options.onLine,
    });
    if (booted.torn > 0)
      options.onNote(`a torn journal line of ${booted.torn} bytes was dropped: a crash left it`);
    openRun(session, paths, recorder, options);
    readInbox(recorder);
    const run = await ticketRun(session, options, recorder);
    return { run, resumedAt, record, close: (last) => closeTicket(run, lock, last) };
  } catch (error) {
    lock.release();
    throw error;
  }
};

/** Ends a rebuild that a crash interrupted; the target whose rebuild was finished is not rebuilt a second time. */
const settled = async (
  directory: RunDirectory,
  key: Uint8Array,
  onNote: (text: string) => void,
): Promise<string | undefined> => {
  if (!existsSync(markerPath(directory))) return undefined;
  const { settleEpoch } = await import('../record/epoch.js');
  const finished = settleEpoch(directory, key);
  onNote(
    finished === undefined
      ? 'a rebuild that a crash interrupted had not taken effect and is undone'
      : `the rebuild of ${finished} that a crash interrupted is finished`,
  );
  return finished;
};

const rebuilt = async (
  session: Session,
  directory: RunDirectory,
  booted: Booted,
  options: OpenOptions,
): Promise<Booted> => {
  if (options.rebuild === undefined) return booted;
  const { rebuild } = await import('./rebuild.js');
  const begun = rebuild(session, {
    paths: options.paths,
    directory,
    pipeline: options.loaded.pipeline,
    asked: options.rebuild,
    booted,
  });
  options.onNote(begun.note);
  for (const line of begun.lines) options.onLine(line);
  return begun.booted;
};

const closeTicket = ({ recorder, files }: TicketRun, lock: Lock, last?: () => void): void => {
  try {
    recorder.writeNextAction();
    recorder.close(files.learned());
    last?.();
  } finally {
    lock.release();
  }
};

/** 99 must be what the journal implies. One that is behind is made again; one that differs is somebody else's. */
const requireSameNextAction = (
  directory: RunDirectory,
  booted: Booted,
  { pipeline }: Loaded,
  key: Uint8Array,
): void => {
  if (booted.nextActionSeq !== booted.run.seq || recordedPipeline(booted.run)?.digest !== pipeline.digest)
    return;
  const expected = nextActionDocument(nextActionOf(pipeline, booted.run, trackerOf(booted.run)), key);
  const actual = booted.documents.find(({ name }) => name === '99_next_action.md');
  if (actual === undefined || actual.text === expected) return;
  throw new Problem({
    kind: 'record-refused',
    message: '`99_next_action.md` is not what the journal implies',
    where: directory.document('99_next_action.md'),
    next: 'remove it: it is made again from the journal',
  });
};

/** The first event of a ticket's first epoch; later, what changed since. */
const openRun = (
  session: Session,
  paths: RepositoryPaths,
  recorder: Recorder,
  options: OpenOptions,
): void => {
  const { pipeline } = options.loaded;
  if (recorder.run.opened !== undefined) notePipeline(session, paths, recorder, options.onNote);
  else recorder.record(openedEvent(session, { paths, ticket: options.ticket, pipeline, epoch: 1 }));
};

/** Directives that arrived since the last boot: read once, recorded, and given to the next worker. */
const readInbox = (recorder: Recorder): void => {
  const read = new Set(recorder.run.directivesRead.map(({ id }) => id));
  for (const { id, digest, text } of readDirectives(recorder.directory.inbox)) {
    if (!read.has(id)) recorder.record({ type: 'directive.read', id, digest, text: oneLine(text) });
  }
};

const ticketRun = async (session: Session, options: OpenOptions, recorder: Recorder): Promise<TicketRun> => {
  const { run: state } = recorder;
  const { paths } = options;
  const files = await openTargetFiles({
    pipeline: options.loaded.pipeline,
    root: () => factOf(state, 'tree') ?? paths.mainRoot,
    memory: state.stats,
    now: session.clock.now,
    isOver: () => isOver(options.loaded.pipeline, state),
    ticket: { root: paths.root, id: options.ticket },
  });
  let workspace: Promise<Workspace> | undefined;
  const run: TicketRun = {
    ticket: options.ticket,
    paths,
    home: session.home,
    packageRoot: session.packageRoot,
    env: session.io.env,
    clock: session.clock,
    pipeline: options.loaded.pipeline,
    recorder,
    files,
    limit: options.limit,
    halt: options.halt ?? newHalt(),
    abort: new AbortController(),
    children: new Set(),
    workspace: () => {
      workspace ??= import('../effects/git-workspace.js').then(({ openWorkspace }) => openWorkspace(run));
      return workspace;
    },
    reasons: new Map(),
    revived: new Set(
      [...state.targets.keys()].filter((name) =>
        ['failed', 'paused'].includes(targetState(state, name).value),
      ),
    ),
    login: session.io.env['USER'] ?? userInfo().username,
    from: whereFrom(session.io),
    ...(options.ask === undefined ? {} : { ask: options.ask }),
  };
  return run;
};

/** The pipeline of a ticket, as its own record names it. */
export const loadFor = async (session: Session, paths: RepositoryPaths, ticket: string): Promise<Loaded> => {
  const directory = runDirectory(paths.mainRoot, ticket);
  refuseLinks(paths, directory);
  return pipelineFor(session, paths, peekPipelineFile(directory.journal));
};
