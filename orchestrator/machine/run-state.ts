/**
 * What the journal says about a run. Built by replay only, so that a crash, a compaction and a plain second `run` see the
 * same. Everything in it can be written down as JSON.
 *
 * R1  Nothing but `applyLine` changes a RunState.
 * R2  A target that no event names has no entry: a run of ten thousand waiting targets is an empty map.
 */
import type { Digest } from '../model/digest.js';
import type { Usage } from '../model/child.js';
import type { FileStat, JournalLine, Receipt, RunEvent, RunOpened } from '../model/event.js';
import type { Verdict } from '../model/child.js';
import { advance, INITIAL, type TargetEvent, type TargetState } from './target-machine.js';

/** One critic round, as document 30 shows it. */
export interface ReviewRound {
  readonly round: number;
  readonly at: string;
  readonly target: string;
  readonly child?: string;
  readonly outcome: 'APPROVED' | 'REJECTED' | 'REFUSED';
  readonly receipt?: Receipt;
  readonly verdict?: Verdict;
  readonly detail: readonly string[];
}

export interface RunState {
  ticket: string;
  epoch: number;
  opened?: RunOpened;
  openedAt?: string;
  /** Number of the last journal line that was applied. */
  seq: number;
  lastAt?: string;
  targets: Map<string, TargetState>;
  /** Text of each state document as the journal knows it, 99 apart. */
  documents: Record<string, string>;
  /** Documents that the last line wrote: only they may be missing or short after a crash. */
  freshDocuments: string[];
  rounds: ReviewRound[];
  directivesRead: { readonly id: number; readonly text: string; readonly digest: Digest }[];
  /** Directives that a forked child's prompt carried. */
  directivesDelivered: number[];
  lastCompleted?: { readonly target: string; readonly seq: number; readonly at: string };
  /** Signatures of the last failures in a row, newest last. */
  failures: string[];
  forks: number;
  usage: Usage;
  finishedAt?: string;
  stoppedBy?: string;
  /** Digests of input and output files by path: a cache, in the checkpoint but not in the journal. */
  stats: Record<string, FileStat>;
}

export const emptyRun = (ticket: string): RunState => ({
  ticket,
  epoch: 0,
  seq: 0,
  targets: new Map(),
  documents: {},
  freshDocuments: [],
  rounds: [],
  directivesRead: [],
  directivesDelivered: [],
  failures: [],
  forks: 0,
  stats: {},
  usage: { inputTokens: null, outputTokens: null, costUsd: null },
});

export const targetState = (run: RunState, name: string): TargetState => run.targets.get(name) ?? INITIAL;

/** @throws Error when the event cannot follow: the journal is then not ours, or we have a bug */
export const applyLine = (run: RunState, line: JournalLine): void => {
  const { event } = line;
  run.seq = line.seq;
  run.lastAt = line.at;
  if (event.type === 'target.invalidated') {
    for (const name of [event.target, ...event.also]) {
      applyTarget(run, name, { ...event, target: name, at: line.at, ...(name === event.target ? {} : { feedback: [] }) });
    }
  } else if ('target' in event) {
    applyTarget(run, event.target, { ...event, at: line.at });
  }
  noteEvent(run, event, line);
};

const applyTarget = (run: RunState, name: string, event: TargetEvent): void => {
  const state = targetState(run, name);
  // A target that is already waiting to be made needs no second reason.
  if (event.type === 'target.invalidated' && state === INITIAL) return;
  if (event.type === 'target.invalidated' && state.value === 'abandoned') return;
  run.targets.set(name, advance(state, event));
};

const addKnown = (a: number | null, b: number | null): number | null =>
  b === null ? a : (a ?? 0) + b;

export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: addKnown(a.inputTokens, b.inputTokens),
  outputTokens: addKnown(a.outputTokens, b.outputTokens),
  costUsd: addKnown(a.costUsd, b.costUsd),
});

const noteEvent = (run: RunState, event: RunEvent, line: JournalLine): void => {
  const writes = 'documents' in event ? (event.documents ?? []) : [];
  run.freshDocuments = writes.map(({ name }) => name);
  for (const { name, append, text } of writes) {
    run.documents[name] = append === true ? (run.documents[name] ?? '') + text : text;
  }
  switch (event.type) {
    case 'run.opened':
      run.epoch = event.epoch;
      run.opened = event;
      run.openedAt = line.at;
      break;
    case 'target.started':
      delete run.finishedAt;
      delete run.stoppedBy;
      if (event.child !== undefined) run.forks += 1;
      run.directivesDelivered.push(...(event.directives ?? []));
      break;
    case 'child.ended':
      run.usage = addUsage(run.usage, event.usage);
      break;
    case 'gate.answered':
      noteVerdict(run, event, line);
      break;
    case 'target.done':
      run.lastCompleted = { target: event.target, seq: line.seq, at: line.at };
      run.failures = [];
      break;
    case 'target.failed':
      if (event.kind === 'interrupted') break;
      run.failures = [...run.failures, failureSignature(event.target, event.kind, event.message)].slice(-10);
      break;
    case 'directive.read':
      run.directivesRead.push({ id: event.id, text: event.text, digest: event.digest });
      break;
    case 'run.finished':
      run.finishedAt = line.at;
      break;
    case 'run.stopped':
      run.stoppedBy = event.by;
      break;
    default:
      break;
  }
};

const noteVerdict = (
  run: RunState,
  event: Extract<RunEvent, { readonly type: 'gate.answered' }>,
  line: JournalLine,
): void => {
  if (event.kind !== 'verdict' || event.outcome === 'awaiting') return;
  const { context } = targetState(run, event.target);
  const refusedOutcome = context.verdict?.verdict === 'REJECTED' ? 'REJECTED' : 'REFUSED';
  run.rounds.push({
    round: context.round,
    at: line.at,
    target: event.target,
    outcome: event.outcome === 'passed' ? 'APPROVED' : refusedOutcome,
    detail: event.detail,
    ...(context.child === undefined ? {} : { child: context.child }),
    ...(context.receipt === undefined ? {} : { receipt: context.receipt }),
    ...(context.verdict === undefined ? {} : { verdict: context.verdict }),
  });
};

/** What makes two failures the same, for the circuit breaker. */
export const failureSignature = (target: string, kind: string, message: string): string => `${target}: ${kind}: ${message}`;

/** A fact that some target found out; the latest wins. */
export const factOf = <K extends keyof NonNullable<TargetState['context']['facts']>>(
  run: RunState,
  name: K,
): NonNullable<TargetState['context']['facts']>[K] | undefined => {
  let found: NonNullable<TargetState['context']['facts']>[K] | undefined;
  for (const { context } of run.targets.values()) found = context.facts?.[name] ?? found;
  return found;
};
