import type { Pipeline, Target } from '../model/pipeline.js';
import { targetState, type RunState } from '../machine/run-state.js';
import type { TargetContext } from '../machine/target-context.js';
import type { TargetState, TargetValue } from '../machine/target-machine.js';
import { BOARD_LINES, type BoardLine, type NextAction } from '../state/next-action.js';
import type { Tracker } from './tracker.js';

export type RunSummary =
  | 'running'
  | 'waiting'
  | 'paused'
  | 'done'
  | 'failed'
  | 'refused'
  | 'stopped'
  | 'abandoned';

const REFUSALS = new Set(['evidence-refused', 'record-refused']);

const positions = new WeakMap<Pipeline, ReadonlyMap<string, number>>();

const positionsIn = (pipeline: Pipeline): ReadonlyMap<string, number> => {
  const known =
    positions.get(pipeline) ?? new Map(pipeline.targets.map(({ name }, position) => [name, position]));
  positions.set(pipeline, known);
  return known;
};

/** Targets that are neither pending nor at their end, in order. What the pipeline no longer has does not count. */
const notableIn = (pipeline: Pipeline, tracker: Tracker): Target[] => {
  const known = positionsIn(pipeline);
  return [...tracker.notable]
    .map((name) => known.get(name))
    .filter((position) => position !== undefined)
    .toSorted((a, b) => a - b)
    .map((position) => pipeline.targets[position])
    .filter((target) => target !== undefined);
};

/** The first target that is not done; the search goes on where the last one ended. */
const firstOpen = (pipeline: Pipeline, run: RunState, tracker: Tracker): Target | undefined => {
  const { targets } = pipeline;
  const isDone = (position: number): boolean =>
    targetState(run, targets[position]?.name ?? '').value === 'done';
  while (tracker.front < targets.length && isDone(tracker.front)) tracker.front += 1;
  return targets[tracker.front];
};

/** What a run is, by its record alone; whether a process runs it now is the lock's business. */
export const summaryOf = (pipeline: Pipeline, run: RunState, tracker: Tracker): RunSummary => {
  const states = notableIn(pipeline, tracker).map(({ name }) => targetState(run, name));
  const failed = states.find(({ value }) => value === 'failed');
  if (failed !== undefined) return REFUSALS.has(failed.context.failure?.kind ?? '') ? 'refused' : 'failed';
  if (states.some(({ value }) => value === 'paused')) return 'paused';
  if (states.some(({ value }) => value === 'running' || value === 'gating')) return 'running';
  if (states.some(({ value }) => value === 'waiting')) return 'waiting';
  if (
    tracker.abandoned > 0 &&
    pipeline.targets.some(({ name }) => targetState(run, name).value === 'abandoned')
  )
    return 'abandoned';
  if (firstOpen(pipeline, run, tracker) === undefined) return 'done';
  return run.stoppedBy === undefined ? 'running' : 'stopped';
};

/** The command that answers an airlock; the one text that `run`, `status` and 99 print. */
export const approveCommand = (ticket: string, target: string, digest: string): string =>
  `orchestrate approve --ticket ${ticket} --target ${target} --digest ${digest}`;

const MARKS = { done: 'x', pending: ' ', failed: '!', abandoned: '-' } as const;

const NOTES: Readonly<Record<TargetValue, (context: TargetContext) => string>> = {
  pending: () => '',
  running: ({ child }) => (child === undefined ? 'in process' : `child ${child}`),
  gating: () => 'gates are asked',
  waiting: () => 'waits for a person',
  paused: ({ until }) => `paused until ${until ?? 'a provider allows it'}`,
  failed: ({ failure }) => failure?.message ?? 'failed',
  done: () => '',
  abandoned: ({ reason }) => reason ?? 'abandoned',
};

const boardLine = (target: Target, state: TargetState): BoardLine => ({
  number: target.number,
  name: target.name,
  mark: state.value in MARKS ? MARKS[state.value as keyof typeof MARKS] : '>',
  note: NOTES[state.value](state.context),
});

