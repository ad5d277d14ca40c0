import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { followLog } from '../../orchestrator/process/follow.js';
import type { ShownLines } from '../../orchestrator/process/shown-lines.js';
import { readTail } from '../../orchestrator/process/tail.js';
import { temporaryFolder } from '../helpers/child.js';

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);

const logOf = (content: string | Uint8Array): string => {
  const path = join(temporaryFolder(), 'log');
  writeFileSync(path, content);
  return path;
};

/** What is shown is whole lines. */
const linesOf = (shown: ShownLines): readonly string[] => {
  const lines = Buffer.from(shown).toString().split('\n');
  expect(lines.pop()).toBe('');
  return lines;
};

const collect = (path: string, options: { readonly from?: number } = {}) => {
  const abort = new AbortController();
  let ended = false;
  const lines: string[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const done = (async () => {
    for await (const shown of followLog(path, { signal: abort.signal, until: () => ended, ...options })) {
      lines.push(...linesOf(shown));
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
  appendFileSync(path, 'a long first line\nand more than half of another');
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
  const shown = [];
  for await (const lines of followLog(logOf('x\n'), { signal: AbortSignal.abort(), from: 0 }))
    shown.push(lines);
  expect(shown).toEqual([]);
});

test('it can be ended in the middle of a log that is there already, and reads no more of it then', async () => {
  const path = logOf('a line\n'.repeat(1_000_000));
  const abort = new AbortController();
  let bytes = 0;
  for await (const shown of followLog(path, { signal: abort.signal, from: 0 })) {
    bytes += shown.length;
    // Heard only if events are served between two blocks, as a signal is.
    setImmediate(() => abort.abort());
  }
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(2_000_000);
});

test('it is ended at once, by who reads it and while it waits', async () => {
  // No timer helps.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const reading = new AbortController();
  for await (const shown of followLog(logOf('x\n'), { signal: reading.signal, from: 0 })) {
    expect(String(shown)).toBe('x\n');
    reading.abort();
  }
  const waiting = new AbortController();
  const until = (): boolean => {
    setImmediate(() => waiting.abort());
    return false;
  };
  for await (const shown of followLog(logOf('x\n'), { signal: waiting.signal, until }))
    expect(shown).toBeUndefined();
});

// Elsewhere notices may come late.
test.skipIf(process.platform !== 'linux')(
  'an end that is written down beside the log is noticed, not waited for',
  async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const path = logOf('');
    const end = join(path, '../exit.json');
    let [asked, ended] = [0, false];
    const until = (): boolean => {
      asked += 1;
      return existsSync(end);
    };
    const follower = (async () => {
      for await (const shown of followLog(path, { signal: new AbortController().signal, until }))
        expect(shown).toBeUndefined();
      ended = true;
    })();
    while (asked === 0) await turn();
    writeFileSync(end, '{}');
    // A tenth of the time after which it would look without a notice.
    for (let turns = 0; turns < 5; turns += 1) {
      await turn();
      vi.advanceTimersByTime(20);
    }
    await turn();
    expect([asked, ended]).toEqual([2, true]);
    await follower;
  },
);
