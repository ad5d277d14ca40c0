/**
 * The life of one target, as a pure reducer: no actors, no timers, no effects. Time is a field of an event, so a replay
 * needs no clock; an effect is what the scheduler's table says that a state waits for.
 *
 *   pending -> running -> gating -> done
 *                 |          |-> waiting (a person) -> gating
 *                 |          |-> pending (try again, or out of date)
 *                 '-> paused '-> failed
 */
import { assign, setup, transition } from 'xstate';
import {
  invalidatedAgain,
  reduce,
  replacing,
  type EventOf,
  type TargetContext,
  type TargetEvent,
} from './target-context.js';

export type TargetValue =
  | 'pending'
  | 'running'
  | 'gating'
  | 'waiting'
  | 'paused'
  | 'failed'
  | 'done'
  | 'abandoned';

export interface TargetState {
  readonly value: TargetValue;
  readonly context: TargetContext;
}

const setupMachine = () =>
  setup({
    types: { context: {} as TargetContext, events: {} as TargetEvent },
    guards: {
      willRetry: ({ event }) => event.type === 'target.failed' && event.retry,
      isAwaiting: ({ event }) => event.type === 'gate.answered' && event.outcome === 'awaiting',
      isPassed: ({ event }) => event.type === 'gate.answered' && event.outcome === 'passed',
      isPolicy: ({ event }) =>
        event.type === 'approval.answered' && event.how === 'policy' && event.answer === 'approved',
      isApproved: ({ context, event }) => isAnswer(context, event) && event.answer === 'approved',
      isRejected: ({ context, event }) => isAnswer(context, event) && event.answer === 'rejected',
    },
    actions: {
      keep: assign(({ context, event }) => replacing(context, reduce(context, event))),
      gather: assign(({ context, event }) =>
        event.type === 'target.invalidated' ? replacing(context, invalidatedAgain(context, event)) : context,
      ),
      /** A new run gives a failed target a new budget of attempts. */
      forgive: assign({ failures: 0 }),
    },
  });

/** An answer counts for the bytes that were asked about, and for no others. */
const isAnswer = (context: TargetContext, event: TargetEvent): event is EventOf<'approval.answered'> =>
  event.type === 'approval.answered' && event.digest === context.waitingFor?.digest;

const outOfDate = { 'target.invalidated': { target: 'pending', actions: 'keep' } } as const;
const canAbandon = { 'target.abandoned': { target: 'abandoned', actions: 'keep' } } as const;
const start = { 'target.started': { target: 'running', actions: 'keep' } } as const;

const failing = {
  'target.failed': [
    { guard: 'willRetry', target: 'pending', actions: 'keep' },
    { target: 'failed', actions: 'keep' },
  ],
} as const;

const gatingOn = {
  'work.sealed': { actions: 'keep' },
  // A policy answers at once, so that no crash can fall between the question and its answer.
  'approval.answered': { guard: 'isPolicy', actions: 'keep' },
  'gate.answered': [
    { guard: 'isAwaiting', target: 'waiting', actions: 'keep' },
    { guard: 'isPassed', actions: 'keep' },
    { actions: 'keep' },
  ],
  'target.done': { target: 'done', actions: 'keep' },
  'target.paused': { target: 'paused', actions: 'keep' },
  ...failing,
  ...outOfDate,
  ...canAbandon,
} as const;

/** Every target begins here; one value is shared by all of them, so that ten thousand waiting targets cost nothing. */
export const INITIAL: TargetState = {
  value: 'pending',
  context: { attempt: 0, failures: 0, round: 1, gate: 0, feedback: [] },
};

const createMachine = () =>
  setupMachine().createMachine({
    id: 'target',
    initial: 'pending',
    context: INITIAL.context,
    states: {
      pending: {
        on: {
          ...start,
          ...canAbandon,
          'target.invalidated': { actions: 'gather' },
          'target.done': { target: 'done', actions: 'keep' },
        },
      },
      running: {
        on: {
          'child.ended': { target: 'gating', actions: 'keep' },
          'target.done': { target: 'done', actions: 'keep' },
          'target.paused': { target: 'paused', actions: 'keep' },
          ...failing,
          ...outOfDate,
          ...canAbandon,
        },
      },
      gating: { on: gatingOn },
      waiting: {
        on: {
          'approval.answered': [
            { guard: 'isApproved', target: 'gating', actions: 'keep' },
            { guard: 'isRejected', target: 'pending', actions: 'keep' },
          ],
          ...outOfDate,
          ...canAbandon,
        },
      },
      paused: { on: { ...start, ...outOfDate, ...canAbandon } },
      failed: {
        on: {
          'target.started': { target: 'running', actions: ['forgive', 'keep'] },
          ...outOfDate,
          ...canAbandon,
        },
      },
      done: { on: { ...start, ...outOfDate } },
      abandoned: {},
    },
  });

/** Made for the first event: a run that finds everything up to date needs no machine, and loads none. */
let machine: ReturnType<typeof createMachine> | undefined;

/** A target of which an earlier epoch knows only how often it was started. */
export const neverMade = (attempt: number, reason: string | undefined): TargetState => ({
  value: INITIAL.value,
  context: { ...INITIAL.context, attempt, ...(reason === undefined ? {} : { reason }) },
});

/**
 * The next state. Pure; the same events give the same state on every replay.
 * @throws Error for an event that the state does not know: a bug or a journal that is not ours, never ignored
 */
export const advance = (state: TargetState, event: TargetEvent): TargetState => {
  machine ??= createMachine();
  const current = machine.resolveState(state);
  const [next] = transition(machine, current, event);
  // Whatever a state knows makes a new context.
  if (next.context === current.context) {
    throw new Error(`${event.type} cannot follow: target \`${event.target}\` is ${state.value}`);
  }
  return { value: next.value, context: next.context };
};
