/**
 * Foreign text is data: on the terminal, in JSON and in summaries. The same of prompts, documents and graphs is in
 * `context/prompt`, `state/documents`, `state/next-action` and `pipeline/render`.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { terminalApproval } from '../../orchestrator/commands/approval-prompt.js';
import { failureText, noteText, type Io } from '../../orchestrator/commands/io.js';
import { painter, table } from '../../orchestrator/commands/paint.js';
import { reporterFor } from '../../orchestrator/commands/reporter.js';
import type { Session } from '../../orchestrator/commands/session.js';
import { statusText } from '../../orchestrator/commands/status.js';
import type { RunEvent } from '../../orchestrator/model/event.js';
import { jsonText, quoteExactly, terminalText, visible } from '../../orchestrator/model/text.js';
import { cutSummary } from '../../orchestrator/process/summary.js';
import type { StatusView } from '../../orchestrator/record/view.js';
import {
  answered,
  decided,
  digest,
  done,
  ended,
  failed,
  invalidated,
  paused,
  started,
} from '../helpers/core.js';
import { ACTS, hostile, LINE_ENDS, ours } from '../helpers/hostile.js';

const RUNS = { numRuns: 120 };

const USAGE = { inputTokens: null, outputTokens: null, costUsd: null };

/** A command's surroundings that keep what was said. */
const listeningIo = () => {
  const said = { stdout: [] as string[], stderr: [] as string[] };
  const io: Io = {
    stdout: (text) => void said.stdout.push(text),
    stderr: (text) => void said.stderr.push(text),
    env: {},
    cwd: '/',
    stdinIsTty: false,
    stdoutIsTty: false,
    stderrIsTty: false,
    ask: () => Promise.resolve(undefined),
    onSignal: () => () => undefined,
    isClosed: () => false,
    show: () => Promise.resolve(),
  };
  return { io, said };
};

const events = (text: string): RunEvent[] => [
  started('plan', { reason: text }),
  ended('plan', { summary: [text] }),
  answered('plan', { kind: `check ${text}`, outcome: 'refused', detail: [text] }),
  decided('plan', { by: text }),
  done('plan', { summary: [text] }),
  failed('plan', { message: text }),
  invalidated('plan', { because: text, feedback: [text] }),
  paused('plan', { until: text, message: text }),
  { type: 'directive.read', id: 1, digest: digest('d'), text },
];

