import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parsePsRow } from '../../orchestrator/process/process-table.js';
import { bootId, identityOf, liveness, parseStat, selfIdentity } from '../../orchestrator/state/identity.js';
import { makeGate, temporaryFolder, textOf, until } from '../helpers/child.js';

test('this process is alive, and has the start time that the kernel gives', () => {
  const self = selfIdentity();
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ');
  expect(self).toEqual({
    pid: process.pid,
    startTime: fields?.[19],
    bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
  });
  expect(liveness(self)).toBe('alive');
  expect(identityOf(process.pid)).toEqual(self);
});

test('another start time, another boot and a pid that cannot be are dead', () => {
  const self = selfIdentity();
  expect(liveness({ ...self, startTime: '1' })).toBe('dead');
  expect(liveness({ ...self, bootId: 'another' })).toBe('dead');
  for (const pid of [0, -1, 1.5, Number.NaN]) expect(liveness({ ...self, pid })).toBe('dead');
});

test('what the system did not tell is unknown, never a match', () => {
  expect(liveness({ ...selfIdentity(), startTime: 'unknown' })).toBe('unknown');
  expect(liveness({ ...selfIdentity(), bootId: 'unknown' })).toBe('alive');
});

test('a zombie is dead, and so is a process that was reaped', async () => {
  const { path, open } = makeGate(temporaryFolder());
  // What the shell turns into does not wait for the child.
  const text = `read line <${path} & echo $!; exec sleep 300`;
  const shell = spawn('/bin/sh', ['-c', text], { stdio: ['ignore', 'pipe', 'ignore'] });
  const pid = await new Promise<number>((resolve) =>
    shell.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk))),
  );
  await until(() => textOf(`/proc/${shell.pid}/cmdline`).startsWith('sleep'));
  await open();
  await until(() => textOf(`/proc/${pid}/stat`).includes(') Z '));
  const zombie = identityOf(pid);
  expect(zombie).toMatchObject({ pid, bootId: bootId() });
  expect(zombie && liveness(zombie)).toBe('dead');
  const parent = identityOf(shell.pid ?? 0);
  const gone = new Promise((resolve) => shell.once('exit', resolve));
  shell.kill('SIGKILL');
  await gone;
  expect(parent && liveness(parent)).toBe('dead');
  expect(identityOf(shell.pid ?? 0)).toBeUndefined();
});

test('a program may have blanks and parentheses in its name', async () => {
  const path = join(temporaryFolder(), 'a) R (b');
  copyFileSync('/bin/sleep', path);
  const child = spawn(path, ['300'], { stdio: 'ignore' });
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
  expect(parseStat(stat)).toMatchObject({
    pid: child.pid,
    ppid: process.pid,
    state: expect.stringMatching(/^[RSD]$/),
  });
  const identity = identityOf(child.pid ?? 0);
  expect(identity && liveness(identity)).toBe('alive');
  child.kill('SIGKILL');
});

test.each(['', '1 (sh) S 1 2 3', 'x'])('a stat line that is cut (%j) is none', (text) => {
  expect(parseStat(text)).toBeUndefined();
});

test('a line of ps, as systems without procfs are asked, is read', () => {
  const args = [
    '-o',
    'pid=',
    '-o',
    'ppid=',
    '-o',
    'pgid=',
    '-o',
    'stat=',
    '-o',
    'lstart=',
    '-p',
    String(process.pid),
  ];
  const line = execFileSync('ps', args, {
    encoding: 'utf8',
    env: { LC_ALL: 'C', TZ: 'UTC0', PATH: '/usr/bin:/bin' },
  });
  const row = parsePsRow(line);
  expect(row).toMatchObject({ pid: process.pid, ppid: process.ppid });
  expect(Date.parse(`${row?.startTime} UTC`)).toBeLessThanOrEqual(Date.now());
  expect(parsePsRow('')).toBeUndefined();
});
