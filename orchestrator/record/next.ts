import type { Pipeline, Target } from '../model/pipeline.js';
import { targetState, type RunState } from '../machine/run-state.js';
import type { TargetState } from '../machine/target-machine.js';
import type { BoardLine, NextAction } from '../state/next-action.js';
import type { Tracker } from './tracker.js';

export type RunSummary = 'running' | 'waiting' | 'paused' | 'done' | 'failed' | 'refused' | 'stopped' | 'abandoned';

const REFUSALS = new Set(['evidence-refused', 'record-refused']);

/** What a run is, by its record alone; whether a process runs it now is the lock's business. */
export const summaryOf = (pipeline: Pipeline, run: RunState, tracker: Tracker): RunSummary => {
  const states = [...tracker.notable].map((name) => targetState(run, name));
  const failed = states.find(({ value }) => value === 'failed');
  if (failed !== undefined) return REFUSALS.has(failed.context.failure?.kind ?? '') ? 'refused' : 'failed';
  if (states.some(({ value }) => value === 'paused')) return 'paused';
  if (states.some(({ value }) => value === 'running' || value === 'gating')) return 'running';
  if (states.some(({ value }) => value === 'waiting')) return 'waiting';
  if (tracker.abandoned > 0) return 'abandoned';
  if (tracker.done >= pipeline.targets.length) return 'done';
  return run.stoppedBy === undefined ? 'running' : 'stopped';
};

/** The command that answers an airlock; the one text that `run`, `status` and 99 print. */
export const approveCommand = (ticket: string, target: string, digest: string): string =>
  `orchestrate approve --ticket ${ticket} --target ${target} --digest ${digest}`;

const MARKS = { done: 'x', pending: ' ', failed: '!', abandoned: '-' } as const;

const noteOf = ({ value, context }: TargetState): string => {
  switch (value) {
    case 'running':
      return context.child === undefined ? 'in process' : `child ${context.child}`;
    case 'gating':
      return 'gates are asked';
    case 'waiting':
      return 'waits for a person';
    case 'paused':
      return `paused until ${context.until ?? 'a provider allows it'}`;
    case 'failed':
      return context.failure?.message ?? 'failed';
    case 'done':
    case 'pending':
    case 'abandoned':
      return '';
  }
};

const boardLine = (target: Target, state: TargetState): BoardLine => ({
  number: target.number,
  name: target.name,
  mark: state.value in MARKS ? MARKS[state.value as keyof typeof MARKS] : '>',
  note: noteOf(state),
});

const nextOf = (pipeline: Pipeline, run: RunState, tracker: Tracker): string => {
  const again = `\`orchestrate run --ticket ${run.ticket}\``;
  for (const name of tracker.notable) {
    const { value, context } = targetState(run, name);
    if (value === 'waiting') return `a person answers: \`${approveCommand(run.ticket, name, context.waitingFor?.digest ?? '')}\``;
    if (value === 'failed') return context.failure?.next ?? `${again} tries \`${name}\` again`;
    if (value === 'paused') return `${again} after ${context.until ?? 'the limit is over'}`;
    if (value === 'running' && context.child !== undefined) return `wait for child ${context.child}; its outcome is unknown`;
  }
  const next = pipeline.targets.find(({ name }) => targetState(run, name).value !== 'done');
  return next === undefined ? 'nothing: every target is up to date' : `make ${next.number} ${next.name}`;
};

/** Last Completed Step comes from a journal line and names it; nobody types it. */
const lastCompleted = (pipeline: Pipeline, run: RunState): string => {
  const last = run.lastCompleted;
  if (last === undefined) return 'none';
  const number = pipeline.targets.find(({ name }) => name === last.target)?.number;
  return `${number === undefined ? '' : `${number} `}${last.target} (journal line ${last.seq})`;
};

/** What 99 says: a pure function of the record and the pipeline. */
export const nextActionOf = (pipeline: Pipeline, run: RunState, tracker: Tracker): NextAction => ({
  ticket: run.ticket,
  epoch: run.epoch,
  seq: run.seq,
  pipeline: pipeline.digest,
  state: summaryOf(pipeline, run, tracker),
  board: pipeline.targets.map((target) => boardLine(target, targetState(run, target.name))),
  lastCompleted: lastCompleted(pipeline, run),
  nextAction: nextOf(pipeline, run, tracker),
  directives: run.directivesRead.map(({ id, text }) => ({ id, text, delivered: run.directivesDelivered.includes(id) })),
});
