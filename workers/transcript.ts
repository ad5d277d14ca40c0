/**
 * What is kept of one agent's output while it runs, and what it comes to. The size of a transcript does not depend on how
 * much the agent says. Control comes from events that an adapter made of the program's own records, never from text.
 */
import { UNKNOWN_USAGE } from '../orchestrator/model/child.js';
import type { Trouble, Usage } from '../orchestrator/model/child.js';
import { RETURN_BYTES } from '../orchestrator/model/limits.js';
import { oneLine } from '../orchestrator/model/text.js';
import { resetTime } from './reset-time.js';
import { troubleOf } from './trouble.js';
import type { Agent, AgentEvent } from './worker.js';

export interface Transcript {
  /** What the model said in its last turn. */
  readonly text: string;
  readonly value?: { readonly value: unknown };
  readonly turns: number;
  /** Of the last turn, where turns have names. */
  readonly turnId?: string;
  readonly usage: Usage;
  /** Names of the tools that were denied, each once. */
  readonly denied: readonly string[];
  /** What the program reported since the model last said or did something, and may get over. */
  readonly passing?: Trouble;
  readonly final?: Trouble;
  /** Whether its last word was that all went well; absent until it has said its last word. */
  readonly ok?: boolean;
}

interface Spent {
  readonly usage: Usage;
  readonly turns: number;
  readonly denied: readonly string[];
}

/** What an agent that has ended comes to. */
export type Outcome =
  | (Spent & { readonly kind: 'answered'; readonly text: string; readonly value?: unknown })
  | (Spent & { readonly kind: 'trouble'; readonly trouble: Trouble })
  | (Spent & { readonly kind: 'empty' });

export interface Ending {
  /** `undefined`: ended by a signal, or not known. */
  readonly exitCode: number | undefined;
  /** The end of its standard error. */
  readonly stderr: string;
  readonly now: Date;
  /** IANA name of the zone in which the agent prints times. */
  readonly zone?: string;
  readonly agent: Pick<Agent, 'readError'>;
}

/** Code units of an answer that are kept: one more than a return may have bytes, so that a longer one is seen to be too long. */
const MOST_TEXT = RETURN_BYTES + 1;
const MOST_DENIED = 20;
const MOST_NAME = 80;
const MOST_ID = 128;
const MOST_STDERR = 16_384;

export const newTranscript = (): Transcript => ({ text: '', turns: 0, usage: UNKNOWN_USAGE, denied: [] });

/** The transcript with these events in it. */
export const addEvents = (transcript: Transcript, events: readonly AgentEvent[]): Transcript =>
  events.reduce(addEvent, transcript);

const addText = (
  transcript: Transcript,
  { text, part }: Extract<AgentEvent, { readonly kind: 'text' }>,
): Transcript => {
  if (part !== true && text.trim() === '') return transcript;
  const said = part === true ? `${transcript.text}${text}` : text;
  return { ...withoutPassing(transcript), text: said.slice(0, MOST_TEXT) };
};

const addEvent = (transcript: Transcript, event: AgentEvent): Transcript => {
  switch (event.kind) {
    case 'text':
      return addText(transcript, event);
    case 'call':
      return { ...transcript, text: '' };
    case 'turn':
      return newTurn(transcript, event.id?.slice(0, MOST_ID));
    case 'usage':
      return {
        ...transcript,
        usage: event.counts === 'total' ? event.usage : sumOfUsage(transcript.usage, event.usage),
      };
    case 'value':
      return { ...withoutPassing(transcript), value: { value: event.value } };
    case 'denied':
      return { ...transcript, denied: withDenied(transcript.denied, event.tool) };
    case 'trouble':
      return event.final
        ? { ...transcript, final: moreTelling(transcript.final, event.trouble) }
        : { ...transcript, passing: event.trouble };
    case 'final':
      return { ...transcript, ok: event.ok };
  }
};

/** The provider answers again: what was reported is over. */
const withoutPassing = ({ passing: _, ...transcript }: Transcript): Transcript => transcript;

/** What was said before another turn is not the answer, and a last word that something follows was not the last. */
const newTurn = (transcript: Transcript, id: string | undefined): Transcript => {
  if (id !== undefined && id === transcript.turnId) return transcript;
  const { turns, usage, denied, final } = transcript;
  return {
    text: '',
    turns: turns + 1,
    usage,
    denied,
    ...(id === undefined ? {} : { turnId: id }),
    ...(final === undefined ? {} : { final }),
  };
};

