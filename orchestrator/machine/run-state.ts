/**
 * What the journal says about a run. Built by replay only, so that a crash, a compaction and a plain second `run` see the
 * same. Everything in it can be written down as JSON.
 *
 * R1  Nothing but `applyLine` changes a RunState.
 * R2  A target that no event names has no entry: a run of ten thousand waiting targets is an empty map.
 */
import type { Digest } from '../model/digest.js';
import { UNKNOWN_USAGE, addUsage, type Usage } from '../model/child.js';
import type {
  Facts,
  FileStat,
  JournalLine,
  LeftBehind,
  PipelineChanged,
  ReviewRound,
  RunEvent,
  RunOpened,
  RunRebuilt,
} from '../model/event.js';
import type { TargetEvent } from './target-context.js';
import { advance, INITIAL, neverMade, type TargetState } from './target-machine.js';

export interface RunState {
  ticket: string;
  epoch: number;
  opened?: RunOpened;
  openedAt?: string;
  /** The last change of the pipeline since the epoch was opened. */
  changed?: PipelineChanged;
  /** Where earlier epochs left git. */
  left?: LeftBehind;
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
  /** What the targets found out, the latest of each kind. */
  facts: Facts;
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
  facts: {},
  usage: UNKNOWN_USAGE,
});

/** The pipeline as the record knows it: as the epoch was opened with, or as it changed since. */
export const recordedPipeline = ({
  changed,
  opened,
}: RunState): Pick<PipelineChanged, 'digest' | 'sources'> | undefined => changed ?? opened?.pipeline;

export const targetState = (run: RunState, name: string): TargetState => run.targets.get(name) ?? INITIAL;

/**
 * What an event makes of the targets that it names, without believing it: asked before the event is written down, because
 * a line that cannot follow would be refused by every later boot.
 * @throws Error when the event cannot follow: the journal is then not ours, or we have a bug
 */
export const nextStates = (run: RunState, event: RunEvent, at: string): ReadonlyMap<string, TargetState> => {
  const next = new Map<string, TargetState>();
  for (const each of targetEvents(event, at)) {
    const state = next.get(each.target) ?? targetState(run, each.target);
    if (each.type !== 'target.invalidated' || canBeInvalidated(state))
      next.set(each.target, advance(state, each));
  }
  return next;
};

const targetEvents = (event: RunEvent, at: string): TargetEvent[] => {
  if (!('target' in event)) return [];
  if (event.type !== 'target.invalidated') return [{ ...event, at }];
  const also = event.also.map((target): TargetEvent => ({ ...event, target, feedback: [], at }));
  return [{ ...event, at }, ...also];
};

/** A target that was never made needs no reason to be made; one that is abandoned has none. */
const canBeInvalidated = (state: TargetState): boolean => state !== INITIAL && state.value !== 'abandoned';

/** @throws Error when the event cannot follow */
export const applyLine = (
  run: RunState,
  line: JournalLine,
  next = nextStates(run, line.event, line.at),
): void => {
  run.seq = line.seq;
  run.lastAt = line.at;
  for (const [name, state] of next) run.targets.set(name, state);
  noteEvent(run, line.event, line);
};

const noteEvent = (run: RunState, event: RunEvent, line: JournalLine): void => {
  const writes = 'documents' in event ? (event.documents ?? []) : [];
  run.freshDocuments = writes.map(({ name }) => name);
  for (const { name, append, text } of writes) {
    run.documents[name] = append === true ? (run.documents[name] ?? '') + text : text;
  }
  // The table has a row for each type, and the row takes that type.
  const note = NOTES[event.type] as ((to: RunState, of: RunEvent, at: JournalLine) => void) | undefined;
  note?.(run, event, line);
};

type Of<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>;

/** What an event means for the run as a whole; `undefined` where it concerns its targets alone. */
const NOTES: {
  readonly [Type in RunEvent['type']]:
    | ((run: RunState, event: Of<Type>, line: JournalLine) => void)
    | undefined;
} = {
  'run.opened': (run, event, { at }) => {
    run.epoch = event.epoch;
    run.opened = event;
    run.openedAt = at;
  },
  'run.rebuilt': (run, event) => noteRebuild(run, event),
  'pipeline.changed': (run, event) => {
    run.changed = event;
  },
  'target.started': (run, event) => {
    delete run.finishedAt;
    delete run.stoppedBy;
    if (event.child !== undefined) run.forks += 1;
    run.directivesDelivered.push(...(event.directives ?? []));
  },
  'child.ended': (run, event) => {
    run.usage = addUsage(run.usage, event.usage);
  },
  'work.sealed': undefined,
  'gate.answered': (run, event, line) => noteVerdict(run, event, line),
  'approval.answered': undefined,
  'target.done': (run, event, { seq, at }) => {
    run.lastCompleted = { target: event.target, seq, at };
    run.failures = [];
    Object.assign(run.facts, event.facts);
  },
  'target.failed': (run, event) => {
    takeBackDirectives(run, event.target);
    if (event.kind === 'interrupted') return;
    run.failures = [...run.failures, failureSignature(event.target, event.kind, event.message)].slice(-10);
  },
  'target.invalidated': undefined,
  'target.paused': (run, event) => takeBackDirectives(run, event.target),
  'target.abandoned': undefined,
  'directive.read': (run, event) => {
    run.directivesRead.push({ id: event.id, text: event.text, digest: event.digest });
  },
  'run.stopped': (run, event) => {
    run.stoppedBy = event.by;
  },
  'run.finished': (run, _event, { at }) => {
    run.finishedAt = at;
  },
};

/** What an attempt was told is for the next one, when nothing came of it. */
const takeBackDirectives = (run: RunState, name: string): void => {
  const told = targetState(run, name).context.directives ?? [];
  if (told.length > 0) run.directivesDelivered = run.directivesDelivered.filter((id) => !told.includes(id));
};

const noteRebuild = (run: RunState, event: RunRebuilt): void => {
  for (const [name, attempt] of Object.entries(event.attempts))
    run.targets.set(name, neverMade(attempt, undefined));
  for (const name of event.targets)
    run.targets.set(name, neverMade(event.attempts[name] ?? 0, event.because));
  run.directivesDelivered.push(...event.delivered);
  run.rounds.push(...(event.rounds ?? []));
  if (event.left !== undefined) run.left = event.left;
};

const noteVerdict = (run: RunState, event: Of<'gate.answered'>, line: JournalLine): void => {
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
export const failureSignature = (target: string, kind: string, message: string): string =>
  `${target}: ${kind}: ${message}`;

/** A fact that some target found out; the latest wins. */
export const factOf = <K extends keyof Facts>(run: RunState, name: K): Facts[K] => run.facts[name];
