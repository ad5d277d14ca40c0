import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, closeSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ForkRequest } from '../../orchestrator/model/child.js';
import { forkChild } from '../../orchestrator/process/fork.js';
import { reaperArguments, spawnReaper } from '../../orchestrator/process/reaper.js';
import type { ChildHandle } from '../../orchestrator/process/wait.js';
import { reattach } from '../../orchestrator/process/reattach.js';
import { PATH, makeGate, shell, temporaryFolder, textOf, until, worker } from '../helpers/child.js';

/** A reaper without the fork around it: one that was sent by an orchestrator of which nothing else is known. */
const sendReaper = async (request: ForkRequest): Promise<string | number | null> => {
  const log = openSync(join(request.dir, 'stdout.log'), 'a');
  const { dir, argv, env, cwd } = request;
  const reaper = spawnReaper({ dir, argv, env, job: { worker: false } }, { cwd, stdout: log, stderr: log });
  closeSync(log);
  return new Promise((resolve) => reaper.once('exit', (code, signal) => resolve(signal ?? code)));
};

test('forking one generation twice starts it once, and both are told the same end', async () => {
  const folder = temporaryFolder();
  const gate = makeGate(folder);
  const request = shell(folder, `echo started >>log; read line <${gate.path}; exit 5`);
  const first = forkChild(request);
  await until(() => existsSync(join(request.dir, 'proc.json')));
  const second = forkChild(request);
  await gate.open();
  const ends = [(await first.wait()).end, (await second.wait()).end];
  expect(ends).toEqual(Array(2).fill({ kind: 'exited', code: 5 }));
  expect(second.identity).toEqual(first.identity);
  expect(textOf(join(folder, 'log'))).toBe('started\n');
});

test('forked twice before either reaper has claimed, one starts it and both are told its end', async () => {
  const folder = temporaryFolder();
  const request = worker(folder, 'echo started >>log; while [ ! -e go ]; do :; done; exit 5');
  const first = forkChild(request);
  const second = forkChild(request);
  await until(() => textOf(join(folder, 'log')) !== '');
  writeFileSync(join(folder, 'go'), '');
  const ends = [(await first.wait()).end, (await second.wait()).end];
  expect(ends).toEqual(Array(2).fill({ kind: 'exited', code: 5 }));
  expect(textOf(join(folder, 'log'))).toBe('started\n');
});

/** Forks twice until it happens that both reapers were sent before one had claimed: the handles are those of two reapers. */
const forkTwice = async (
  request: (round: number) => ForkRequest,
  round = 0,
): Promise<readonly ChildHandle[]> => {
  const handles = [forkChild(request(round)), forkChild(request(round))];
  if (handles[0]?.identity?.pid !== handles[1]?.identity?.pid) return handles;
  await handles[0]?.stop('the test, for another try');
  return forkTwice(request, round + 1);
};

test('stopping the one that lost the race stops the child', async () => {
  const folder = temporaryFolder();
  const [one, two] = await forkTwice((round) => ({
    ...worker(folder, `echo >log-${round}; while :; do :; done`),
    dir: join(folder, String(round)),
    env: { PATH, ORCHESTRATE_CHILD: `${folder}-${round}` },
  }));
  const last = [...Array(100).keys()].findLast((round) => existsSync(join(folder, String(round))));
  await until(() => existsSync(join(folder, `log-${last}`)));
  const claimed = JSON.parse(textOf(join(folder, String(last), 'proc.json'))) as { readonly pid: number };
  const loser = one?.identity?.pid === claimed.pid ? two : one;
  expect(await loser?.stop('a person')).toMatchObject({ left: [] });
  expect([(await one?.wait())?.end, (await two?.wait())?.end]).toEqual(
    Array(2).fill({ kind: 'stopped', by: 'a person' }),
  );
});

test('of ten reapers for one folder, one runs the command', async () => {
  const folder = temporaryFolder();
  const request = shell(folder, 'echo started >>log');
  mkdirSync(request.dir, { recursive: true });
  const ends = await Promise.all(Array.from({ length: 10 }, async () => sendReaper(request)));
  expect(ends.filter((end) => end === 0)).toHaveLength(1);
  expect(ends.filter((end) => end === 'SIGKILL')).toHaveLength(9);
  expect(textOf(join(folder, 'log'))).toBe('started\n');
});

test('a reaper that comes after the recovery took the claim starts nothing', async () => {
  const folder = temporaryFolder();
  const request = shell(folder, 'echo started >>log');
  mkdirSync(request.dir, { recursive: true });
  expect(reattach(request.dir)).toEqual({ kind: 'never-started' });
  expect(await sendReaper(request)).toBe('SIGKILL');
  expect(existsSync(join(folder, 'log'))).toBe(false);
  expect(reattach(request.dir)).toEqual({ kind: 'never-started' });
  expect((await forkChild(request).wait()).end).toMatchObject({
    kind: 'lost',
    detail: expect.stringContaining('never started'),
  });
  expect(existsSync(join(folder, 'log'))).toBe(false);
});

test('an intent that a crash left half-written is written anew, and the child starts', async () => {
  const folder = temporaryFolder();
  const request = worker(folder, 'cat >copy', { prompt: 'the whole prompt' });
  mkdirSync(request.dir, { recursive: true });
  writeFileSync(join(request.dir, 'job.json'), '{"tick', { mode: 0o444 });
  writeFileSync(join(request.dir, 'prompt.md'), 'the wh', { mode: 0o400 });
  expect((await forkChild(request).wait()).end).toEqual({ kind: 'exited', code: 0 });
  expect(textOf(join(folder, 'copy'))).toBe('the whole prompt');
});

test('a claim that cannot be written starts nothing', async () => {
  const folder = temporaryFolder();
  const request = shell(folder, 'echo started >>log');
  mkdirSync(join(request.dir, 'proc.json'), { recursive: true });
  expect(await sendReaper(request)).toBe('SIGKILL');
  expect(existsSync(join(folder, 'log'))).toBe(false);
});

const SHELLS = ['/bin/bash', '/bin/dash', '/bin/zsh', '/bin/ksh'].filter((path) => existsSync(path));

test.each(SHELLS)('the reaper works when /bin/sh is %s', async (program) => {
  const folder = temporaryFolder();
  const dir = join(folder, 'child');
  mkdirSync(dir);
  const log = openSync(join(dir, 'log'), 'a');
  // TERM for the whole session: the command dies of it, the reaper records it.
  const argv = ['/bin/sh', '-c', 'echo ready; kill -s TERM 0; while :; do :; done'];
  const args = reaperArguments({
    dir,
    argv,
    env: {},
    job: { worker: true, marker: 'm "1"', limits: { idleMs: 1, timeoutMs: 2, graceMs: 3 } },
  });
  const reaper = spawn(program, [...args], {
    argv0: 'sh',
    detached: true,
    stdio: ['ignore', log, log],
    env: {},
  });
  closeSync(log);
  const code = await new Promise((resolve) => reaper.once('exit', resolve));
  expect(code).toBe(143);
  expect(readFileSync(join(dir, 'log'), 'utf8')).toBe('ready\n');
  expect(textOf(join(dir, 'exit.json'))).toBe('{"status":143}\n');
  expect(JSON.parse(textOf(join(dir, 'proc.json')))).toMatchObject({
    pid: reaper.pid,
    marker: 'm "1"',
    limits: { timeoutMs: 2 },
  });
});