const sum = (a: number | null | undefined, b: number | null | undefined): number | null =>
  (a ?? null) === null && (b ?? null) === null ? null : (a ?? 0) + (b ?? 0);

const sumOfUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: sum(a.inputTokens, b.inputTokens),
  outputTokens: sum(a.outputTokens, b.outputTokens),
  costUsd: sum(a.costUsd, b.costUsd),
  cacheReadTokens: sum(a.cacheReadTokens, b.cacheReadTokens),
  cacheWriteTokens: sum(a.cacheWriteTokens, b.cacheWriteTokens),
});

const withDenied = (denied: readonly string[], tool: string): readonly string[] => {
  const name = oneLine(tool.slice(0, 2 * MOST_NAME), MOST_NAME);
  return denied.length >= MOST_DENIED || denied.includes(name) ? denied : [...denied, name];
};

/** Programs say the same twice, once with its name and once as "failed": the name is kept, and when it resets. */
const moreTelling = (known: Trouble | undefined, told: Trouble): Trouble => {
  if (known === undefined) return told;
  if (told.kind === 'agent-failed') return known;
  return known.kind === told.kind && told.resetAt === undefined ? known : told;
};

/** Exit status 0 is not success: it takes the exit status, the program's own last word, and an answer. */
export const outcomeOf = (transcript: Transcript, ending: Ending): Outcome => {
  const { text, value, usage, turns, denied } = transcript;
  const spent: Spent = { usage, turns, denied };
  const trouble = troubleIn(transcript, ending);
  if (trouble !== undefined) return { ...spent, kind: 'trouble', trouble: withReset(trouble, ending) };
  if (saysNothing(transcript)) return { ...spent, kind: 'empty' };
  return { ...spent, kind: 'answered', text, ...value };
};

const troubleIn = (transcript: Transcript, ending: Ending): Trouble | undefined => {
  const { final, passing, ok } = transcript;
  if (final !== undefined) return withPassing(final, passing);
  if (ending.exitCode === 0 && ok === true) return deniedIn(transcript);
  if (passing !== undefined) return passing;
  const stderr = ending.stderr.slice(-MOST_STDERR);
  const told = ending.agent.readError?.(stderr, ending.exitCode);
  if (told !== undefined) return told;
  if (ending.exitCode !== 0) return fromError(stderr, ending.exitCode);
  if (ok === false) return { kind: 'agent-failed', detail: 'it reported a failure without a reason' };
  // It ended as if all were well, but without its last word: what it said is a part of an answer, or nothing.
  return saysNothing(transcript)
    ? undefined
    : { kind: 'truncated', detail: 'its output ended before its result' };
};

const saysNothing = ({ text, value }: Transcript): boolean => text === '' && value === undefined;

/** A denied tool explains an empty answer; beside an answer it is no more than a fact. */
const deniedIn = (transcript: Transcript): Trouble | undefined =>
  transcript.denied.length > 0 && saysNothing(transcript)
    ? { kind: 'permission-denied', detail: oneLine(`denied: ${transcript.denied.join(', ')}`) }
    : undefined;

/** A limit that was announced (with its time) and then became the failure. */
const withPassing = (final: Trouble, passing: Trouble | undefined): Trouble => {
  if (passing === undefined) return final;
  if (final.kind === 'agent-failed') return { ...passing, detail: final.detail };
  if (passing.kind !== final.kind || final.resetAt !== undefined || passing.resetAt === undefined)
    return final;
  return { ...final, resetAt: passing.resetAt };
};

const fromError = (stderr: string, exitCode: number | undefined): Trouble => {
  const how = exitCode === undefined ? 'ended without an exit status' : `exit status ${exitCode}`;
  const message = lastLines(stderr);
  return message === '' ? { kind: 'agent-failed', detail: how } : troubleOf({ message });
};

/** The last lines that say something; earlier ones are warnings and progress. */
const lastLines = (stderr: string): string =>
  stderr
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-5)
    .join('\n');

/** The time at which a limit resets, as far as it can be known, or none: never one that has passed. */
const withReset = ({ resetAt, ...trouble }: Trouble, { now, zone }: Ending): Trouble => {
  if (trouble.kind !== 'usage-limit') return trouble;
  const told = resetAt === undefined ? trouble.detail : `resets at ${resetAt}`;
  const found = resetTime(told, now, zone);
  return found === undefined ? trouble : { ...trouble, resetAt: found.toISOString() };
};
