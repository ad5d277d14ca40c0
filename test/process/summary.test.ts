import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutSummary } from '../../orchestrator/process/summary.js';

const bytesOf = (lines: readonly string[]) => lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
const lines = (count: number, text = 'x') => Array.from({ length: count }, () => text);

test.each([0, 1, 14, 15, 16, 10_000])('of %i lines at most 15 are kept', (count) => {
  expect(cutSummary(lines(count))).toHaveLength(Math.min(count, 15));
  expect(cutSummary(lines(count).join('\n'))).toHaveLength(Math.min(count, 15));
});

test('the first lines are kept', () => {
  expect(cutSummary(Array.from({ length: 20 }, (_, index) => `line ${index}`)).at(-1)).toBe('line 14');
});

test('200 characters stay, 201 are cut, counted in code points', () => {
  expect(cutSummary('x'.repeat(200))).toEqual(['x'.repeat(200)]);
  expect(cutSummary('x'.repeat(201))).toEqual([`${'x'.repeat(199)}…`]);
  expect(cutSummary('\u{1F600}'.repeat(200))).toEqual(['\u{1F600}'.repeat(200)]);
  expect(cutSummary('\u{1F600}'.repeat(201))).toEqual([`${'\u{1F600}'.repeat(199)}…`]);
});

test('6,000 bytes stay, more is cut between characters', () => {
  const full = lines(15, 'é'.repeat(200));
  expect(cutSummary(full)).toEqual(full);
  const wide = cutSummary(lines(15, '\u{1F600}'.repeat(200)));
  expect(bytesOf(wide)).toBeLessThanOrEqual(6_000);
  expect(bytesOf(wide)).toBeGreaterThan(5_990);
  expect(wide.at(-1)).toMatch(/^\u{1F600}+…$/u);
});

test('a line of a megabyte is one line of 200 characters', () => {
  expect(cutSummary('x'.repeat(1_000_000))).toEqual([`${'x'.repeat(199)}…`]);
});

test.each([
  ['colours', '\u001B[31mred\u001B[0m', 'red'],
  ['a link', '\u001B]8;;http://evil.example\u0007text\u001B]8;;\u0007', 'text'],
  ['C0 and C1', 'a\u0000b\u0007c\u009Bd\u0085e', 'abce'],
  ['a sequence in a sequence', '\u001B\u001B[0m[31mx', '[31mx'],
  ['bidi overrides', 'user\u202E\u2066nimda\u2069\u202C', 'usernimda'],
  ['zero width', 'APP\u200BRO\u2060VED\uFEFF\u00AD', 'APPROVED'],
  ['line and paragraph separators', 'a\u2028b\u2029c', 'abc'],
  ['a lone surrogate', 'a\uD800b', 'a\uFFFDb'],
  ['a tab', 'a\tb', 'a b'],
])('%s are removed', (_name, text, clean) => {
  expect(cutSummary(text)).toEqual([clean]);
});

test('blank lines take no room, CRLF is one line end, indentation stays', () => {
  expect(cutSummary('a\r\n\r\n   \n  b  \n\u200B\n')).toEqual(['a', '  b']);
  expect(cutSummary(['a\nb', '', 'c'])).toEqual(['a', 'b', 'c']);
});

const nasty = fc.constantFrom(
  '\u001B',
  '[',
  ']',
  '\u0007',
  '\r',
  '\n',
  '\t',
  '\u202E',
  '\u200B',
  '\u2028',
  '\uD800',
  '\uDC00',
  '\u009B',
  'é',
  '\u{1F600}',
  ' ',
);
const text = fc
  .array(fc.oneof(nasty, fc.string({ unit: 'binary', maxLength: 300 })), { maxLength: 60 })
  .map((parts) => parts.join(''));

test('whatever the text, the limits hold, nothing invisible is left, and cutting twice changes nothing', () => {
  fc.assert(
    fc.property(fc.oneof(text, fc.array(text, { maxLength: 30 })), (input) => {
      const cut = cutSummary(input);
      expect(cut.length).toBeLessThanOrEqual(15);
      expect(bytesOf(cut)).toBeLessThanOrEqual(6_000);
      for (const line of cut) {
        expect(Array.from(line).length).toBeLessThanOrEqual(200);
        expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u200B-\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/u);
        expect(Buffer.from(line).toString()).toBe(line);
        expect(line.trim()).not.toBe('');
      }
      expect(cutSummary(cut)).toEqual(cut);
    }),
    { numRuns: 300 },
  );
});
