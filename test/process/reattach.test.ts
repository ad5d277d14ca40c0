import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forkChild } from '../../orchestrator/process/fork.js';
import { reattach } from '../../orchestrator/process/reattach.js';
import type { ReattachOptions } from '../../orchestrator/process/reattach.js';
import {
  isAlive,
  makeGate,
  pidFrom,
  shell,
  startOrchestrator,
  temporaryFolder,
  textOf,
  until,
  worker,
} from '../helpers/child.js';

const handleOf = (dir: string, options: ReattachOptions = {}) => {
  const found = reattach(dir, options);
  if (found.kind !== 'child') throw new Error(found.kind);
  return found.handle;
};

test('a child goes on when its orchestrator is killed with -9, and its end is taken by the next one', async () => {
  const folder = temporaryFolder();
  const gate = makeGate(folder);
  const request = worker(folder, `echo $$ >pid; read line <${gate.path}; echo $line >>log; exit 9`);
  const orchestrator = await startOrchestrator(folder, request);
  const pid = await pidFrom(join(folder, 'pid'));
  await orchestrator.kill();
  expect(isAlive(pid)).toBe(true);
  const handle = handleOf(request.dir);
  expect(handle.identity).toEqual(orchestrator.reaper);
  await gate.open();
  const status = await handle.wait();
  expect(status).toMatchObject({
    end: { kind: 'exited', code: 9 },
    identity: orchestrator.reaper,
    leftovers: 0,
  });
  expect(textOf(join(folder, 'log'))).toBe('go\n');
});

test('a child that ended while nobody watched is taken as if we had waited, as often as it is asked', async () => {
  const folder = temporaryFolder();
  const gate = makeGate(folder);
  const request = shell(folder, `echo started >>log; read line <${gate.path}; echo out; exit 4`);
  const orchestrator = await startOrchestrator(folder, request);
  await until(() => textOf(join(folder, 'log')) !== '');
  await orchestrator.kill();
  await gate.open();
  await until(() => textOf(join(request.dir, 'exit.json')).endsWith('\n'));
  const first = await handleOf(request.dir).wait();
  expect(first).toMatchObject({ end: { kind: 'exited', code: 4 }, stdoutBytes: 4 });
  expect(await handleOf(request.dir).wait()).toEqual(first);
  expect((await forkChild(request).wait()).end).toEqual(first.end);
  expect(textOf(join(folder, 'log'))).toBe('started\n');
});

test('a signal that ended it while nobody watched has its name', async () => {
  const folder = temporaryFolder();
  const request = shell(folder, 'kill -SEGV $$');
  await forkChild(request).wait();
  expect((await handleOf(request.dir).wait()).end).toEqual({ kind: 'signalled', signal: 'SIGSEGV' });
});

test('two that watch the same child are told the same end', async () => {
  const folder = temporaryFolder();
  const gate = makeGate(folder);
  const request = shell(folder, `echo >ready; read line <${gate.path}; exit 3`);
  const orchestrator = await startOrchestrator(folder, request);
  await until(() => textOf(join(folder, 'ready')) !== '');
  const handle = handleOf(request.dir);
  await gate.open();
  expect((await handle.wait()).end).toEqual({ kind: 'exited', code: 3 });
  expect(await orchestrator.end()).toEqual({ kind: 'exited', code: 3 });
});

test('a child that is gone without a record is lost, and what is left of it is ended', async () => {
  const folder = temporaryFolder();
  const request = worker(folder, 'echo $$ >pid; while :; do :; done');
  const orchestrator = await startOrchestrator(folder, request);
  const pid = await pidFrom(join(folder, 'pid'));
  await orchestrator.kill();
  const handle = handleOf(request.dir, { recheckMs: 20 });
  process.kill(orchestrator.reaper.pid, 'SIGKILL');
  const status = await handle.wait();
  expect(status.end).toMatchObject({ kind: 'lost' });
  expect(status.leftovers).toBe(1);
  expect(isAlive(pid)).toBe(false);
});

test('a reaper that is killed under our own eyes is lost as well, and its child is ended', async () => {
  const folder = temporaryFolder();
  const handle = forkChild(shell(folder, 'echo $$ >pid; while :; do :; done'));
  const pid = await pidFrom(join(folder, 'pid'));
  process.kill(handle.identity?.pid ?? 0, 'SIGKILL');
  expect(await handle.wait()).toMatchObject({ end: { kind: 'lost' }, leftovers: 1 });
  expect(isAlive(pid)).toBe(false);
});

test('no claim means never started, even where the fork did not come as far as the folder', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'child'));
  expect(reattach(join(folder, 'child'))).toEqual({ kind: 'never-started' });
  expect(reattach(join(folder, 'children', 'none'))).toEqual({ kind: 'never-started' });
});

const claim = (dir: string, text: string) => {
  rmSync(join(dir, 'exit.json'), { force: true });
  writeFileSync(join(dir, 'proc.json'), text);
};

