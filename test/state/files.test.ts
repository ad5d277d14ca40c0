import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { replaceFile, writeOnce, writeProblem } from '../../orchestrator/state/files.js';
import { failureOf, folder } from '../helpers/core.js';
import { withFs } from '../helpers/fresh-module.js';
import { startHolder } from '../helpers/holders.js';

/** A fresh copy of the module whose system calls are noted, in order. */
const watched = async () => {
  const calls: string[] = [];
  const named = new Map<number, string>();
  const note = (name: string, fd: number): number => calls.push(`${name} ${named.get(fd) ?? ''}`);
  const files = await withFs(
    (fs) => ({
      openSync: (path: string, flags: string, mode?: number) => {
        const fd = fs.openSync(path, flags, mode);
        named.set(fd, basename(path).startsWith('.tmp-') ? 'temporary' : 'folder');
        return fd;
      },
      writeSync: (fd: number, bytes: Uint8Array, offset: number) => {
        note('write', fd);
        // write(2) may take less than it is given.
        return fs.writeSync(fd, bytes, offset, Math.min(3, bytes.length - offset));
      },
      fdatasyncSync: (fd: number) => {
        note('sync', fd);
        fs.fdatasyncSync(fd);
      },
      fsyncSync: (fd: number) => {
        note('sync', fd);
        fs.fsyncSync(fd);
      },
      renameSync: (from: string, to: string) => {
        calls.push('rename');
        fs.renameSync(from, to);
      },
      linkSync: (from: string, to: string) => {
        calls.push('link');
        fs.linkSync(from, to);
      },
    }),
    () => import('../../orchestrator/state/files.js'),
  );
  return { calls, files };
};

describe('F1: a synced write is durable when it returns', () => {
  test('the bytes first, then the name, then the folder', async () => {
    const { calls, files } = await watched();
    const path = folder();
    files.replaceFile(join(path, 'a'), 'four', { sync: true });
    expect(calls.splice(0)).toEqual([
      'write temporary',
      'write temporary',
      'sync temporary',
      'rename',
      'sync folder',
    ]);
    files.writeOnce(join(path, 'b'), 'one', { sync: true });
    expect(calls.splice(0)).toEqual(['write temporary', 'sync temporary', 'link', 'sync folder']);
    expect(readFileSync(join(path, 'a'), 'utf8')).toBe('four');
  });

  test('what can be made again is not synced', async () => {
    const { calls, files } = await watched();
    files.replaceFile(join(folder(), 'a'), 'one', { sync: false });
    expect(calls).toEqual(['write temporary', 'rename']);
  });
});

describe('F2: write-once', () => {
  test('a second write is refused, in this process and in the next, and bytes, mode and time stay', async () => {
    const path = join(folder(), '10_ticket.md');
    writeOnce(path, 'first', { sync: true });
    const before = statSync(path);
    expect(before.mode & 0o777).toBe(0o444);
    const { kind, message, where } = failureOf(() => writeOnce(path, 'second', { sync: true }));
    expect([kind, message, where]).toEqual([
      'record-refused',
      '`10_ticket.md` is write-once and has been written',
      path,
    ]);
    const other = await startHolder(path);
    expect(await other.ask('once third')).toContain('is write-once and has been written');
    expect(readFileSync(path, 'utf8')).toBe('first');
    expect(statSync(path).mtimeMs).toBe(before.mtimeMs);
  });

  test('an empty file is taken as well', () => {
    const path = join(folder(), 'a');
    writeFileSync(path, '');
    expect(failureOf(() => writeOnce(path, 'x', { sync: false })).kind).toBe('record-refused');
  });

  test('of several processes that write one name at once, one writes it', async () => {
    const path = join(folder(), 'a');
    const others = await Promise.all(Array.from({ length: 4 }, () => startHolder(path)));
    const answers = await Promise.all(others.map((other, index) => other.ask(`once ${index}`)));
    expect(answers.filter((answer) => answer === 'written')).toHaveLength(1);
    expect(readFileSync(path, 'utf8')).toBe(String(answers.indexOf('written')));
  });
});

describe('F3: temporary files', () => {
  test('an error leaves none behind', () => {
    const path = folder();
    mkdirSync(join(path, 'taken'));
    writeFileSync(join(path, 'taken', 'x'), '');
    expect(() => replaceFile(join(path, 'taken'), 'x', { sync: false })).toThrow('EISDIR');
    expect(() => writeOnce(join(path, 'taken'), 'x', { sync: false })).toThrow('write-once');
    expect(() => replaceFile(join(path, 'none', 'a'), 'x', { sync: false })).toThrow('ENOENT');
    expect(readdirSync(path)).toEqual(['taken']);
  });

  test('one that a crash left is passed over, also when this process has the same pid', async () => {
    const path = folder();
    for (let number = 1; number <= 5; number += 1)
      writeFileSync(join(path, `.tmp-${process.pid}-${number}-a`), 'torn');
    // Its counter begins where that of the crashed one began.
    const files = await withFs(
      () => ({}),
      () => import('../../orchestrator/state/files.js'),
    );
    files.replaceFile(join(path, 'a'), 'whole', { sync: false });
    expect(readFileSync(join(path, 'a'), 'utf8')).toBe('whole');
    expect(readFileSync(join(path, `.tmp-${process.pid}-1-a`), 'utf8')).toBe('torn');
  });
});

test('a reader sees the old bytes or the new ones, and a replaced file keeps no old mode', () => {
  const path = join(folder(), 'a');
  replaceFile(path, 'old', { sync: false, mode: 0o600 });
  const old = readFileSync(path);
  replaceFile(path, Buffer.from([0xff, 0x00]), { sync: false });
  expect(old.toString()).toBe('old');
  expect([...readFileSync(path)]).toEqual([0xff, 0x00]);
  expect(statSync(path).mode & 0o777).toBe(0o644);
});

describe('writeProblem', () => {
  const error = (more: object): Error => Object.assign(new Error('x'), more);

  test.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EIO', 'EMFILE'])(
    '%s is told with the place and what to do',
    (code) => {
      const cause = error({ code, path: '/a/b', syscall: 'write' });
      const problem = writeProblem(cause);
      expect(problem?.failure).toMatchObject({ kind: 'not-writable', where: '/a/b' });
      expect(problem?.failure.message).toContain(`(${code})`);
      expect(problem?.failure.next).toContain('orchestrate run');
      expect(problem?.cause).toBe(cause);
    },
  );

  test('a program that may not be run, a bug and what is no error are not', () => {
    expect(writeProblem(error({ code: 'EACCES', syscall: 'spawn' }))).toBeUndefined();
    expect(writeProblem(error({ code: 'ENOENT' }))).toBeUndefined();
    expect(writeProblem(new TypeError('x'))).toBeUndefined();
    expect(writeProblem('ENOSPC')).toBeUndefined();
  });
});
