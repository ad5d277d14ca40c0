/**
 * `run --rebuild TARGET`: a new epoch. The old one is archived whole; the target and everything downstream are as never
 * made; what else was made keeps its results, but every approval is asked for again.
 *
 * The tree stays as it is, so that what is rebuilt begins where the last worker left off; only a rebuild of the target that
 * made it (`ticket`, or one above it) takes the base as it is now and makes a new tree, the old one being moved aside.
 *
 * A commit that was made or pushed is replaced: its branch, here and on the remote, is moved from exactly where this ticket
 * had left it, and from nowhere else. Work that has landed cannot be replaced. A rebuild that would make the commit again
 * on the old base is refused, because it could only land a second time what the base has already; `--rebuild ticket`
 * starts from the base with that work in it, and targets after the commit can always be rebuilt.
 */
import { isoTime } from '../model/clock.js';
import type { JournalLine } from '../model/event.js';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline } from '../model/pipeline.js';
import { baseMaker, leftBehind } from '../machine/left-behind.js';
import { targetState, type RunState } from '../machine/run-state.js';
import { boot, type Booted } from '../record/boot.js';
import { beginEpoch, composeEpoch, epochFolder, type NextEpoch } from '../record/epoch.js';
import { downstreamOf, planEpoch } from '../record/epoch-plan.js';
import { sealKey } from '../state/home.js';
import { readJournal } from '../state/journal.js';
import { runDirectory, type RunDirectory } from '../state/run-dir.js';
import { liveChildren } from './live-children.js';
import { requireTree } from './world.js';
import { openedEvent } from './pipeline-record.js';
import { bootRun } from './boot-run.js';
import { existingRun, type Loaded, type Session } from './session.js';

const noRun = (ticket: string): Problem =>
  new Problem({
    kind: 'no-such-run',
    message: `ticket \`${ticket}\` has no run, so there is nothing to rebuild`,
    next: `start it with \`orchestrate run --ticket ${ticket}\``,
  });

/**
 * What must hold before the lock is taken, of all tickets: there is a run, the pipeline has the target, and a new base
 * can be found where one is needed.
 * @throws `Problem` with exit status 2; nothing has been touched
 */
export const requireRebuildable = async (
  session: Session,
  paths: RepositoryPaths,
  loaded: ReadonlyMap<string, Loaded>,
  asked: string,
): Promise<void> => {
  for (const [ticket, { pipeline }] of loaded) {
    existingRun(session, paths, ticket);
    requireTarget(pipeline, asked);
    if (!makesNewTree({ pipeline, asked })) continue;
    const { readTicketFile } = await import('../builtins/ticket-file.js');
    readTicketFile(paths.root, pipeline.settings.tickets.path, ticket);
    const { requireBase } = await import('../effects/repository-facts.js');
    await requireBase(session.io.env, paths, pipeline);
  }
};

const requireTarget = (pipeline: Pipeline, asked: string): void => {
  if (pipeline.targets.some(({ name }) => name === asked)) return;
  const names = pipeline.targets.slice(0, 20).map(({ name }) => name);
  throw new Problem({
    kind: 'usage',
    message: `the pipeline has no target \`${asked}\``,
    next: `use one of: ${names.join(', ')}`,
  });
};

export interface RebuildOptions {
  readonly paths: RepositoryPaths;
  readonly directory: RunDirectory;
  readonly pipeline: Pipeline;
  readonly asked: string;
  readonly booted: Booted;
}

/**
 * Begins the new epoch. The ticket's lock must be held, and the old epoch just been booted.
 * @returns the new epoch, booted from the disk, and the two lines that tell of it
 * @throws `Problem` when a child may be alive, a step's outcome is not known, or the work has landed; the old epoch is
 * then as it was
 */
export const rebuild = (
  session: Session,
  options: RebuildOptions,
): { readonly booted: Booted; readonly lines: readonly JournalLine[]; readonly note: string } => {
  const { directory, booted } = options;
  const next = nextEpoch(session, options);
  requireNobody(directory, booted.run);
  requireKnownSteps(options);
  requireReplaceable(options);
  if (!makesNewTree(options)) requireTree(booted.run, options.pipeline);
  const lines = beginEpoch(directory, next).slice(0, 2);
  return { booted: boot(directory, next.key), lines, note: noteOf(options) };
};

/** `ticket`, or a target above it: the new epoch gets a tree of its own. */
const makesNewTree = ({ pipeline, asked }: Pick<RebuildOptions, 'pipeline' | 'asked'>): boolean => {
  const maker = pipeline.targets.find(
    ({ recipe }) => recipe.kind === 'builtin' && recipe.builtin === 'ticket',
  );
  return maker !== undefined && downstreamOf(pipeline, asked).includes(maker.name);
};