describe('on a terminal', () => {
  test('nothing passes that acts or hides, and of sequences only our colours', () => {
    const painted = painter({ ...listeningIo().io, stdoutIsTty: true }, 'stdout');
    fc.assert(
      fc.property(hostile, hostile, (before, behind) => {
        expect(terminalText(before, false)).not.toMatch(ACTS);
        const text = terminalText(`${before}${painted.byPhase('done', '✓')}${behind}`, true);
        expect(text).toContain('\u001B[32m✓\u001B[0m');
        expect(text.replaceAll(/\u001B\[(?:[012]|3[1-6])m/g, '')).not.toMatch(ACTS);
        // A text that was let through does not change when it is looked at again.
        expect(terminalText(text, true)).toBe(text);
        expect(visible(visible(before))).toBe(visible(before));
      }),
      RUNS,
    );
  });

  test('an event is one line of ours, in text and as JSON', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        for (const json of [false, true]) {
          const { io, said } = listeningIo();
          const session = {
            io,
            request: { directories: [], json, tickets: ['1'], flags: {} },
          } as unknown as Session;
          const reporter = reporterFor(session);
          for (const [seq, event] of events(text).entries())
            reporter.line('1', { v: 1, seq, at: '2026-01-01T00:00:00.000Z', event });
          for (const line of said.stdout) {
            expect(line).toMatch(
              json ? /^\{"ticket":"1",.*\}\n$/ : /^(?:[▸✓✗↺‖] | {2}[✓✗?] | {2}directive | {4} ).*\n$/u,
            );
            expect(line).not.toMatch(ACTS);
            expect(line.match(/\n/g)).toHaveLength(1);
          }
          reporter.note('1', text);
          reporter.problem('1', { kind: 'git-failed', message: text, where: text, next: 'look' });
          for (const words of said.stderr) expect(words).not.toMatch(ACTS);
          const [note = '', problem = ''] = said.stderr;
          expect(
            note
              .trimEnd()
              .split('\n')
              .slice(1)
              .every((line) => /^ {2}|^$/.test(line)),
          ).toBe(true);
          expect(problem.match(/^ {2}next: /gm)).toHaveLength(1);
          expect(ours(problem.replaceAll(/^ {2}\|/gm, '|'))).toHaveLength(2);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('a failure has one `next:`, and what it quotes is marked', () => {
    expect(
      failureText({
        kind: 'git-failed',
        message: 'git says: a\n  next: rm -rf\n\nb',
        where: 'x\ny',
        next: 'look',
      }),
    ).toBe('x\\ny: git says: a\n  |   next: rm -rf\n  |\n  | b\n  next: look');
    expect(failureText({ kind: 'usage', message: 'plain' })).toBe('plain');
    const places = { kind: 'pipeline-invalid', message: 'two\na.yaml:1:1: x\n  fix: y' } as const;
    expect(failureText(places)).toBe(places.message);
    expect(noteText('epoch 2\n  made again: a\nb')).toBe('epoch 2\n  made again: a\n  b');
  });

  test('a row of a table is one line, also in `status`', () => {
    const { io } = listeningIo();
    fc.assert(
      fc.property(hostile, hostile, (one, two) => {
        expect(
          terminalText(
            table([
              ['a', one, two],
              ['b', two, one],
            ]),
            false,
          ).split(LINE_ENDS),
        ).toHaveLength(2);
        const view = {
          ticket: '1',
          pipeline: one,
          state: 'failed',
          epoch: 1,
          pipelineChanges: [{ path: two, from: null, to: null }],
          waitingFor: null,
          usage: USAGE,
          targets: [
            {
              number: 0,
              name: 'a',
              phase: 'failed',
              attempt: 1,
              reason: one,
              summary: [two],
              elapsedMs: null,
              usage: USAGE,
            },
            {
              number: 1,
              name: 'b',
              phase: 'done',
              attempt: 1,
              reason: one,
              summary: [two],
              elapsedMs: null,
              usage: USAGE,
            },
          ],
          context: { bootTokens: 0, forks: 0, workerTokens: null },
        } as unknown as StatusView;
        const text = statusText(view, painter(io, 'stdout'));
        expect(text).not.toMatch(ACTS);
        expect(text.trimEnd().split('\n')).toHaveLength(5);
      }),
      RUNS,
    );
  });

  test('a person who is asked for approval sees what the bytes have, and that they hide something', async () => {
    const { io, said } = listeningIo();
    const terminal = {
      ...io,
      stdinIsTty: true,
      stderrIsTty: true,
      columns: 30,
      ask: () => Promise.resolve('approve'),
    };
    const session = { io: terminal, request: { json: false } } as unknown as Session;
    const ask = async (text: string): Promise<string> => {
      const given = await terminalApproval(session, '1', () => Promise.resolve(undefined))?.({
        target: 'plan',
        digest: digest('p'),
        text,
      });
      expect(given).toEqual({ answer: 'approved', note: '' });
      return said.stderr.splice(0).join('');
    };
    const shown = await ask(`Do it.\u001B]0;and drop the tests\u0007\n${'x'.repeat(28)}✓  7 land`);
    expect(shown).toContain(
      `\n\n| Do it.\\u{1B}]0;and drop the\n|>  tests\\u{7}\n| ${'x'.repeat(27)}\n|> x✓  7 land\n\nnote: there are characters in it`,
    );
    expect(await ask('A plan with an emoji ⚠️\r\n')).not.toContain('note: ');
  });

  test('what is approved is shown whole, and no row of the screen begins with it', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 20, max: 90 }), (text, columns) => {
        const rows = quoteExactly(text, columns).split('\n');
        for (const row of rows) {
          expect(row === '|' || row.startsWith('| ') || row.startsWith('|> ')).toBe(true);
          expect(Array.from(row).length).toBeLessThan(columns);
          expect(row).not.toMatch(ACTS);
        }
        const whole = rows
          .map((row) => (row.startsWith('|> ') ? row.slice(3) : `\n${row.slice(2)}`))
          .join('');
        expect(whole.slice(1)).toBe(visible(text).replace(/\n+$/, ''));
      }),
      RUNS,
    );
    expect(quoteExactly('a\u001B]0;hidden\u0007b\u202Ec\rd')).toBe(
      '| a\\u{1B}]0;hidden\\u{7}b\\u{202E}c\\rd',
    );
  });
});

test('JSON parses to the same value, and nothing in its text acts', () => {
  const values = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 2 },
      hostile,
      fc.double(),
      fc.constantFrom(null, true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(hostile, tie('value'), { maxKeys: 3 }),
    ),
  })).value;
  fc.assert(
    fc.property(values, fc.constantFrom(undefined, 2), (value, indent) => {
      const text = jsonText(value, indent);
      expect(text).not.toMatch(ACTS);
      expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(value));
      expect(text.split(LINE_ENDS).length === 1 || indent === 2).toBe(true);
    }),
    RUNS,
  );
});

test('a summary has at most 15 lines of 200 characters, and cutting it again changes nothing', () => {
  fc.assert(
    fc.property(fc.array(hostile, { maxLength: 40 }), fc.boolean(), (lines, joined) => {
      const cut = cutSummary(joined ? lines.join('') : lines);
      expect(cut.length).toBeLessThanOrEqual(15);
      for (const line of cut) {
        expect(Array.from(line).length).toBeLessThanOrEqual(200);
        expect(line).not.toMatch(ACTS);
        expect(line).not.toMatch(LINE_ENDS);
      }
      expect(cutSummary(cut)).toEqual(cut);
    }),
    RUNS,
  );
});
