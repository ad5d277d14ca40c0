/** Starting the shipped binary, and answering it as the person would. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GateAnswered, RunEvent } from '../model/event.js';
import type { Failure } from '../model/failure.js';
import { runCheck } from '../process/command-check.js';
import { runDirectory } from '../state/run-dir.js';
import type { Arena } from './arena.js';
import { eventsOf } from './journal-events.js';

export interface Called {
  /** `undefined` when it had to be ended. */
  readonly code: number | undefined;
  /** What it printed, both streams in order. */
  readonly text: string;
  /** What it said was wrong. */
  readonly failure: Failure | undefined;
}

/** Far above what any of it takes; one that is ended is no refusal. */
const LONGEST_MS = 90_000;

let counter = 0;

/** One call of the binary, to its end. */
export const call = async (arena: Arena, args: readonly string[]): Promise<Called> => {
  counter += 1;
  const outputFile = join(arena.dir, 'tmp', `call-${counter}.log`);
  const { end } = await runCheck({
    argv: [...arena.orders.orchestrate, ...args],
    cwd: arena.repo,
    env: arena.env,
    timeoutMs: LONGEST_MS,
    outputFile,
  });
  const text = readFileSync(outputFile, 'utf8');
  return { code: end.kind === 'exited' ? end.code : undefined, text, failure: failureIn(text) };
};

/** What `--json` says last: of a run by its ticket, of other commands alone. */
const failureIn = (text: string): Failure | undefined => {
  for (const line of text.split('\n').toReversed()) {
    const value = line.startsWith('{') ? parsed(line) : undefined;
    if (value?.error !== undefined) return value.error;
    if (value?.type === 'run.problem') return value as Failure;
  }
  return undefined;
};

type Said = Partial<Failure> & { readonly type?: string; readonly error?: Failure };

const parsed = (line: string): Said | undefined => {
  try {
    return JSON.parse(line) as Said;
  } catch {
    return undefined;
  }
};

export interface RunRequest {
  readonly tickets: readonly string[];
  /** Target to stop at. */
  readonly until?: string;
  readonly approve: Approve;
  /** Tickets whose plans nobody approves. Default: none. */
  readonly unanswered?: readonly string[];
}

/** Approvals of one ticket before something must be wrong. */
const MOST_ANSWERS = 8;

/** `run`, and `approve` where a person is asked, until no ticket waits. */
export const runThrough = async (arena: Arena, request: RunRequest): Promise<readonly Called[]> => {
  const calls: Called[] = [];
  let tickets = request.tickets;
  for (let round = 0; round < MOST_ANSWERS && tickets.length > 0; round += 1) {
    const named = tickets.flatMap((ticket) => ['--ticket', ticket]);
    const until = request.until === undefined ? [] : ['--until', request.until];
    calls.push(await call(arena, ['run', '--json', ...named, ...until]));
    const asked = tickets.filter((ticket) => request.unanswered?.includes(ticket) !== true);
    tickets = (await Promise.all(asked.map((ticket) => answerFor(arena, ticket, request.approve)))).flat();
  }
  return calls;
};

/** What a person is asked, and approves with the digest that is shown. */
export interface Question {
  readonly ticket: string;
  readonly target: string;
  readonly digest: string;
}

/** The command `approve`, in the place of an arena. @returns whether the answer was taken */
export type Approve = (arena: Arena, question: Question) => Promise<boolean>;

/** @returns the ticket if something was approved */
const answerFor = async (arena: Arena, ticket: string, approve: Approve): Promise<readonly string[]> => {
  const asked = askedIn(eventsOf(runDirectory(arena.repo, ticket).journal));
  if (asked === undefined) return [];
  const { target, digest } = asked;
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    if (await approve(arena, { ticket, target, digest })) return [ticket];
    await new Promise((resolve) => void setTimeout(resolve, AGAIN_MS));
  }
  return [];
};

/** While a worker of another ticket is alive without a sandbox, no answer counts. */
const PATIENCE_MS = 30_000;
const AGAIN_MS = 100;

/** What waits for a person: nothing has happened to its target since it was asked. */
const askedIn = (events: readonly RunEvent[]): GateAnswered | undefined =>
  events.find(
    (event, index): event is GateAnswered =>
      event.type === 'gate.answered' &&
      event.outcome === 'awaiting' &&
      !events.slice(index + 1).some((later) => 'target' in later && later.target === event.target),
  );
