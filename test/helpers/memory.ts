/**
 * Runs once, before all tests: a folder in memory for their temporary files, where there is room. They make and remove a hundred
 * thousand small ones and wait for each sync; none of them asserts what a disk does. `use-memory.ts` says who takes it.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';

/** Bytes. What the tests have there at one time is a tenth of it. */
const ROOM = 4 * 1024 * 1024 * 1024;

let folder: string | undefined;

const isRoomy = (): boolean => {
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ROOM && process.availableMemory() >= ROOM;
};

/** A container may forbid to run programs from there. @throws when it does */
const runProgramIn = (path: string): void => {
  const program = join(path, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  execFileSync(program);
  rmSync(program);
};

/** A `TMPDIR` that somebody has set is left alone. */
export const setup = (): void => {
  if (process.env['TMPDIR'] !== undefined) return;
  try {
    if (!isRoomy()) return;
    folder = mkdtempSync(join(MEMORY, 'forkwait-'));
    runProgramIn(folder);
    // As `/tmp` is: some tests run programs as somebody else.
    chmodSync(folder, 0o1777);
    process.env['TEST_MEMORY'] = folder;
  } catch {
    // Then a disk will do.
    teardown();
  }
};

export const teardown = (): void => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
};
