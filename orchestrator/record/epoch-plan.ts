/**
 * The next epoch of a ticket, as data: which events its journal begins with. Pure.
 *
 * E1  What was asked for and everything downstream of it is as never made. Its attempts go on counting.
 * E2  Everything else keeps the result of its last attempt: the events of that attempt are recorded again, in their old
 *     order, with their old times. What a replay makes of them is what the old epoch had made of them.
 * E3  No approval is carried over, neither a person's nor a policy's. A target with such a gate is carried up to its
 *     sealed work: its child is not forked again, and its gates are asked again from the first.
 */
import type {
  DocumentWrite,
  JournalLine,
  LeftBehind,
  ReviewRound,
  RunEvent,
  RunOpened,
  RunRebuilt,
} from '../model/event.js';
import type { Pipeline, Target } from '../model/pipeline.js';
import { baseMaker, leftBehind } from '../machine/left-behind.js';
import { targetState, type RunState } from '../machine/run-state.js';
import type { TargetState } from '../machine/target-machine.js';
import { criticHeader, criticRecord } from '../state/documents.js';

const REBUILD_REASON = 'rebuild was asked for';

export interface EpochRequest {
  readonly pipeline: Pipeline;
  /** A target of the pipeline. */
  readonly asked: string;
  /** The old epoch, replayed. */
  readonly run: RunState;
  /** Its journal. */
  readonly lines: readonly JournalLine[];
  /** First event of the new epoch. */
  readonly opened: RunOpened;
  /** ISO 8601, UTC. */
  readonly now: string;
}

export interface TimedEvent {
  readonly event: RunEvent;
  readonly at: string;
}

/** The target and everything downstream of it, in the order of the pipeline. */
export const downstreamOf = (pipeline: Pipeline, name: string): string[] => {
  const below = new Set([name]);
  for (const target of pipeline.targets)
    if (target.needs.some((need) => below.has(need))) below.add(target.name);
  return pipeline.targets.map((target) => target.name).filter((candidate) => below.has(candidate));
};

/** All events of the new journal, in order: opened, rebuilt, directives, carried results, what is still to be made. */
export const planEpoch = (request: EpochRequest): readonly TimedEvent[] => {
  const { pipeline, run, lines, opened, now } = request;
  const targets = downstreamOf(pipeline, request.asked);
  const remade = new Set(targets);
  const kept = new Map(
    pipeline.targets.filter(({ name }) => !remade.has(name)).map((target) => [target.name, target]),
  );
  const asked = askedAgain(kept, run, lines);
  const carried = carriedLines({ kept, run, lines, asked });
  const rounds = earlierRounds(run, carried, (name) => kept.has(name) && !asked.has(name));
  return [
    { event: opened, at: now },
    { event: { ...rebuiltEvent(request, targets), ...roundsOf(rounds, opened) }, at: now },
    ...lines.filter(({ event }) => event.type === 'directive.read'),
    ...inEpoch(carried, opened, { from: run.epoch, hasCritic: rounds.length > 0 }),
    ...stillToBeMade(kept, run, asked).map((event) => ({ event, at: now })),
  ].map(({ event, at }) => ({ event, at }));
};

const rebuiltEvent = ({ asked, run }: EpochRequest, targets: readonly string[]): RunRebuilt => {
  const left = leftNow(run, targets);
  const attempts = [...run.targets].map(([name, { context }]) => [name, context.attempt] as const);
  return {
    type: 'run.rebuilt',
    asked,
    because: REBUILD_REASON,
    targets,
    attempts: Object.fromEntries(attempts.filter(([, attempt]) => attempt > 0)),
    delivered: [...new Set(run.directivesDelivered)],
    ...(left === undefined ? {} : { left }),
  };
};

const leftNow = (run: RunState, remade: readonly string[]): LeftBehind | undefined => {
  const left = leftBehind(run);
  if (left === undefined || !remade.includes(baseMaker(run) ?? '')) return left;
  // The new base has what landed.
  const rest: { -readonly [K in keyof LeftBehind]: LeftBehind[K] } = { ...left };
  delete rest.landed;
  return rest;
};

/** Number of the line that a target's last attempt began with, or of the first one after it was last out of date. */
const lastBegins = (lines: readonly JournalLine[]): Map<string, number> => {
  const begins = new Map<string, number>();
  for (const { event, seq } of lines) {
    if (event.type === 'target.started') begins.set(event.target, seq);
    if (event.type !== 'target.invalidated') continue;
    for (const name of [event.target, ...event.also]) begins.set(name, seq + 1);
  }
  return begins;
};

/** E3: kept targets that have an approval gate, by the pipeline as it is now or as it was then. */
const askedAgain = (
  kept: ReadonlyMap<string, Target>,
  run: RunState,
  lines: readonly JournalLine[],
): ReadonlySet<string> => {
  const asked = new Set<string>();
  for (const { event } of lines) {
    const isApproval =
      event.type === 'approval.answered' || (event.type === 'gate.answered' && event.kind === 'approval');
    if (isApproval && kept.has(event.target)) asked.add(event.target);
  }
  for (const { name, gates, recipe } of kept.values()) {
    if (recipe.kind !== 'builtin' && run.targets.has(name) && gates.some(({ kind }) => kind === 'approval'))
      asked.add(name);
  }
  return asked;
};