const nextOf = (pipeline: Pipeline, run: RunState, tracker: Tracker): string => {
  for (const { name } of notableIn(pipeline, tracker)) {
    const step = stepOf(run, name);
    if (step !== undefined) return step;
  }
  const next = firstOpen(pipeline, run, tracker);
  if (next === undefined) return 'nothing: every target is up to date';
  return tracker.abandoned === 0 ? `make ${next.number} ${next.name}` : besidesAbandoned(pipeline, run);
};

/** What a target that is neither pending nor at its end waits for; `undefined` when it is nothing from outside. */
const stepOf = (run: RunState, name: string): string | undefined => {
  const { value, context } = targetState(run, name);
  const again = `\`orchestrate run --ticket ${run.ticket}\``;
  if (value === 'waiting')
    return `a person answers: \`${approveCommand(run.ticket, name, context.waitingFor?.digest ?? '')}\``;
  if (value === 'failed') return context.failure?.next ?? `${again} tries \`${name}\` again`;
  if (value === 'paused') return `${again} after ${context.until ?? 'the limit is over'}`;
  const isWorking = value === 'running' && context.child !== undefined;
  return isWorking ? `wait for child ${context.child}; its outcome is unknown` : undefined;
};

/** Behind what was given up nothing can be made; what stands elsewhere still can. */
const besidesAbandoned = (pipeline: Pipeline, run: RunState): string => {
  const valueOf = (name: string): TargetValue => targetState(run, name).value;
  const open = pipeline.targets.filter(({ name }) => valueOf(name) !== 'done');
  const next = open.find(
    ({ name, needs }) => valueOf(name) !== 'abandoned' && needs.every((need) => valueOf(need) === 'done'),
  );
  if (next !== undefined) return `make ${next.number} ${next.name}`;
  const first = open.find(({ name }) => valueOf(name) === 'abandoned');
  return `nothing: it was abandoned; \`${rebuildCommand(run.ticket, first?.name ?? 'TARGET')}\` starts again`;
};

/** The way out of an abandoned target; the one text that `run` and 99 print. */
export const rebuildCommand = (ticket: string, target: string): string =>
  `orchestrate run --ticket ${ticket} --rebuild ${target}`;

/** Nothing is to be made any more: everything was, or a person gave up the rest. */
export const isOver = (pipeline: Pipeline, run: RunState): boolean =>
  run.finishedAt !== undefined || isGivenUp(pipeline, run);

/** Has a person given up all that was not done? Then nothing is started any more. */
export const isGivenUp = (pipeline: Pipeline, run: RunState): boolean => {
  const values = pipeline.targets.map(({ name }) => targetState(run, name).value);
  return values.includes('abandoned') && values.every((value) => value === 'done' || value === 'abandoned');
};

/** Last Completed Step comes from a journal line and names it; nobody types it. */
const lastCompleted = (pipeline: Pipeline, run: RunState): string => {
  const last = run.lastCompleted;
  if (last === undefined) return 'none';
  const number = pipeline.targets[positionsIn(pipeline).get(last.target) ?? -1]?.number;
  return `${number === undefined ? '' : `${number} `}${last.target} (journal line ${last.seq})`;
};

/** What 99 says: a pure function of the record and the pipeline. */
export const nextActionOf = (pipeline: Pipeline, run: RunState, tracker: Tracker): NextAction => ({
  ticket: run.ticket,
  epoch: run.epoch,
  seq: run.seq,
  pipeline: pipeline.digest,
  state: summaryOf(pipeline, run, tracker),
  total: pipeline.targets.length,
  done: Math.min(tracker.done, pipeline.targets.length),
  board: (pipeline.targets.length <= BOARD_LINES ? pipeline.targets : notableIn(pipeline, tracker)).map(
    (target) => boardLine(target, targetState(run, target.name)),
  ),
  lastCompleted: lastCompleted(pipeline, run),
  nextAction: nextOf(pipeline, run, tracker),
  directives: run.directivesRead.map(({ id, text }) => ({
    id,
    text,
    delivered: run.directivesDelivered.includes(id),
  })),
});
