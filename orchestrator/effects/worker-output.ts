import { readTail } from '../process/tail.js';
import { join } from 'node:path';
import {
  addEvents,
  newTranscript,
  outcomeOf,
  type Outcome,
  type Transcript,
} from '../../workers/transcript.js';
import type { Worker } from '../../workers/worker.js';
import type { ChildEnd, Usage, WaitStatus } from '../model/child.js';
import { UNKNOWN_USAGE } from '../model/child.js';
import type { Clock } from '../model/clock.js';
import { RETURN_BYTES } from '../model/limits.js';
import type { Target, WorkerSpec } from '../model/pipeline.js';
import { checkReturnText, checkReturnValue, readReturn, type ReturnAnswer } from '../process/return-file.js';
import { FILES } from '../process/child-folder.js';
import type { EndNow, OutputReader } from '../process/output.js';
import type { ChildHooks } from '../process/wait.js';
import type { ReturnChannel } from './return-channel.js';

/** What one child comes to, beyond its exit status. */
export interface Heard {
  readonly end: ChildEnd;
  /** Absent when it did not end well. */
  readonly returned?: ReturnAnswer;
  readonly usage: Usage;
}

export interface Listener {
  readonly hooks: Pick<ChildHooks, 'reader'>;
  readonly heard: (folder: string, status: WaitStatus, returnPath: string) => Promise<Heard>;
}

interface ListenOptions {
  readonly worker: Worker;
  readonly channel: ReturnChannel;
  readonly target: Target;
  readonly spec: WorkerSpec;
  readonly clock: Clock;
}

/** Reads what the child says, as far as anybody has to: an agent's records, or the last line of a critic. */
export const listenTo = (options: ListenOptions): Listener => {
  if (options.worker.agent !== undefined) return listenToAgent(options, options.worker.agent);
  return options.channel.kind === 'last-line' ? listenToLastLine(options) : listenToNobody(options);
};

const endedWell = ({ end }: WaitStatus): boolean =>
  (end.kind === 'exited' && end.code === 0) || end.kind === 'finished';

const listenToNobody = ({ target }: ListenOptions): Listener => ({
  hooks: {},
  heard: async (_folder, status, returnPath) => {
    if (!endedWell(status)) return { end: status.end, usage: UNKNOWN_USAGE };
    const returned = await readReturn(returnPath, target);
    return { end: status.end, returned, usage: usageIn(returned) };
  },
});

/** What a program says of itself: it has no other record. */
const usageIn = (returned: ReturnAnswer): Usage =>
  returned.ok ? (returned.value.usage ?? UNKNOWN_USAGE) : UNKNOWN_USAGE;

const listenToLastLine = ({ target }: ListenOptions): Listener => {
  let last = '';
  let verdicts = 0;
  const reader: OutputReader = {
    longestLine: RETURN_BYTES,
    line: (line) => {
      if (line.trim() === '') return;
      last = line;
      if (isVerdict(line)) verdicts += 1;
    },
  };
  const what = 'the last line of its standard output';
  return {
    hooks: { reader },
    heard: async (_folder, status) => {
      if (!endedWell(status)) return { end: status.end, usage: UNKNOWN_USAGE };
      const returned: ReturnAnswer =
        verdicts > 1
          ? { ok: false, problems: [`two-verdicts: its standard output has ${verdicts} of them`] }
          : await checkReturnText(last, { makes: target.makes, what });
      return { end: status.end, returned, usage: usageIn(returned) };
    },
  };
};

const isVerdict = (line: string): boolean => {
  if (!line.includes('"verdict"')) return false;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'verdict' in value && 'status' in value;
  } catch {
    return false;
  }
};

/** Longer lines of an agent's output are what its tools printed. */
const LONGEST_LINE = 4_194_304;
/** What its standard error has to say is at its end. */
const ERROR_LINES = 40;

const listenToAgent = (options: ListenOptions, agent: NonNullable<Worker['agent']>): Listener => {
  const { channel, target, spec, clock } = options;
  let transcript: Transcript = newTranscript();
  const reader: OutputReader = {
    longestLine: LONGEST_LINE,
    line: (line) => {
      transcript = addEvents(transcript, agent.readLine(line));
    },
    endNow: () => reasonToEnd(transcript, target, spec),
  };
  return {
    hooks: { reader },
    heard: async (folder, status, returnPath) => {
      const outcome = outcomeOf(transcript, {
        exitCode: exitCodeOf(status.end),
        stderr: readTail(join(folder, FILES.stderr), ERROR_LINES).lines.join('\n'),
        now: new Date(clock.now()),
        zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        agent,
      });
      const { usage } = outcome;
      const end = endOf(status.end, outcome);
      if (end !== undefined && end.kind !== 'empty') return { end, usage };
      const returned = await returnOf(outcome, { channel, target, returnPath });
      // A valid return is something, even from an agent that says nothing more.
      return end !== undefined && !returned.ok ? { end, usage } : { end: status.end, returned, usage };
    },
  };
};

const exitCodeOf = (end: ChildEnd): number | undefined => {
  if (end.kind === 'finished') return 0;
  return end.kind === 'exited' ? end.code : undefined;
};

/** What keeps an agent from having done its work; our own reasons outrank what it says of itself. */
const endOf = (end: ChildEnd, outcome: Outcome): ChildEnd | undefined => {
  if (end.kind !== 'exited' && end.kind !== 'signalled' && end.kind !== 'finished') return end;
  if (outcome.kind === 'trouble') return end.kind === 'signalled' && isVague(outcome) ? end : outcome.trouble;
  if (end.kind === 'signalled') return end;
  return outcome.kind === 'empty' ? { kind: 'empty' } : undefined;
};

const isVague = (outcome: Outcome): boolean =>
  outcome.kind === 'trouble' && ['agent-failed', 'truncated'].includes(outcome.trouble.kind);

/** It has said its last word and stays, or it says that nothing mends it and tries on. */
const reasonToEnd = (transcript: Transcript, target: Target, spec: WorkerSpec): EndNow | undefined => {
  const { graceMs } = target.limits;
  if (transcript.final !== undefined) return { end: transcript.final, afterMs: graceMs };
  if (transcript.ok !== undefined) return { end: { kind: 'finished' }, afterMs: graceMs };
  if (spec.maxTurns !== undefined && transcript.turns > spec.maxTurns)
    return { end: { kind: 'max-turns', detail: `more than ${spec.maxTurns} turns` }, afterMs: 0 };
  const { passing } = transcript;
  return passing?.kind === 'auth' || passing?.kind === 'usage-limit'
    ? { end: passing, afterMs: graceMs }
    : undefined;
};

const returnOf = async (
  outcome: Outcome,
  given: { readonly channel: ReturnChannel; readonly target: Target; readonly returnPath: string },
): Promise<ReturnAnswer> => {
  const { makes } = given.target;
  if (given.channel.kind === 'file') return readReturn(given.returnPath, { makes });
  if (outcome.kind !== 'answered') return { ok: false, problems: ['it answered nothing'] };
  switch (given.channel.kind) {
    case 'value':
      return outcome.value === undefined
        ? { ok: false, problems: ['its output has no structured answer'] }
        : checkReturnValue(outcome.value, makes);
    case 'answer':
      return checkReturnText(withoutFence(outcome.text), { makes, what: 'its last message' });
    case 'last-line':
      return { ok: false, problems: ['an agent returns by its own records'] };
  }
};

/** Models like to put JSON into a fence; one around the whole message is no other text. */
const withoutFence = (text: string): string =>
  /^```(?:json)?\s*\n([\s\S]*)\n```$/.exec(text.trim())?.[1] ?? text.trim();
