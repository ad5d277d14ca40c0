import { StringDecoder } from 'node:string_decoder';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { logLine } from '../../orchestrator/model/text.js';
import { showLines, type ShownLines } from '../../orchestrator/process/shown-lines.js';
import { hostile } from '../helpers/hostile.js';

/** The longest line that is shown whole. */
const LONGEST = 8_192;

/** Line by line, from the whole. */
const expected = (bytes: Uint8Array): string => {
  const lines = new StringDecoder('utf8').write(Buffer.from(bytes)).split('\n');
  if (lines.at(-1) === '') lines.pop();
  const cut = (line: string): string => (line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line);
  return lines.map((line) => `${logLine(cut(line.replace(/\r$/, '')))}\n`).join('');
};

/** What is shown of bytes that are read in pieces of these lengths, the last one again and again. */
const piecesShown = (bytes: Uint8Array, lengths: readonly number[]): readonly ShownLines[] => {
  const shower = showLines();
  const shown: ShownLines[] = [];
  for (let [at, piece] = [0, 0]; at < bytes.length; piece += 1) {
    const room = shower.room();
    expect(room.length).toBeGreaterThan(0);
    const wanted = lengths[Math.min(piece, lengths.length - 1)] ?? bytes.length;
    const part = bytes.subarray(at, at + Math.min(wanted, room.length));
    room.set(part);
    for (const lines of shower.shown(part.length))
      shown.push(typeof lines === 'string' ? lines : Buffer.from(lines));
    at += part.length;
  }
  return [...shown, shower.rest()].filter((lines) => lines !== '');
};

const textShown = (bytes: Uint8Array, lengths: readonly number[] = []): string =>
  piecesShown(bytes, lengths).join('');

const isBytes = (lines: ShownLines): boolean => typeof lines !== 'string';

describe('whatever the bytes and wherever they are cut, what is shown is each line, cleaned', () => {
  const line = fc.constantFrom('a line\n', 'a\ttab\n', '\n', '\r\n', 'half a line');
  const long = fc
    .tuple(fc.constantFrom('x', 'é', '€', '\u{1F600}', '\u001B[1m'), fc.integer({ min: -3, max: 3 }))
    .map(([unit, more]) => unit.repeat(Math.ceil((LONGEST + more) / unit.length)));
  const huge = fc.constantFrom('x'.repeat(270_000), '\u{1F600}'.repeat(70_000), 'a line\n'.repeat(40_000));
  const bytes = fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: line },
        { weight: 4, arbitrary: hostile },
        { weight: 3, arbitrary: fc.uint8Array({ maxLength: 6 }) },
        { weight: 2, arbitrary: long },
        { weight: 1, arbitrary: huge },
      ),
      { maxLength: 12 },
    )
    .map((parts) =>
      Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))),
    );
  const lengths = fc.array(
    fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 8_000, max: 9_000 }), fc.constant(1_000_000)),
    { maxLength: 8 },
  );

  test('for anything', () => {
    fc.assert(
      fc.property(bytes, lengths, (all, cuts) => {
        // Pieces of a few bytes for the beginning only: there may be a megabyte.
        expect(textShown(all, [...cuts, 5_000]) === expected(all)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test('byte by byte, through a character, an escape sequence and a line end', () => {
    const all = Buffer.from(
      'plain\r\n€ \u{1F600}\u001B[31mred\u001B[0m \u001B]0;title\u0007end\r\na\rb\n\u202Elast',
    );
    for (let cut = 0; cut <= all.length; cut += 1) expect(textShown(all, [cut, 1_000])).toBe(expected(all));
    expect(textShown(all, [1])).toBe('plain\n€ \u{1F600}red end\na␍b\nlast\n');
  });
});

test('plain lines are shown as they are read, all at once, and others do not change that', () => {
  const plain = Buffer.from('a line\n\tanother\n'.repeat(100));
  const dirty = Buffer.from('a \u001B[31mred\u001B[0m line\n');
  const shown = piecesShown(Buffer.concat([plain, dirty, plain]), [plain.length, dirty.length, plain.length]);
  expect(shown.map(isBytes)).toEqual([true, false, true]);
  expect(shown.map(String)).toEqual([String(plain), 'a red line\n', String(plain)]);
  // The rest of a line that was begun is shown with what comes.
  expect(piecesShown(plain, [10]).every(isBytes)).toBe(true);
});

test.each([100, 4_096, 8_191, 8_192, 8_193, 8_194, 300_000])(
  'a line of 8192 characters is whole, one of 8193 is cut, read in pieces of %i bytes',
  (length) => {
    const whole = `${'x'.repeat(LONGEST)}\n`;
    const cut = `${'x'.repeat(LONGEST - 1)}…\n`;
    const more = `${'x'.repeat(LONGEST + 1)}\n`;
    expect(textShown(Buffer.from(`a\n${whole}${whole}`), [length])).toBe(`a\n${whole}${whole}`);
    expect(textShown(Buffer.from(`${whole}${more}b\n${more}`), [length])).toBe(`${whole}${cut}b\n${cut}`);
    expect(textShown(Buffer.from(whole.replace('\n', '\r\n')), [length])).toBe(whole);
    expect(textShown(Buffer.from(more.slice(0, -1)), [length])).toBe(cut);
    // The last byte of a piece may be a CR that ends no line.
    expect(textShown(Buffer.from(whole.replace('\n', '\rx\n')), [length])).toBe(cut);
    expect(piecesShown(Buffer.from(whole), [length]).every(isBytes)).toBe(true);
  },
);

test('a line without end is shown when it is too long, and the rest of it is not held', () => {
  const shower = showLines();
  const shown: string[] = [];
  for (let read = 0; read < 100; read += 1) {
    const room = shower.room();
    room.fill(120);
    for (const lines of shower.shown(room.length)) shown.push(String(lines));
  }
  expect(shown).toEqual([`${'x'.repeat(LONGEST - 1)}…\n`]);
  const room = shower.room();
  room.set(Buffer.from('x\nnext\n'));
  expect([...shower.shown(7)].map(String)).toEqual(['next\n']);
});

test('what is held is forgotten when the log starts over', () => {
  const shower = showLines();
  shower.room().set(Buffer.from('half'));
  expect([...shower.shown(4)]).toEqual([]);
  shower.clear();
  shower.room().set(Buffer.from('new\n'));
  expect([...shower.shown(4)].map(String)).toEqual(['new\n']);
  const room = shower.room();
  expect([...shower.shown(room.fill(120).length)]).toHaveLength(1);
  shower.clear();
  shower.room().set(Buffer.from('new\n'));
  expect([...shower.shown(4)].map(String)).toEqual(['new\n']);
  expect(shower.rest()).toBe('');
});
