import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, rmSync, writeFileSync, utimesSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { identityOf, selfIdentity } from '../../orchestrator/state/identity.js';
import { hasRebooted, lockHolder, takeLock, type LockHolder } from '../../orchestrator/state/lock.js';
import { failureOf, folder } from '../helpers/core.js';
import { withFs } from '../helpers/fresh-module.js';
import { startHolder, until } from '../helpers/holders.js';

const NOW = '2025-11-30T12:00:00.000Z';

const take = (path: string) => takeLock(path, '320', NOW);

/** The lock as another process left it. */
const leave = (path: string, more: Partial<LockHolder> | string, number = 1): void => {
  const holder = { ...selfIdentity(), host: hostname(), since: NOW };
  writeFileSync(
    join(path, `lock.${number}`),
    typeof more === 'string' ? more : JSON.stringify({ ...holder, ...more }),
  );
};

const names = (path: string): string[] => readdirSync(path).toSorted();

describe('L1: the lock is the file with the highest number, and one process wins it', () => {
  test('of eight processes that race for one lock exactly one gets it, and the others are told who', async () => {
    const path = folder();
    const holders = await Promise.all(Array.from({ length: 8 }, () => startHolder(path)));
    for (let round = 1; round <= 3; round += 1) {
      const answers = await Promise.all(holders.map((holder) => holder.ask('take')));
      const winners = holders.filter((_, index) => answers[index] === 'taken');
      expect(winners).toHaveLength(1);
      const [winner] = winners;
      expect(lockHolder(path)?.pid).toBe(winner?.pid);
      const others = answers.filter((answer) => answer !== 'taken');
      expect(others.filter((answer) => answer.includes(`process ${winner?.pid}`))).toHaveLength(7);
      expect(names(path)).toEqual([`lock.${round}`]);
      await winner?.ask('release');
    }
  });

  test('a second taker in the same process is refused too, with pid, start time and a next step', () => {
    const path = folder();
    take(path);
    const { kind, message, next } = failureOf(() => take(path));
    expect(kind).toBe('busy');
    expect(message).toContain(
      `process ${process.pid} (start time ${selfIdentity().startTime}, since ${NOW})`,
    );
    expect(next).toContain('orchestrate status --ticket 320');
  });

  test('other files in the folder are no locks', () => {
    const path = folder();
    for (const name of ['lock', 'lock.0', 'lock.01', 'lock.x', 'lock.1.bak', '.tmp-lock-1-1'])
      writeFileSync(join(path, name), 'x');
    expect(lockHolder(path)).toBeUndefined();
    take(path);
    expect(lockHolder(path)?.pid).toBe(process.pid);
  });
});

describe('L2: numbers only grow', () => {
  test('a release stays in the file, and the next number follows it', () => {
    const path = folder();
    for (const number of [1, 2, 3]) {
      const lock = take(path);
      expect(names(path)).toEqual([`lock.${number}`]);
      lock.release();
      expect(names(path)).toEqual([`lock.${number}`]);
      expect(lockHolder(path)).toBeUndefined();
    }
  });

  test('who comes late with a number that was used and cleaned up in between does not have the lock', async () => {
    const path = folder();
    leave(path, { released: true }, 1);
    let isLate = true;
    const { takeLock: takeLate } = await withFs(
      (fs) => ({
        linkSync: (from: string, to: string) => {
          // Between the look and the link others took 2, released it, and took 3.
          if (isLate) leave(path, { since: 'the other' }, 3);
          if (isLate) rmSync(join(path, 'lock.1'));
          isLate = false;
          fs.linkSync(from, to);
        },
      }),
      () => import('../../orchestrator/state/lock.js'),
    );
    expect(() => takeLate(path, '320', NOW)).toThrow('since the other');
    expect(names(path)).toEqual(['lock.3']);
  });

  test('what lower numbers say does not matter', () => {
    const path = folder();
    leave(path, {}, 4);
    leave(path, { released: true }, 7);
    take(path);
    expect(names(path)).toEqual(['lock.8']);
  });
});

