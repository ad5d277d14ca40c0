import { describe, expect, test } from 'vitest';
import { UNKNOWN_USAGE, type Trouble } from '../../orchestrator/model/child.js';
import { addEvents, newTranscript, outcomeOf, type Ending } from '../../workers/transcript.js';
import type { AgentEvent } from '../../workers/worker.js';

const NOW = new Date('2026-11-30T16:20:00Z');
const ending = (more: Partial<Ending> = {}): Ending => ({
  exitCode: 0,
  stderr: '',
  now: NOW,
  agent: {},
  ...more,
});
const comesTo = (events: readonly AgentEvent[], more: Partial<Ending> = {}) =>
  outcomeOf(addEvents(newTranscript(), events), ending(more));

const turn: AgentEvent = { kind: 'turn' };
const text = (said: string): AgentEvent => ({ kind: 'text', text: said });
const done: AgentEvent = { kind: 'final', ok: true };
const failed: AgentEvent = { kind: 'final', ok: false };
const trouble = (kind: Trouble['kind'], final: boolean, more: Partial<Trouble> = {}): AgentEvent => ({
  kind: 'trouble',
  trouble: { kind, detail: `a ${kind}`, ...more },
  final,
});
const usage = (input: number | null, counts: 'sum' | 'total', cost: number | null = null): AgentEvent => ({
  kind: 'usage',
  counts,
  usage: { ...UNKNOWN_USAGE, inputTokens: input, costUsd: cost },
});

describe('an agent that has ended', () => {
  test('answered: exit status 0, its last word, and an answer', () => {
    expect(comesTo([turn, text('I look'), turn, text('Done.'), done])).toEqual({
      kind: 'answered',
      text: 'Done.',
      turns: 2,
      denied: [],
      usage: UNKNOWN_USAGE,
    });
    expect(comesTo([turn, { kind: 'value', value: { a: 1 } }, done])).toMatchObject({
      kind: 'answered',
      text: '',
      value: { a: 1 },
    });
  });

  test.each<readonly [string, readonly AgentEvent[], Partial<Ending>, string]>([
    ['nothing was said', [turn, done], {}, 'empty'],
    ['only blanks were said', [turn, text(' \n'), done], {}, 'empty'],
    ['it printed nothing at all', [], {}, 'empty'],
    ['the last turn said nothing', [turn, text('I will do it.'), turn, done], {}, 'empty'],
    ['a value of an earlier turn', [turn, { kind: 'value', value: {} }, turn, done], {}, 'empty'],
    ['the last word is missing', [turn, text('half an ans')], {}, 'truncated'],
    ['something followed the last word', [turn, text('Done.'), done, turn, text('and')], {}, 'truncated'],
    ['it says that it failed', [turn, text('Done.'), failed], {}, 'agent-failed'],
    ['another exit status', [turn, text('Done.'), done], { exitCode: 3 }, 'agent-failed'],
    ['no exit status', [turn, text('Done.'), done], { exitCode: undefined }, 'agent-failed'],
    ['a final trouble beside a good end', [text('Done.'), trouble('refusal', true), done], {}, 'refusal'],
    ['a trouble that was not got over', [turn, trouble('network', false)], {}, 'network'],
    ['only denied tools', [turn, { kind: 'denied', tool: 'bash' }, done], {}, 'permission-denied'],
    ['standard error names it', [], { exitCode: 1, stderr: 'warning: x\nError: fetch failed\n' }, 'network'],
    ['standard error says nothing', [], { exitCode: 1, stderr: '\n \n' }, 'agent-failed'],
  ])('%s', (_, events, more, expected) => {
    const outcome = comesTo(events, more);
    expect(outcome.kind === 'trouble' ? outcome.trouble.kind : outcome.kind).toBe(expected);
  });

  test('a later success outranks what was got over, not what is final', () => {
    const retried = [turn, trouble('overloaded', false), trouble('auth', false), turn, text('Done.'), done];
    expect(comesTo(retried)).toMatchObject({ kind: 'answered', text: 'Done.' });
    const transcript = addEvents(newTranscript(), [trouble('auth', false), text('Here I am.')]);
    expect(transcript.passing).toBeUndefined();
    expect(comesTo([trouble('auth', true), turn, text('Done.'), done])).toMatchObject({ kind: 'trouble' });
  });

  test('the more telling of two reports is kept, with the time that either said', () => {
    const resetAt = '2026-11-30T18:30:00.000Z';
    const limit = trouble('usage-limit', true);
    const vague = trouble('agent-failed', true);
    for (const events of [
      [limit, vague],
      [vague, limit],
    ])
      expect(comesTo(events, { exitCode: 1 })).toMatchObject({ trouble: { kind: 'usage-limit' } });
    const announced = trouble('usage-limit', false, { resetAt });
    expect(comesTo([announced, limit, failed], { exitCode: 1 })).toMatchObject({ trouble: { resetAt } });
    expect(comesTo([announced, vague, failed], { exitCode: 1 })).toMatchObject({
      trouble: { kind: 'usage-limit', detail: 'a agent-failed', resetAt },
    });
  });

  test('the adapter reads standard error first, the end of it', () => {
    const seen: string[] = [];
    const readError = (stderr: string): Trouble | undefined => {
      seen.push(stderr);
      return { kind: 'auth', detail: 'log in' };
    };
    const stderr = `${'x'.repeat(20_000)}end`;
    expect(comesTo([], { exitCode: 41, stderr, agent: { readError } })).toMatchObject({
      trouble: { kind: 'auth' },
    });
    expect(seen).toEqual([stderr.slice(-16_384)]);
    expect(comesTo([text('Done.'), done], { stderr, agent: { readError } }).kind).toBe('answered');
  });

  test('when a limit resets: an ISO time that lies ahead, else none', () => {
    const resetOf = (more: Partial<Trouble>, kind: Trouble['kind'] = 'usage-limit') => {
      const outcome = comesTo([trouble(kind, true, more)], { exitCode: 1, zone: 'Europe/Berlin' });
      return outcome.kind === 'trouble' ? outcome.trouble.resetAt : 'no trouble';
    };
    expect(resetOf({ detail: 'limit reached · resets 8pm' })).toBe('2026-11-30T19:00:00.000Z');
    expect(resetOf({ resetAt: '2026-12-04T03:50:00.000Z' })).toBe('2026-12-04T03:50:00.000Z');
    expect(resetOf({ resetAt: '2026-11-29T00:00:00.000Z' })).toBeUndefined();
    expect(resetOf({ resetAt: '2036-11-29T00:00:00.000Z' })).toBeUndefined();
    expect(resetOf({ resetAt: 'nonsense' })).toBeUndefined();
    expect(resetOf({ detail: 'overloaded, try again in 5 minutes' }, 'overloaded')).toBeUndefined();
  });
});

