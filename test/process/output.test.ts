import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forkChild } from '../../orchestrator/process/fork.js';
import { readLines } from '../../orchestrator/process/lines.js';
import type { EndNow, OutputReader } from '../../orchestrator/process/output.js';
import { attachToClaim } from '../../orchestrator/process/reattach.js';
import { makeGate, temporaryFolder, textOf, until, worker } from '../helpers/child.js';

/** Keeps every line; `endNow` is asked with all so far. */
const collector = (endNow?: (lines: readonly string[]) => EndNow | undefined) => {
  const lines: string[] = [];
  const reader: OutputReader = {
    longestLine: 1_000,
    line: (line) => void lines.push(line),
    ...(endNow === undefined ? {} : { endNow: () => endNow(lines) }),
  };
  return { lines, reader };
};

test.each(['log', 'socket'] as const)(
  'what a child says is read line by line from its %s, and is in its log',
  async (output) => {
    const folder = temporaryFolder();
    const request = worker(folder, 'printf "one\\r\\ntwo\\n"; printf "three"', { output });
    const { lines, reader } = collector();
    const status = await forkChild(request, { reader }).wait();
    expect(lines).toEqual(['one', 'two', 'three']);
    expect(textOf(join(request.dir, 'stdout.log'))).toBe('one\r\ntwo\nthree');
    expect(status).toMatchObject({ end: { kind: 'exited', code: 0 }, stdoutBytes: 14 });
  },
);

test('a socket is opened by no process that was not given it; a log is', async () => {
  const folder = temporaryFolder();
  const gate = makeGate(folder);
  const request = worker(folder, `echo mine; echo $$ > pid; read line < ${gate.path}`, { output: 'socket' });
  const { lines, reader } = collector();
  const handle = forkChild(request, { reader });
  await until(() => existsSync(join(folder, 'pid')));
  const intruder = `/proc/${readFileSync(join(folder, 'pid'), 'utf8').trim()}/fd/1`;
  expect(() => writeFileSync(intruder, 'forged\n')).toThrow('ENXIO');
  writeFileSync(join(request.dir, 'stdout.log'), 'forged\n');
  await gate.open();
  await handle.wait();
  expect(lines).toEqual(['mine']);
});

test('a process that holds the socket after the child is gone does not hold up its end', async () => {
  const folder = temporaryFolder();
  const escaped = `env -i setsid /bin/sh -c 'echo $$ > escaped; exec sleep 30' & while [ ! -s escaped ]; do :; done; echo said`;
  const { lines, reader } = collector();
  const started = performance.now();
  const status = await forkChild(worker(folder, escaped, { output: 'socket' }), { reader }).wait();
  process.kill(Number(readFileSync(join(folder, 'escaped'), 'utf8')), 'SIGKILL');
  expect(status.end).toEqual({ kind: 'exited', code: 0 });
  expect(lines).toEqual(['said']);
  expect(performance.now() - started).toBeLessThan(10_000);
});

const LAST_WORD: EndNow = { end: { kind: 'finished' }, afterMs: 30 };

test('a child that stays after its last word is ended, and has not failed', async () => {
  const { reader } = collector((lines) => (lines.includes('done') ? LAST_WORD : undefined));
  const handle = forkChild(worker(temporaryFolder(), 'echo done; exec sleep 60'), { reader });
  expect((await handle.wait()).end).toEqual({ kind: 'finished' });
});

test('a last word that is taken back ends nothing', async () => {
  const folder = temporaryFolder();
  const [gate, last] = [makeGate(folder), makeGate(folder)];
  const text = `echo done; read line < ${gate.path}; echo more; read line < ${last.path}; exit 3`;
  const { lines, reader } = collector((all) =>
    all.at(-1) === 'done' ? { ...LAST_WORD, afterMs: 60_000 } : undefined,
  );
  const handle = forkChild(worker(folder, text), { reader });
  await until(() => lines.includes('done'));
  await gate.open();
  await until(() => lines.includes('more'));
  await last.open();
  expect((await handle.wait()).end).toEqual({ kind: 'exited', code: 3 });
});

test('whoever takes a child over reads its log from the start, and why it was ended stays known', async () => {
  const folder = temporaryFolder();
  const request = worker(folder, 'echo first; exec sleep 60');
  const first = collector();
  const handle = forkChild(request, { reader: first.reader });
  await until(() => first.lines.length === 1);
  const second = collector(() => ({ end: { kind: 'auth', detail: 'not logged in' }, afterMs: 0 }));
  const status = await attachToClaim(request.dir, { reader: second.reader }).wait();
  expect(second.lines).toEqual(['first']);
  expect(status.end).toEqual({ kind: 'auth', detail: 'not logged in' });
  await handle.wait();
});

test('lines come whole whatever the pieces are, and one that is too long is left out', () => {
  const text = 'é\n\n𝄞𝄞\r\nlong long long\nend';
  for (const size of [1, 2, 3, 5, 100]) {
    const lines: string[] = [];
    const reader = readLines((line) => lines.push(line), 8);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) reader.feed(bytes.subarray(at, at + size));
    reader.end();
    expect(lines).toEqual(['é', '', '𝄞𝄞', 'end']);
  }
});
