/**
 * What is known of one target, and what each event makes of it. Pure; which event may come when is the machine's business.
 */
import { UNKNOWN_USAGE, addUsage, type ChildEnd, type Usage, type Verdict } from '../model/child.js';
import type { Digest } from '../model/digest.js';
import type {
  ContainmentRecord,
  DocumentPointer,
  Facts,
  GateAnswered,
  Receipt,
  RunEvent,
} from '../model/event.js';

/** Who opened an airlock, how, and for which bytes. */
export interface Approval {
  readonly digest: Digest;
  readonly by: string;
  readonly how: 'tty' | 'command' | 'policy';
  readonly from?: string;
  readonly note?: string;
}

export interface TargetContext {
  /** Starts over all epochs; also the generation of the last fork. */
  readonly attempt: number;
  /** Failed attempts since the last success, new round or new run. */
  readonly failures: number;
  readonly round: number;
  readonly reason?: string;
  readonly recipe?: Digest;
  readonly inputs?: Readonly<Record<string, Digest>>;
  readonly output?: Digest;
  readonly child?: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly end?: ChildEnd;
  readonly status?: 'done' | 'no-change' | 'blocked';
  readonly summary?: readonly string[];
  /** Of the last attempt. */
  readonly usage?: Usage;
  /** Of all attempts of this epoch. */
  readonly spent?: Usage;
  readonly verdict?: Verdict;
  readonly artifacts?: readonly DocumentPointer[];
  readonly receipt?: Receipt;
  /** Digest of the nonce of a review. */
  readonly nonce?: Digest;
  readonly containment?: ContainmentRecord;
  readonly agent?: { readonly name: string; readonly why: string };
  readonly administration?: Digest;
  /** Attempts in a row that the provider's passing faults ended. */
  readonly passing?: number;
  /** Attempts in a row whose return was not valid. */
  readonly invalidReturns?: number;
  /** Index of the next gate to ask. */
  readonly gate: number;
  readonly waitingFor?: GateAnswered;
  readonly approval?: Approval;
  readonly failure?: { readonly kind: string; readonly message: string; readonly next?: string };
  readonly feedback: readonly string[];
  readonly facts?: Facts;
  readonly until?: string;
  /** Directives that the prompt of this attempt carried. */
  readonly directives?: readonly number[];
}

export type TargetEvent = Extract<RunEvent, { readonly target: string }> & { readonly at: string };

export type EventOf<Type extends TargetEvent['type']> = Extract<TargetEvent, { readonly type: Type }>;

/** Lines of feedback that one attempt hands to the next. */
const FEEDBACK_LINES = 60;

const without = <T extends object, K extends keyof T>(value: T, ...keys: K[]): Omit<T, K> => {
  const copy = { ...value };
  for (const key of keys) delete copy[key];
  return copy;
};

/** Those of the keys that have a value. */
const present = <T extends object, K extends keyof T>(value: T, ...keys: K[]): Partial<Pick<T, K>> => {
  const some: Partial<Pick<T, K>> = {};
  for (const key of keys) if (value[key] !== undefined) some[key] = value[key];
  return some;
};

const started = (context: TargetContext, event: EventOf<'target.started'>): TargetContext => ({
  attempt: event.attempt,
  failures: context.failures,
  round: event.round,
  reason: event.reason,
  recipe: event.recipe,
  inputs: event.inputs,
  startedAt: event.at,
  gate: 0,
  feedback: context.feedback,
  ...present(event, 'child', 'nonce', 'receipt', 'containment', 'agent', 'administration', 'directives'),
  // Its output stays known: work that is made again with the same result changes nothing downstream.
  ...present(context, 'invalidReturns', 'passing', 'spent', 'output', 'facts'),
});

const ended = (context: TargetContext, event: EventOf<'child.ended'>): TargetContext => ({
  ...withoutCounts(context, event.end),
  ...invalidReturns(context, event.end),
  end: event.end,
  summary: event.summary,
  usage: event.usage,
  spent: addUsage(context.spent ?? UNKNOWN_USAGE, event.usage),
  endedAt: event.at,
  ...(event.status === undefined ? {} : { status: event.status }),
  ...(event.verdict === undefined ? {} : { verdict: event.verdict }),
});

/** Whoever came to an end of its own was not ended by the provider. */
const withoutCounts = (context: TargetContext, { kind }: ChildEnd): TargetContext =>
  kind === 'exited' ? without(context, 'invalidReturns', 'passing') : without(context, 'invalidReturns');

