import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '../../orchestrator/model/digest.js';
import { runCheck } from '../../orchestrator/process/command-check.js';
import type { CheckRequest } from '../../orchestrator/process/command-check.js';
import { PATH, isAlive, pidFrom, temporaryFolder, textOf, until } from '../helpers/child.js';

const check = (folder: string, text: string, more: Partial<CheckRequest> = {}) =>
  runCheck({
    argv: ['/bin/sh', '-c', text],
    cwd: folder,
    env: { PATH, ORCHESTRATE_CHILD: `check-${folder}` },
    timeoutMs: 20_000,
    graceMs: 300,
    outputFile: join(folder, 'logs', 'check.log'),
    ...more,
  });

test('the exit status, the output in order, its digest and its last lines are the record', async () => {
  const folder = temporaryFolder();
  const result = await check(
    folder,
    'n=0; while [ $n -lt 20 ]; do n=$((n+1)); echo $n; echo err $n >&2; done; exit 3',
  );
  const output = Array.from({ length: 20 }, (_, index) => `${index + 1}\nerr ${index + 1}\n`).join('');
  expect(textOf(join(folder, 'logs', 'check.log'))).toBe(output);
  expect(result).toEqual({
    end: { kind: 'exited', code: 3 },
    outputDigest: digestOf(output),
    outputBytes: output.length,
    tail: output.trimEnd().split('\n').slice(-15),
    leftovers: 0,
  });
});

test('a check that ends by a signal is signalled', async () => {
  expect((await check(temporaryFolder(), 'kill -KILL $$')).end).toEqual({
    kind: 'signalled',
    signal: 'SIGKILL',
  });
});

test('a check that takes too long is ended with all that it started', async () => {
  const folder = temporaryFolder();
  const text = `setsid sh -c "trap '' TERM; echo \\$\\$ >pid; while :; do :; done" & while [ ! -s pid ]; do :; done; echo >ready; wait`;
  const result = await check(folder, text, { timeoutMs: 700 });
  expect(result.end).toEqual({ kind: 'timeout', timeoutMs: 700 });
  expect(isAlive(await pidFrom(join(folder, 'pid')))).toBe(false);
});

test('what a check leaves behind is ended', async () => {
  const folder = temporaryFolder();
  const result = await check(folder, 'sleep 300 & echo $! >pid');
  expect(result).toMatchObject({ end: { kind: 'exited', code: 0 }, leftovers: 1 });
  expect(isAlive(await pidFrom(join(folder, 'pid')))).toBe(false);
});

test('a check is ended when the orchestrator is', async () => {
  const folder = temporaryFolder();
  const abort = new AbortController();
  const running = check(folder, 'echo >ready; while :; do :; done', { signal: abort.signal });
  await until(() => textOf(join(folder, 'ready')) !== '');
  abort.abort();
  expect((await running).end).toMatchObject({ kind: 'stopped' });
  expect((await check(folder, 'while :; do :; done', { signal: abort.signal })).end).toMatchObject({
    kind: 'stopped',
  });
});

test('a check that cannot be started says so', async () => {
  const folder = temporaryFolder();
  const none = { outputBytes: 0, outputDigest: digestOf(''), tail: [] };
  for (const more of [
    { argv: ['no-such-program-anywhere'] },
    { cwd: '/no/such/folder' },
    { argv: ['echo', 'x'.repeat(140_000)] },
  ]) {
    expect(await check(folder, '', more)).toMatchObject({ end: { kind: 'not-started' }, ...none });
  }
});

test('the digest is of what was written, whatever the check does to the file', async () => {
  const folder = temporaryFolder();
  const result = await check(folder, 'echo failed; rm logs/check.log; echo passed >logs/check.log');
  expect(result).toMatchObject({ outputDigest: digestOf('failed\n'), tail: ['failed'] });
});

test('an output file that is a link is replaced, not written through', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'logs'));
  writeFileSync(join(folder, 'precious'), 'kept');
  symlinkSync(join(folder, 'precious'), join(folder, 'logs', 'check.log'));
  await check(folder, 'echo x');
  expect(textOf(join(folder, 'precious'))).toBe('kept');
});

test('an output folder that cannot be made is a problem', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'logs'), 'a file');
  await expect(check(folder, 'true')).rejects.toMatchObject({ failure: { kind: 'not-writable' } });
});

test('the tail is clean text', async () => {
  const result = await check(temporaryFolder(), String.raw`printf '\033[31mred\033[0m\r\n\000'`);
  expect(result.tail).toEqual(['red']);
});