describe('L3: a holder is pid, start time and boot', () => {
  test('a dead holder is taken over at once', async () => {
    const path = folder();
    const holder = await startHolder(path);
    expect(await holder.ask('take')).toBe('taken');
    expect(failureOf(() => take(path)).kind).toBe('busy');
    await holder.kill('SIGKILL');
    take(path);
    expect(lockHolder(path)?.pid).toBe(process.pid);
  });

  test('a stopped holder keeps its lock, and still has it when it goes on', async () => {
    const path = folder();
    const holder = await startHolder(path);
    await holder.ask('take');
    await holder.kill('SIGSTOP');
    expect(failureOf(() => take(path)).message).toContain(`process ${holder.pid}`);
    await holder.kill('SIGCONT');
    expect(await holder.ask('release')).toBe('released');
    take(path);
  });

  test('a zombie is dead', async () => {
    const path = folder();
    // Its parent has become a program that does not wait for children.
    const parent = spawn('/bin/sh', ['-c', 'sleep 300 & echo $!; exec sleep 300'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [chunk] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(chunk);
    await until(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n');
    leave(path, { ...identityOf(pid) });
    process.kill(pid, 'SIGKILL');
    await until(() => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '));
    take(path);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    expect(lockHolder(path)?.pid).toBe(process.pid);
  });

  test.each<[string, Partial<LockHolder>]>([
    ['a pid that belongs to someone else by now', { startTime: '1' }],
    ['another boot', { bootId: 'another' }],
    ['released by a process that still lives', { released: true }],
    ['released on another host', { released: true, host: 'elsewhere' }],
  ])('free: %s', (_, left) => {
    const path = folder();
    leave(path, left);
    take(path);
    expect(names(path)).toEqual(['lock.2']);
  });

  test('free: an empty file from before this start of the machine, which is what a power cut leaves (L4)', () => {
    const path = folder();
    leave(path, '');
    utimesSync(join(path, 'lock.1'), 1, 1);
    take(path);
    expect(names(path)).toEqual(['lock.2']);
  });

  test.each<[string, Partial<LockHolder> | string, string]>([
    [
      'another host, also of another boot',
      { host: 'elsewhere', bootId: 'another' },
      'it was taken on host `elsewhere`',
    ],
    ['an empty file of this boot', '', 'it cannot be read'],
    ['garbage', '{"pid":', 'it cannot be read'],
    ['JSON that is no holder', '{"pid":"1"}', 'it does not name a holder'],
    ['null', 'null', 'it does not name a holder'],
  ])('never stolen: %s', (_, left, reason) => {
    const path = folder();
    leave(path, left);
    const { kind, message, where, next } = failureOf(() => take(path));
    expect(kind).toBe('busy');
    expect(message).toContain(reason);
    expect(where).toBe(join(path, 'lock.1'));
    expect(next).toContain('remove that file');
    expect(names(path)).toEqual(['lock.1']);
    // What the message says helps.
    rmSync(join(path, 'lock.1'));
    take(path);
  });
});

describe('hasRebooted', () => {
  test('is true for a folder that nobody ever held, also while its first holder has it', () => {
    const path = folder();
    expect(hasRebooted(path)).toBe(true);
    take(path);
    expect(hasRebooted(path)).toBe(true);
  });

  test('is false after a holder of this boot, dead or released, before and after the next one has it', () => {
    const path = folder();
    take(path).release();
    expect(hasRebooted(path)).toBe(false);
    take(path);
    expect(hasRebooted(path)).toBe(false);
    leave(path, { startTime: '1' }, 3);
    expect(hasRebooted(path)).toBe(false);
  });

  test('is true after a holder of another boot, until the one after', () => {
    const path = folder();
    leave(path, { bootId: 'another' });
    expect(hasRebooted(path)).toBe(true);
    const lock = take(path);
    expect(hasRebooted(path)).toBe(true);
    lock.release();
    take(path);
    expect(hasRebooted(path)).toBe(false);
  });

  test('is true when it cannot be told', () => {
    const path = folder();
    leave(path, 'garbage');
    expect(hasRebooted(path)).toBe(true);
  });
});