/** Judged again from the start, so that nothing which led to an approval is carried either. */
const JUDGEMENTS: ReadonlySet<RunEvent['type']> = new Set([
  'gate.answered',
  'approval.answered',
  'target.done',
]);

interface Carrying {
  readonly kept: ReadonlyMap<string, Target>;
  readonly run: RunState;
  readonly lines: readonly JournalLine[];
  readonly asked: ReadonlySet<string>;
}

const carriedLines = ({ kept, run, lines, asked }: Carrying): JournalLine[] => {
  const begins = lastBegins(lines);
  return lines.filter(({ event, seq }) => {
    if (!('target' in event) || event.type === 'target.invalidated') return false;
    const target = kept.get(event.target);
    if (target === undefined || seq < (begins.get(target.name) ?? 0)) return false;
    const state = targetState(run, target.name);
    if (state.value === 'abandoned') return event.type === 'target.abandoned';
    if (isToBeMade(target, state, asked)) return false;
    return !(asked.has(target.name) && JUDGEMENTS.has(event.type));
  });
};

/** Kept, but with no result that is worth anything: it waits for its next attempt, or its sealed work is of another recipe. */
const isToBeMade = (target: Target, { value, context }: TargetState, asked: ReadonlySet<string>): boolean =>
  value === 'pending' ||
  (isOutOfDate(target, context.recipe, asked) && ['done', 'gating', 'waiting'].includes(value));

/** A person is not asked about work that is to be made again at once; freshness finds out about the others. */
const isOutOfDate = (target: Target, recipe: string | undefined, asked: ReadonlySet<string>): boolean =>
  asked.has(target.name) && !target.latch && recipe !== target.recipeDigest;

/** What the next attempt must know of the ones before. */
const stillToBeMade = (
  kept: ReadonlyMap<string, Target>,
  run: RunState,
  asked: ReadonlySet<string>,
): RunEvent[] =>
  [...run.targets].flatMap(([name, state]): RunEvent[] => {
    const target = kept.get(name);
    if (target === undefined || !isToBeMade(target, state, asked)) return [];
    const { round, feedback } = state.context;
    return [
      { type: 'target.invalidated', target: name, also: [], because: whyToBeMade(state), feedback, round },
    ];
  });

const whyToBeMade = ({ value, context }: TargetState): string => {
  if (value !== 'pending') return 'its recipe changed (definition, worker, kernel or manual)';
  return context.failure === undefined
    ? (context.reason ?? 'it was never made')
    : `attempt ${context.attempt} failed: ${context.failure.message}`;
};

/** Rounds of kept reviews that no carried event brings: the ones before their last. */
const earlierRounds = (
  run: RunState,
  carried: readonly JournalLine[],
  isKept: (name: string) => boolean,
): ReviewRound[] => {
  const brought = new Set<string>();
  for (const { event, at } of carried)
    if (event.type === 'gate.answered') brought.add(`${event.target} ${at}`);
  return run.rounds.filter(({ target, at }) => isKept(target) && !brought.has(`${target} ${at}`));
};

const roundsOf = (
  rounds: readonly ReviewRound[],
  { ticket, epoch }: RunOpened,
): Pick<RunRebuilt, 'rounds' | 'documents'> =>
  rounds.length === 0
    ? {}
    : {
        rounds,
        documents: [
          {
            name: CRITIC,
            append: true,
            text: criticHeader(ticket, epoch) + rounds.map(criticRecord).join(''),
          },
        ],
      };

const CRITIC = '30_critic_summary.md';

/** The documents that carried events write, rendered for the new epoch. */
const inEpoch = (
  lines: readonly JournalLine[],
  opened: RunOpened,
  before: { readonly from: number; readonly hasCritic: boolean },
): TimedEvent[] => {
  const { from } = before;
  let { hasCritic } = before;
  const rendered = ({ name, append, text }: DocumentWrite): DocumentWrite => {
    const renamed = text.replace(HEAD, (head) =>
      head.replace(`\nepoch: ${from}\n`, `\nepoch: ${opened.epoch}\n`),
    );
    if (append !== true) return { name, text: renamed };
    // Only the first record of the old epoch brought the header, and it may not be among those that are carried.
    const header = hasCritic || HEAD.test(text) ? '' : criticHeader(opened.ticket, opened.epoch);
    hasCritic = true;
    return { name, append, text: header + renamed };
  };
  return lines.map(({ event, at }) =>
    'documents' in event && event.documents !== undefined
      ? { event: { ...event, documents: event.documents.map(rendered) }, at }
      : { event, at },
  );
};

/** Front matter, which only we write: one `key: JSON` a line. */
const HEAD = /^---\n[\s\S]*?\n---\n/;
