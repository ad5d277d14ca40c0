import { appendFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { followLog, readTail, tailLines } from '../../orchestrator/process/tail.js';
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

const collect = (path: string, options: { readonly from?: number } = {}) => {
  const abort = new AbortController();
  let ended = false;
  const lines: string[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const done = (async () => {
    for await (const line of followLog(path, { signal: abort.signal, until: () => ended, ...options })) {
      lines.push(line);
      for (const { count, resolve } of waiting) if (lines.length >= count) resolve();
    }
  })();
  return {
    lines,
    reached: async (count: number) =>
      lines.length >= count ? undefined : new Promise<void>((resolve) => waiting.push({ count, resolve })),
    end: async () => {
      ended = true;
      await done;
    },
    abort: async () => {
      abort.abort();
      await done;
    },
  };
};

test('new lines are followed as they are completed, across cuts in a line and in a character', async () => {
  const path = logOf('old\n');
  const follower = collect(path);
  appendFileSync(path, 'one\ntw');
  await follower.reached(1);
  appendFileSync(path, 'o\r\n');
  await follower.reached(2);
  const euro = Buffer.from('€');
  appendFileSync(path, euro.subarray(0, 1));
  appendFileSync(path, Buffer.concat([euro.subarray(1), Buffer.from('\n')]));
  await follower.reached(3);
  expect(follower.lines).toEqual(['one', 'two', '€']);
  await follower.abort();
});

test('when the writer is gone, the rest is read, without a newline too, and it ends', async () => {
  const path = logOf('');
  const follower = collect(path);
  appendFileSync(path, `${numbered(1, 5_000).join('\n')}\nunfinished`);
  await follower.end();
  expect(follower.lines).toEqual([...numbered(1, 5_000), 'unfinished']);
});

test('a tail and what is followed from there leave out nothing and repeat only what was unfinished', async () => {
  const path = logOf('one\ntwo\nthr');
  const tail = readTail(path);
  expect(tail.lines).toEqual(['one', 'two', 'thr']);
  appendFileSync(path, 'ee\nfour\n');
  const follower = collect(path, { from: tail.resumeAt });
  await follower.end();
  expect(follower.lines).toEqual(['three', 'four']);
});

test('a log that appears later is followed from its start', async () => {
  const path = join(temporaryFolder(), 'log');
  const follower = collect(path);
  writeFileSync(path, 'first\n');
  await follower.reached(1);
  expect(follower.lines).toEqual(['first']);
  await follower.abort();
});

test('a log that is cut short is followed from its start', async () => {
  const path = logOf('');
  const follower = collect(path);
  appendFileSync(path, 'a long first line\n');
  await follower.reached(1);
  writeFileSync(path, 'new\n');
  await follower.reached(2);
  expect(follower.lines).toEqual(['a long first line', 'new']);
  await follower.abort();
});

test('a line without end costs a line of memory', async () => {
  const path = logOf('');
  const follower = collect(path);
  appendFileSync(path, `${'x'.repeat(1_000_000)}\nnext\n`);
  await follower.end();
  expect(follower.lines.map((line) => line.length)).toEqual([8_192, 4]);
});

test('what was aborted before it began yields nothing', async () => {
  const lines = [];
  for await (const line of followLog(logOf('x\n'), { signal: AbortSignal.abort(), from: 0 }))
    lines.push(line);
  expect(lines).toEqual([]);
});