test.each([
  ['another boot', (text: string) => text.replace(/"bootId":"[^"]*"/, '"bootId":"another"')],
  ['another process with that pid', (text: string) => text.replace(/"startTime":"[^"]*"/, '"startTime":"1"')],
  ['a claim that was cut', (text: string) => text.slice(0, 20)],
  ['an empty claim', () => ''],
  ['a claim that is not one', () => '{"pid":"x"}\n'],
])('%s is a lost child, and nothing is signalled', async (_name, change) => {
  const request = shell(temporaryFolder(), 'true');
  await forkChild(request).wait();
  // A process that lives: this very test.
  const text = textOf(join(request.dir, 'proc.json')).replace(/"pid":\d+/, `"pid":${process.pid}`);
  claim(request.dir, change(text));
  expect(await handleOf(request.dir).wait()).toMatchObject({ end: { kind: 'lost' }, leftovers: 0 });
});

test.each(['', '{"status":0}', '{"status":0', '{"status":"0"}\n', '{"status":256}\n', '[]\n', 'null\n'])(
  'the end record %j counts as none',
  async (text) => {
    const request = shell(temporaryFolder(), 'true');
    await forkChild(request).wait();
    rmSync(join(request.dir, 'exit.json'));
    writeFileSync(join(request.dir, 'exit.json'), text);
    expect((await handleOf(request.dir).wait()).end).toMatchObject({ kind: 'lost' });
  },
);

test('a claim that is being written belongs to the reaper that runs', async () => {
  const folder = temporaryFolder();
  const gate = makeGate(folder);
  const request = shell(folder, `echo >ready; read line <${gate.path}; exit 6`);
  const orchestrator = await startOrchestrator(folder, request);
  await until(() => textOf(join(folder, 'ready')) !== '');
  const path = join(request.dir, 'proc.json');
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, 10));
  const handle = handleOf(request.dir);
  expect(handle.identity).toEqual(orchestrator.reaper);
  await gate.open();
  expect((await handle.wait()).end).toEqual({ kind: 'exited', code: 6 });
});

/** Milliseconds since its start, by the clock of the kernel. */
const ageOf = ({ startTime }: { readonly startTime: string }): number =>
  Number.parseFloat(textOf('/proc/uptime')) * 1_000 - Number(startTime) * 10;

test('limits go on from the start of the child and from its last output, not from the restart', async () => {
  const folder = temporaryFolder();
  const text = 'echo hello; echo >>ready; while :; do sleep 1; done';
  const requests = [worker(folder, text), worker(folder, text)];
  const orchestrators = await Promise.all(
    requests.map(async (request) => startOrchestrator(folder, request)),
  );
  for (const orchestrator of orchestrators) await orchestrator.kill();
  await until(() => orchestrators.every(({ reaper }) => ageOf(reaper) > 2_500));
  const restarted = performance.now();
  const [old, silent] = requests.map((request) => request.dir);
  const wait = async (dir = '', limits = {}) =>
    (await handleOf(dir, { limits: { idleMs: 60_000, timeoutMs: 60_000, graceMs: 200, ...limits } }).wait())
      .end;
  const ends = await Promise.all([wait(old, { timeoutMs: 2_000 }), wait(silent, { idleMs: 2_000 })]);
  expect(ends).toEqual([
    { kind: 'timeout', timeoutMs: 2_000 },
    { kind: 'idle-timeout', idleMs: 2_000 },
  ]);
  expect(performance.now() - restarted).toBeLessThan(1_500);
});

test('the limits of the fork are known after a restart', async () => {
  const folder = temporaryFolder();
  const request = worker(folder, 'echo >ready; while :; do :; done', {
    limits: { timeoutMs: 1_500, graceMs: 200 },
  });
  const orchestrator = await startOrchestrator(folder, request);
  await until(() => textOf(join(folder, 'ready')) !== '');
  await orchestrator.kill();
  const started = performance.now();
  expect((await handleOf(request.dir).wait()).end).toEqual({ kind: 'timeout', timeoutMs: 1_500 });
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('one process stops the child, the other that waits for it is told that it was stopped', async () => {
  const folder = temporaryFolder();
  const request = worker(folder, "trap 'exit 0' TERM; echo >ready; while :; do :; done");
  const orchestrator = await startOrchestrator(folder, request);
  await until(() => textOf(join(folder, 'ready')) !== '');
  const report = await handleOf(request.dir).stop('a person');
  expect(report.left).toEqual([]);
  expect(await orchestrator.end()).toEqual({ kind: 'stopped', by: 'a person' });
  expect((await handleOf(request.dir).wait()).end).toEqual({ kind: 'stopped', by: 'a person' });
});

test('a child that writes without pause is waited for all the same', async () => {
  const folder = temporaryFolder();
  const request = shell(folder, 'while [ ! -e go ]; do echo x; done; exit 2');
  const orchestrator = await startOrchestrator(folder, request);
  await orchestrator.kill();
  const handle = handleOf(request.dir, { recheckMs: 20 });
  await until(() => textOf(join(request.dir, 'stdout.log')).length > 20_000);
  writeFileSync(join(folder, 'go'), '');
  expect((await handle.wait()).end).toEqual({ kind: 'exited', code: 2 });
});

test('a pipe in the place of a record does not hold anybody up', async () => {
  const folder = temporaryFolder();
  const request = shell(folder, 'true');
  await forkChild(request).wait();
  const { path } = makeGate(folder);
  renameSync(path, join(request.dir, 'exit.json'));
  expect((await handleOf(request.dir).wait()).end).toMatchObject({ kind: 'lost' });
});
