import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Io } from '../../orchestrator/commands/io.js';
import { painter, table } from '../../orchestrator/commands/paint.js';

const ioOf = (more: Partial<Io> = {}): Io => ({
  stdout: () => undefined,
  stderr: () => undefined,
  env: {},
  cwd: '/',
  stdinIsTty: true,
  stdoutIsTty: true,
  stderrIsTty: true,
  ask: () => Promise.resolve(undefined),
  onSignal: () => () => undefined,
  isClosed: () => false,
  show: () => Promise.resolve(),
  ...more,
});

/** Without the sequences that take no column. */
const seen = (text: string): string => text.replaceAll(/\u001B\[[0-9;]*m/g, '');

describe('colour', () => {
  test('on a terminal: a phase has its own, and ends it', () => {
    const paint = painter(ioOf(), 'stdout');
    expect(paint.byPhase('failed', 'x')).toBe('\u001B[31mx\u001B[0m');
    expect(paint.byState('waiting')).toBe('\u001B[33mwaiting\u001B[0m');
    expect(paint.bold('x')).toBe('\u001B[1mx\u001B[0m');
    expect(paint.byPhase('unheard-of', 'x')).toBe('x');
  });

  test.each<[string, Partial<Io>]>([
    ['with NO_COLOR', { env: { NO_COLOR: '1' } }],
    ['on a dumb terminal', { env: { TERM: 'dumb' } }],
    ['in a pipe', { stdoutIsTty: false }],
  ])('none %s', (_, more) => {
    const paint = painter(ioOf(more), 'stdout');
    expect([paint.byPhase('failed', 'x'), paint.byState('done'), paint.bold('x'), paint.dim('x')]).toEqual([
      'x',
      'done',
      'x',
      'x',
    ]);
  });

  test('each stream by itself: a terminal on stderr colours nothing on stdout', () => {
    const io = ioOf({ stdoutIsTty: false });
    expect(painter(io, 'stderr').bold('x')).toContain('\u001B');
    expect(painter(io, 'stdout').bold('x')).toBe('x');
  });

  test('an empty NO_COLOR says nothing', () => {
    expect(painter(ioOf({ env: { NO_COLOR: '' } }), 'stdout').bold('x')).toContain('\u001B');
  });
});

describe('a table', () => {
  test('has columns as wide as their widest cell, two blanks apart, and nothing at the end of a line', () => {
    expect(
      table([
        ['a', 'long cell', ''],
        ['bbb', 'x', 'end'],
      ]),
    ).toBe('a    long cell\nbbb  x          end');
  });

  test('a column that is empty everywhere is left out', () => {
    expect(
      table([
        ['a', '', 'b'],
        ['c', '', 'd'],
      ]),
    ).toBe('a  b\nc  d');
  });

  test('rows may be short, and there may be none', () => {
    expect(table([['a'], ['b', 'c']])).toBe('a\nb  c');
    expect(table([])).toBe('');
  });

  test('is aligned by what is seen: colours take no column, a letter of two code units takes one', () => {
    const paint = painter(ioOf(), 'stdout');
    const cell = fc.tuple(fc.stringMatching(/^[a-z✓𝒳]{0,6}$/u), fc.constantFrom('done', 'failed', 'plain'));
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
        (rows) => {
          const plain = rows.map((row) => row.map(([text]) => text));
          const painted = rows.map((row) =>
            row.map(([text, phase]) => (text === '' ? '' : paint.byPhase(phase, text))),
          );
          expect(seen(table(painted))).toBe(table(plain));
        },
      ),
    );
  });
});
