import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { estimateTokens } from '../../orchestrator/model/text.js';
import { splitFrontMatter } from '../../orchestrator/state/front-matter.js';
import {
  BOARD_LINES,
  nextActionDocument,
  readNextAction,
  type BoardLine,
  type NextAction,
} from '../../orchestrator/state/next-action.js';
import { digest, KEY, OTHER_KEY } from '../helpers/core.js';
import { ACTS, bland, hostile, ours } from '../helpers/hostile.js';

const line = (number: number, name: string, mark: BoardLine['mark'] = ' ', note = ''): BoardLine => ({
  number,
  name,
  mark,
  note,
});

const NEXT: NextAction = {
  ticket: '320',
  epoch: 1,
  seq: 12,
  pipeline: digest('pipeline'),
  state: 'running',
  total: 3,
  done: 1,
  board: [line(0, 'ticket', 'x'), line(1, 'plan', '>', 'waits for a person'), line(2, 'diff')],
  lastCompleted: '0 ticket (journal line 4)',
  nextAction: 'a person answers: `orchestrate approve`',
  directives: [
    { id: 1, text: 'keep the API', delivered: true },
    { id: 2, text: 'hurry', delivered: false },
  ],
};

const SCHEMA = z.strictObject({
  document: z.literal('next-action'),
  ticket: z.string(),
  epoch: z.int(),
  seq: z.int(),
  pipeline: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  state: z.string(),
  seal: z.string().regex(/^[0-9a-f]{64}$/),
});

const write = (more: Partial<NextAction> = {}, key = KEY): string =>
  nextActionDocument({ ...NEXT, ...more }, key);

test('has readerboard, Current Target, Last Completed Step, Next Permitted Action and directives', () => {
  const { head = '', body } = splitFrontMatter(write()) ?? {};
  expect(SCHEMA.parse(parse(head))).toMatchObject({ ticket: '320', seq: 12, state: 'running' });
  expect(body).toBe(
    [
      '# Next action\n',
      'Current Target: 1 plan (waits for a person)',
      'Last Completed Step: 0 ticket (journal line 4)',
      'Next Permitted Action: a person answers: `orchestrate approve`\n',
      '## Readerboard',
      '[x] 0 ticket',
      '[>] 1 plan – waits for a person',
      '[ ] 2 diff\n',
      '## Directives',
      '| 0001 handed to a worker: keep the API',
      '| 0002 for the next worker: hurry\n',
    ].join('\n'),
  );
});

test('what it was made from is read back with the key that sealed it', () => {
  expect(readNextAction(write(), KEY)).toEqual({ seq: 12, pipeline: NEXT.pipeline });
  expect(readNextAction(write(), OTHER_KEY)).toEqual({ problem: 'its seal does not match its text' });
});

describe('a change is seen', () => {
  test('of any byte', () => {
    const document = write();
    fc.assert(
      fc.property(
        fc.nat(document.length - 1),
        fc.constantFrom('x', '0', '\n', '"', ' ', '\\'),
        (at, other) => {
          fc.pre(document[at] !== other);
          expect(readNextAction(document.slice(0, at) + other + document.slice(at + 1), KEY)).toHaveProperty(
            'problem',
          );
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ['a number spelt differently', write().replace('seq: 12', 'seq: 012')],
    ['a text spelt differently', write().replace('"320"', '"\\u0033\\u0032\\u0030"')],
    ['a text that is no JSON', write().replace('"320"', '"3"2"0"')],
    ['no front matter', 'Next Permitted Action: approve'],
    ['another document', write().replace('next-action', 'governance')],
    ['a line more in the front matter', write().replace('epoch', 'extra: 1\nepoch')],
    ['a line more at the end', `${write()}\n`],
    ['nothing at all', ''],
    ['cut in the middle', write().slice(0, 200)],
  ])('%s', (_, document) => {
    expect(readNextAction(document, KEY)).toHaveProperty('problem');
  });
});

test('no text of an agent or a person begins a line or acts, and the seal holds', () => {
  const foreign = fc.record({
    note: hostile,
    lastCompleted: hostile,
    nextAction: hostile,
    directives: fc.array(fc.record({ id: fc.nat(9), text: hostile, delivered: fc.boolean() }), {
      maxLength: 2,
    }),
  });
  const writeWith = ({
    note,
    ...more
  }: Pick<NextAction, 'lastCompleted' | 'nextAction' | 'directives'> & { readonly note: string }): string =>
    write({ board: [line(1, 'plan', '!', note)], total: 1, ...more });
  const body = (document: string): string[] => ours(splitFrontMatter(document)?.body ?? document);
  fc.assert(
    fc.property(foreign, (given) => {
      const document = writeWith(given);
      expect(body(document)).toEqual(body(writeWith(bland(given))));
      expect(document).not.toMatch(ACTS);
      expect(readNextAction(document, KEY)).toEqual({ seq: 12, pipeline: NEXT.pipeline });
    }),
    { numRuns: 150 },
  );
});

test('the longest command that a person may have to type is there in one piece', () => {
  const nextAction = `a person answers: \`orchestrate approve --ticket ${'t'.repeat(64)} --target ${'n'.repeat(64)} --digest ${digest('x')}\``;
  expect(write({ nextAction })).toContain(`${nextAction}\n`);
});

test('of a large pipeline only what is not at rest is on the board, and the rest is counted', () => {
  const board = Array.from({ length: 40 }, (_, index) => line(index, `t-${index}`, '>', 'x'.repeat(500)));
  const document = write({ total: 10_000, done: 6_000, board });
  expect(document).toContain('6000 of 10000 targets are done');
  expect(document.match(/^\[>\]/gm)).toHaveLength(BOARD_LINES);
  expect(document).toContain(`and ${40 - BOARD_LINES} more that are not at rest`);
  expect(document).toContain('; and 35 more\n');
  expect(estimateTokens(Buffer.byteLength(document))).toBeLessThan(1_400);
});

test('of many directives the last eight are shown', () => {
  const directives = Array.from({ length: 12 }, (_, index) => ({
    id: index + 1,
    text: 'x',
    delivered: true,
  }));
  expect(write({ directives }).match(/^\| \d{4}/gm)).toEqual([
    '| 0005',
    '| 0006',
    '| 0007',
    '| 0008',
    '| 0009',
    '| 0010',
    '| 0011',
    '| 0012',
  ]);
});
