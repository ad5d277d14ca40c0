import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forkChild } from '../../orchestrator/process/fork.js';
import { endSession } from '../../orchestrator/process/stop.js';
import { identityOf, parseStat } from '../../orchestrator/state/identity.js';
import { isAlive, pidFrom, shell, temporaryFolder, textOf, until, worker } from '../helpers/child.js';

test('a child that is asked to stop ends of TERM, and nothing is left', async () => {
  const folder = temporaryFolder();
  const request = worker(folder, "trap 'echo bye >bye; exit 0' TERM; echo >ready; while :; do :; done");
  const handle = forkChild(request);
  await until(() => existsSync(join(folder, 'ready')));
  expect(await handle.stop('a person')).toEqual({ ended: 1, left: [] });
  expect(await handle.wait()).toMatchObject({ end: { kind: 'stopped', by: 'a person' }, leftovers: 0 });
  expect(textOf(join(folder, 'bye'))).toBe('bye\n');
  expect(textOf(join(request.dir, 'exit.json'))).toBe('{"status":0}\n');
});

test('a child that ignores TERM is killed after the grace', async () => {
  const folder = temporaryFolder();
  const request = worker(folder, "trap '' TERM; echo $$ >pid; while :; do :; done", {
    limits: { graceMs: 150 },
  });
  const handle = forkChild(request);
  const pid = await pidFrom(join(folder, 'pid'));
  const started = performance.now();
  expect(await handle.stop('a person')).toMatchObject({ left: [] });
  expect(performance.now() - started).toBeGreaterThan(140);
  expect(isAlive(pid)).toBe(false);
  expect((await handle.wait()).end).toEqual({ kind: 'stopped', by: 'a person' });
  expect(textOf(join(request.dir, 'exit.json'))).toBe('{"status":137}\n');
});

test('stopping twice, or after the end, is harmless', async () => {
  const folder = temporaryFolder();
  const handle = forkChild(worker(folder, 'echo >ready; while :; do :; done'));
  await until(() => existsSync(join(folder, 'ready')));
  const reports = await Promise.all([handle.stop('first'), handle.stop('second')]);
  expect(reports[0]).toEqual(reports[1]);
  expect((await handle.wait()).end).toEqual({ kind: 'stopped', by: 'first' });
  const ended = forkChild(shell(folder, 'exit 3'));
  await ended.wait();
  expect(await ended.stop('late')).toEqual({ ended: 0, left: [] });
  expect((await ended.wait()).end).toEqual({ kind: 'exited', code: 3 });
});

test('a child that was stopped with STOP goes on so that it can end of TERM', async () => {
  const folder = temporaryFolder();
  const request = worker(folder, 'echo $$ >pid; kill -STOP 0; exit 0');
  const handle = forkChild(request);
  const pid = await pidFrom(join(folder, 'pid'));
  await until(() => textOf(`/proc/${pid}/stat`).includes(') T '));
  expect(await handle.stop('a person')).toMatchObject({ left: [] });
  expect((await handle.wait()).end).toEqual({ kind: 'stopped', by: 'a person' });
  expect(textOf(join(request.dir, 'exit.json'))).toBe('{"status":143}\n');
});

test('a grandchild that keeps the log open does not hold up the end, and is ended', async () => {
  const folder = temporaryFolder();
  const handle = forkChild(shell(folder, 'sleep 300 & echo $! >pid; exit 0'));
  const status = await handle.wait();
  expect(status).toMatchObject({ end: { kind: 'exited', code: 0 }, leftovers: 1 });
  expect(isAlive(await pidFrom(join(folder, 'pid')))).toBe(false);
});

test('a grandchild in a session of its own is found by its marker after a normal end', async () => {
  const folder = temporaryFolder();
  const handle = forkChild(
    worker(folder, 'setsid sh -c "echo \\$\\$ >pid; exec sleep 300" & while [ ! -s pid ]; do :; done'),
  );
  const status = await handle.wait();
  expect(status).toMatchObject({ end: { kind: 'exited', code: 0 }, leftovers: 1 });
  expect(isAlive(await pidFrom(join(folder, 'pid')))).toBe(false);
});

test('a grandchild that left its session and cleared its environment is found while its parent lives', async () => {
  const folder = temporaryFolder();
  const text = 'setsid env -i /bin/sh -c "echo \\$\\$ >pid; exec sleep 300" & wait';
  const handle = forkChild(worker(folder, text));
  const pid = await pidFrom(join(folder, 'pid'));
  await until(() => textOf(`/proc/${pid}/cmdline`).includes('sleep'));
  expect(await handle.stop('a person')).toMatchObject({ left: [] });
  expect(isAlive(pid)).toBe(false);
});