describe('what is counted', () => {
  test('tokens: unknown stays unknown, a total replaces what was known', () => {
    expect(comesTo([]).usage).toEqual(UNKNOWN_USAGE);
    expect(comesTo([usage(null, 'sum'), usage(5, 'sum'), usage(7, 'sum')]).usage).toMatchObject({
      inputTokens: 12,
      outputTokens: null,
      costUsd: null,
    });
    expect(comesTo([usage(5, 'sum'), usage(3, 'total', 0.5)]).usage).toMatchObject({
      inputTokens: 3,
      costUsd: 0.5,
    });
  });

  test('turns: the same name again is the same turn', () => {
    const named = (id: string): AgentEvent => ({ kind: 'turn', id });
    const transcript = addEvents(newTranscript(), [named('a'), text('I look'), named('a'), named('b'), turn]);
    expect(transcript.turns).toBe(3);
    const same = addEvents(newTranscript(), [named('a'), text('Done.'), named('a'), done]);
    expect(outcomeOf(same, ending())).toMatchObject({ kind: 'answered', text: 'Done.', turns: 1 });
  });

  test('a transcript does not grow with what is said', () => {
    const huge = 'x'.repeat(1_000_000);
    let transcript = newTranscript();
    for (let index = 0; index < 50; index += 1) {
      transcript = addEvents(transcript, [
        { kind: 'turn', id: `${huge}${index}` },
        text(huge),
        { kind: 'denied', tool: `${huge}${index}` },
        { kind: 'denied', tool: `tool ${index}` },
        { kind: 'denied', tool: 'tool 0' },
        usage(1, 'sum'),
        trouble('network', false),
      ]);
    }
    expect(JSON.stringify(transcript).length).toBeLessThan(300_000);
    expect(transcript.denied).toHaveLength(20);
    expect(transcript.usage.inputTokens).toBe(50);
  });
});

test('an answer that comes in parts is put together, and what was said before a tool was called is no part of it', () => {
  const transcript = addEvents(newTranscript(), [
    { kind: 'text', text: 'I look. ', part: true },
    { kind: 'call' },
    { kind: 'text', text: '{"status":', part: true },
    { kind: 'text', text: '"done"}', part: true },
  ]);
  expect(transcript.text).toBe('{"status":"done"}');
});