const nextEpoch = (
  session: Session,
  { paths, directory, pipeline, asked, booted }: RebuildOptions,
): NextEpoch => {
  const { run, head } = booted;
  if (run.opened === undefined) throw noRun(directory.ticket);
  const key = sealKey(session.home);
  const lines: JournalLine[] = [];
  readJournal(booted.journal, { path: directory.journal, key }, (line) => lines.push(line));
  const previous = { epoch: run.epoch, seq: head.seq, hash: head.hash };
  const opened = openedEvent(session, {
    paths,
    ticket: directory.ticket,
    pipeline,
    epoch: run.epoch + 1,
    previous,
  });
  const events = planEpoch({ pipeline, asked, run, lines, opened, now: isoTime(session.clock) });
  return { key, pipeline, asked, epoch: run.epoch, events };
};

/** The state that a rebuild would begin with, for `--dry-run`; nothing is written. */
export const plannedRun = (
  session: Session,
  {
    paths,
    ticket,
    pipeline,
    asked,
  }: {
    readonly paths: RepositoryPaths;
    readonly ticket: string;
    readonly pipeline: Pipeline;
    readonly asked: string;
  },
): RunState => {
  const directory = runDirectory(paths.mainRoot, ticket);
  const booted = bootRun(session, directory);
  return composeEpoch(ticket, nextEpoch(session, { paths, directory, pipeline, asked, booted })).run;
};

/** A worker of the old epoch would go on writing into the tree of the new one. */
const requireNobody = (directory: RunDirectory, run: RunState): void => {
  const alive = liveChildren(directory, run);
  if (alive.length === 0) return;
  const names = alive.map(({ child, pid }) => `\`${child}\` (process ${pid})`).join(', ');
  throw new Problem({
    kind: 'busy',
    message: `${alive.length === 1 ? 'a child' : 'children'} of ticket \`${run.ticket}\` may still be alive: ${names}`,
    next: `\`orchestrate stop --ticket ${run.ticket}\` ends it; then ask for the rebuild again`,
  });
};

/** A step in git that a crash interrupted may have happened or not. Its record is not thrown away before that is known. */
const requireKnownSteps = ({ pipeline, asked, booted }: RebuildOptions): void => {
  const remade = new Set(downstreamOf(pipeline, asked));
  const unknown = pipeline.targets.find(
    ({ name, recipe }) =>
      remade.has(name) &&
      recipe.kind === 'builtin' &&
      ['commit', 'push', 'land'].includes(recipe.builtin) &&
      targetState(booted.run, name).value === 'running',
  );
  if (unknown === undefined) return;
  const { ticket } = booted.run;
  throw new Problem({
    kind: 'usage',
    message: `\`${unknown.name}\` was interrupted: whether it happened is not known`,
    where: unknown.name,
    next: `\`orchestrate run --ticket ${ticket} --until ${unknown.name}\` finds out; then ask for the rebuild again`,
  });
};

const requireReplaceable = ({ pipeline, asked, booted }: RebuildOptions): void => {
  const { run } = booted;
  const remade = new Set(downstreamOf(pipeline, asked));
  const landed = leftBehind(run)?.landed;
  const makesCommit = pipeline.targets.some(
    ({ name, recipe }) => remade.has(name) && recipe.kind === 'builtin' && recipe.builtin === 'commit',
  );
  const maker = baseMaker(run);
  if (landed === undefined || maker === undefined || !makesCommit || remade.has(maker)) return;
  throw new Problem({
    kind: 'usage',
    message: `ticket \`${run.ticket}\` has landed (\`${landed.slice(0, 12)}\`): \`${asked}\` would be made again on a base without that work, and could not land`,
    where: asked,
    next: `\`orchestrate run --ticket ${run.ticket} --rebuild ${maker}\` starts again from the base as it is now`,
  });
};

/** What a person must know of it, in three lines. */
const noteOf = ({ directory, pipeline, asked, booted }: RebuildOptions): string => {
  const { epoch, targets } = booted.run;
  const remade = new Set(downstreamOf(pipeline, asked));
  const again = pipeline.targets.filter(
    ({ name, gates }) =>
      !remade.has(name) && targets.has(name) && gates.some(({ kind }) => kind === 'approval'),
  );
  return [
    `epoch ${epoch + 1}: a rebuild of ${asked} was asked for; epoch ${epoch} is kept in ${epochFolder(directory, epoch)}`,
    `  made again: ${listed([...remade])}`,
    ...(again.length === 0
      ? []
      : [`  asked again: ${listed(again.map(({ name }) => name))} (an approval does not outlive its epoch)`]),
  ].join('\n');
};

const LISTED = 12;

const listed = (names: readonly string[]): string =>
  names.length <= LISTED
    ? names.join(', ')
    : `${names.slice(0, LISTED).join(', ')} and ${names.length - LISTED} more`;
