import { appendFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { tailLines } from '../../orchestrator/process/tail.js';
import { makeGate, temporaryFolder } from '../helpers/child.js';

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);

const logOf = (content: string | Uint8Array): string => {
  const path = join(temporaryFolder(), 'log');
  writeFileSync(path, content);
  return path;
};

test.each([0, 1, 14, 15, 16, 1_000])('of %i lines the last 15 are read', (count) => {
  const lines = numbered(1, count);
  const path = logOf(lines.map((line) => `${line}\n`).join(''));
  expect(tailLines(path)).toEqual(lines.slice(-15));
  writeFileSync(path, lines.join('\n'));
  expect(tailLines(path)).toEqual(lines.slice(-15));
});

test('as many lines as are asked for', () => {
  const path = logOf(`${numbered(1, 20).join('\n')}\n`);
  expect(tailLines(path, 0)).toEqual([]);
  expect(tailLines(path, 1)).toEqual(['line 20']);
  expect(tailLines(path, 16)).toEqual(numbered(5, 20));
});

test('empty lines are lines, and CRLF is one line end', () => {
  expect(tailLines(logOf('a\r\n\r\nb\n\n'))).toEqual(['a', '', 'b', '']);
});

test('a file that is not there, a link and a pipe have no lines', () => {
  const folder = temporaryFolder();
  const path = logOf('secret\n');
  symlinkSync(path, join(folder, 'link'));
  expect(tailLines(join(folder, 'nothing'))).toEqual([]);
  expect(tailLines(join(folder, 'link'))).toEqual([]);
  expect(tailLines(makeGate(folder).path)).toEqual([]);
  expect(tailLines(folder)).toEqual([]);
});

test('a line of a megabyte is cut', () => {
  const [first, second] = tailLines(logOf(`short\n${'x'.repeat(1_000_000)}\n`));
  expect(second).toBeUndefined();
  expect(first).toMatch(/^…x+…$/);
  expect(first?.length).toBe(8_192);
  const [whole, cut] = tailLines(logOf(`short\n${'x'.repeat(10_000)}\n`));
  expect(whole).toBe('short');
  expect(cut).toBe(`${'x'.repeat(8_191)}…`);
});

test('the lines behind a huge one are whole', () => {
  expect(tailLines(logOf(`${'x'.repeat(1_000_000)}\n${numbered(1, 15).join('\n')}\n`))).toEqual(
    numbered(1, 15),
  );
});

test('half a character at either end is left out', () => {
  for (const shift of ['', 'a', 'ab', 'abc']) {
    const text = tailLines(logOf(`${'\u{1F600}'.repeat(100_000)}${shift}`)).join('');
    expect(text).not.toContain('\uFFFD');
    expect(text.slice(1, 3)).toBe('\u{1F600}');
  }
  const bytes = Buffer.from('done €');
  expect(tailLines(logOf(bytes.subarray(0, -1)))).toEqual(['done ']);
});

test('the tail is what splitting the whole file gives', () => {
  const path = logOf('');
  const part = fc.oneof(fc.constantFrom('\n', '\r\n', 'é', '\u{1F600}'), fc.string({ maxLength: 5 }));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (parts, count) => {
      const text = Buffer.from(parts.join('')).toString();
      writeFileSync(path, text);
      const lines = text.split('\n');
      if (lines.at(-1) === '') lines.pop();
      expect(tailLines(path, count)).toEqual(lines.slice(-count).map((line) => line.replace(/\r$/, '')));
    }),
    { numRuns: 200 },
  );
});

test('a large file is read from its end only', () => {
  const path = logOf('');
  truncateSync(path, 3_000_000_000);
  appendFileSync(path, '\nthe end\n');
  const before = process.memoryUsage().rss;
  expect(tailLines(path).at(-1)).toBe('the end');
  expect(process.memoryUsage().rss - before).toBeLessThan(16_000_000);
});