test('what was seen once is ended although nothing ties it to the child any more', async () => {
  const folder = temporaryFolder();
  // The daemon has no marker and a session of its own; once the middle process is gone, it is init's.
  const daemon =
    'setsid env -i /bin/sh -c "echo \\$\\$ >pid; exec sleep 300" & while [ ! -e go ]; do sleep 0.01; done';
  const text = `sh -c '${daemon.replaceAll('\\$', '$')}' & echo $! >middle; while [ ! -e end ]; do echo x; sleep 0.01; done`;
  const request = worker(folder, text, { limits: { idleMs: 400 } });
  const handle = forkChild(request);
  const pid = await pidFrom(join(folder, 'pid'));
  const middle = await pidFrom(join(folder, 'middle'));
  const seen = textOf(join(request.dir, 'stdout.log')).length;
  // By then the idle limit has made several looks.
  await until(() => textOf(join(request.dir, 'stdout.log')).length > seen + 180);
  writeFileSync(join(folder, 'go'), '');
  await until(() => parseStat(textOf(`/proc/${pid}/stat`))?.ppid !== middle);
  writeFileSync(join(folder, 'end'), '');
  const status = await handle.wait();
  expect(status.end).toEqual({ kind: 'exited', code: 0 });
  // A `sleep` of the loops may have been there as well.
  expect(status.leftovers).toBeGreaterThanOrEqual(1);
  expect(isAlive(pid)).toBe(false);
});

test('a daemon that ignores TERM is killed after the grace, and counted', async () => {
  const folder = temporaryFolder();
  const text = "(trap '' TERM; echo >ready; while :; do :; done) & while [ ! -e ready ]; do :; done";
  const status = await forkChild(worker(folder, text, { limits: { graceMs: 100 } })).wait();
  expect(status).toMatchObject({ end: { kind: 'exited', code: 0 }, leftovers: 1 });
});

test('processes that appear while the child is being ended are ended too', async () => {
  const folder = temporaryFolder();
  const text = `trap 'setsid sh -c "echo \\$\\$ >late; exec sleep 300" & exit 0' TERM; echo >ready; while :; do :; done`;
  const handle = forkChild(worker(folder, text));
  await until(() => existsSync(join(folder, 'ready')));
  await handle.stop('a person');
  await handle.wait();
  const late = textOf(join(folder, 'late'));
  expect(late === '' || !isAlive(Number(late))).toBe(true);
});

test('a process that has the number of the child but another start time is not signalled', async () => {
  const folder = temporaryFolder();
  const stranger = spawn('sleep', ['300'], { detached: true, stdio: 'ignore', cwd: folder });
  try {
    const identity = identityOf(stranger.pid ?? 0);
    if (identity === undefined) throw new Error('it did not start');
    const leader = { ...identity, startTime: String(Number(identity.startTime) - 1) };
    expect(await endSession({ leader, known: new Map(), ours: false }, 50)).toEqual({ ended: 0, left: [] });
    expect(
      await endSession({ leader: { ...identity, bootId: 'another' }, known: new Map(), ours: false }, 50),
    ).toEqual({ ended: 0, left: [] });
    expect(isAlive(identity.pid)).toBe(true);
  } finally {
    stranger.kill('SIGKILL');
  }
});

test('a silent child ends idle, and the record of the reason precedes the signal', async () => {
  const folder = temporaryFolder();
  const request = worker(folder, 'trap \'cat "$DIR/stop.json" >seen; exit 0\' TERM; while :; do :; done', {
    limits: { idleMs: 600, graceMs: 2_000 },
  });
  const handle = forkChild({ ...request, env: { ...request.env, DIR: request.dir } });
  expect((await handle.wait()).end).toEqual({ kind: 'idle-timeout', idleMs: 600 });
  expect(JSON.parse(textOf(join(folder, 'seen')))).toEqual({ kind: 'idle-timeout', idleMs: 600 });
});

test.each(['1', '2'])('a child that writes to stream %s is not idle', async (stream) => {
  const text = `n=0; while [ $n -lt 30 ]; do n=$((n+1)); echo $n >&${stream}; sleep 0.05; done`;
  const request = worker(temporaryFolder(), text, { limits: { idleMs: 1_000 } });
  const started = performance.now();
  expect((await forkChild(request).wait()).end).toEqual({ kind: 'exited', code: 0 });
  expect(performance.now() - started).toBeGreaterThan(1_200);
});

test('a child that writes for ever ends at the absolute limit', async () => {
  const request = worker(temporaryFolder(), 'while :; do echo x; sleep 0.02; done', {
    limits: { idleMs: 60_000, timeoutMs: 200 },
  });
  expect((await forkChild(request).wait()).end).toEqual({ kind: 'timeout', timeoutMs: 200 });
});

test('a limit above what a timer can hold neither ends the child nor wakes us', async () => {
  const folder = temporaryFolder();
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on('warning', onWarning);
  const limits = { idleMs: 2 ** 31, timeoutMs: 2 ** 40, graceMs: 500 };
  const handle = forkChild(worker(folder, 'while [ ! -e go ]; do :; done; exit 8', { limits }));
  const first = await Promise.race([
    handle.wait(),
    new Promise((resolve) => setTimeout(() => resolve('runs'), 100)),
  ]);
  process.off('warning', onWarning);
  expect(first).toBe('runs');
  expect(warnings).toEqual([]);
  writeFileSync(join(folder, 'go'), '');
  expect((await handle.wait()).end).toEqual({ kind: 'exited', code: 8 });
});