/** A return that is not valid is mended by one new fork; the second in a row is a failure. */
const invalidReturns = (context: TargetContext, end: ChildEnd): { readonly invalidReturns?: number } =>
  end.kind === 'contract' ? { invalidReturns: (context.invalidReturns ?? 0) + 1 } : {};

const sealed = (context: TargetContext, event: EventOf<'work.sealed'>): TargetContext => ({
  ...context,
  artifacts: event.artifacts,
  ...(event.receipt === undefined ? {} : { receipt: event.receipt }),
});

const done = (context: TargetContext, event: EventOf<'target.done'>): TargetContext => ({
  ...without(context, 'waitingFor', 'failure', 'until'),
  failures: 0,
  feedback: [],
  output: event.output,
  summary: event.summary,
  endedAt: event.at,
  ...(event.end === undefined ? {} : { end: event.end }),
  ...(event.facts === undefined ? {} : { facts: event.facts }),
});

const failedBy = (context: TargetContext, event: EventOf<'target.failed'>): TargetContext => ({
  ...without(context, 'waitingFor'),
  failures: context.failures + (event.kind === 'interrupted' || event.passing === true ? 0 : 1),
  ...(event.passing === true ? { passing: (context.passing ?? 0) + 1 } : {}),
  failure: {
    kind: event.kind,
    message: event.message,
    ...(event.next === undefined ? {} : { next: event.next }),
  },
  endedAt: event.at,
  // The next attempt learns why this one failed; that it was interrupted teaches nothing.
  feedback:
    event.kind === 'interrupted'
      ? context.feedback
      : [...context.feedback, event.message, ...(event.summary ?? [])].slice(-FEEDBACK_LINES),
  ...(event.end === undefined ? {} : { end: event.end }),
  ...(event.summary === undefined ? {} : { summary: event.summary }),
});

const invalidated = (context: TargetContext, event: EventOf<'target.invalidated'>): TargetContext => ({
  ...without(context, 'waitingFor', 'failure'),
  failures: 0,
  round: event.round ?? context.round,
  reason: event.because,
  feedback: event.feedback,
});

/** Compressed harder than what is done: its name and the reason are all that is said of it. Facts and seals stay facts. */
const abandoned = (context: TargetContext, event: EventOf<'target.abandoned'>): TargetContext => ({
  ...without(context, 'waitingFor', 'failure', 'until', 'summary', 'verdict', 'status'),
  reason: event.because,
  feedback: [],
});

/** Found fault with by a second one before it was made again: it answers to both. */
export const invalidatedAgain = (
  context: TargetContext,
  event: EventOf<'target.invalidated'>,
): TargetContext => ({
  ...invalidated(context, event),
  feedback: [...new Set([...context.feedback, ...event.feedback])],
});

/** `assign` merges: what the new context does not have must be taken away, or a new attempt inherits the old one's seal. */
export const replacing = (before: TargetContext, after: TargetContext): TargetContext => ({
  ...Object.fromEntries(Object.keys(before).map((key) => [key, undefined])),
  ...after,
});

export const reduce = (context: TargetContext, event: TargetEvent): TargetContext => {
  switch (event.type) {
    case 'target.started':
      return started(context, event);
    case 'child.ended':
      return ended(context, event);
    case 'work.sealed':
      return sealed(context, event);
    case 'gate.answered':
      return answered(context, event);
    case 'approval.answered':
      return decided(context, event);
    case 'target.done':
      return done(context, event);
    case 'target.failed':
      return failedBy(context, event);
    case 'target.invalidated':
      return invalidated(context, event);
    case 'target.paused':
      return { ...context, ...(event.until === null ? {} : { until: event.until }) };
    case 'target.abandoned':
      return abandoned(context, event);
  }
};

const answered = (context: TargetContext, event: EventOf<'gate.answered'>): TargetContext => {
  if (event.outcome === 'passed') return { ...without(context, 'waitingFor'), gate: event.gate + 1 };
  return event.outcome === 'awaiting' ? { ...context, waitingFor: without(event, 'at') } : context;
};

const decided = (context: TargetContext, event: EventOf<'approval.answered'>): TargetContext => {
  const rest = without(context, 'waitingFor');
  const { digest, by, how, from, note } = event;
  if (event.answer === 'approved') {
    return {
      ...rest,
      gate: context.gate + 1,
      approval: {
        digest,
        by,
        how,
        ...(from === undefined ? {} : { from }),
        ...(note === undefined ? {} : { note }),
      },
    };
  }
  return {
    ...rest,
    reason: `rejected by ${event.by}`,
    feedback: [`rejected by ${event.by}: ${event.note ?? ''}`],
  };
};
