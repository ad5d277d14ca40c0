/**
 * The one seam through which state is written. Nothing is ever half-written: a reader sees the old bytes or the new ones.
 *
 * F1  A synced write survives a power cut once the function has returned: file first, then the folder's entry.
 * F2  A write-once file is created by link(2), which fails if the name exists, in whatever process and after any restart.
 * F3  An error leaves no temporary file behind, except after a crash; those start with `.tmp-` and are never read.
 */
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Problem } from '../model/failure.js';
import { crossing } from './crossing.js';

let counter = 0;

const temporaryName = (path: string): string => {
  counter += 1;
  return join(dirname(path), `.tmp-${process.pid}-${counter}-${basename(path)}`);
};

/** Writes all of it: write(2) may take less than it is given. */
export const writeAll = (fd: number, data: string | Uint8Array): number => {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  let done = 0;
  while (done < bytes.length) done += writeSync(fd, bytes, done);
  return bytes.length;
};

export const syncFolder = (folder: string): void => {
  crossing(`sync folder ${basename(folder)}`);
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
};

/** In a container pids repeat: a name that a crash left is passed over, not tripped over. */
const openTemporary = (path: string, mode: number): { readonly temporary: string; readonly fd: number } => {
  for (;;) {
    const temporary = temporaryName(path);
    try {
      return { temporary, fd: openSync(temporary, 'wx', mode) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
};

const writeTemporary = (path: string, data: string | Uint8Array, options: WriteOptions): string => {
  const { temporary, fd } = openTemporary(path, options.mode ?? 0o644);
  try {
    crossing(`write ${basename(path)}`);
    writeAll(fd, data);
    if (options.sync) fdatasyncSync(fd);
  } catch (error) {
    closeSync(fd);
    rmSync(temporary, { force: true });
    throw error;
  }
  closeSync(fd);
  return temporary;
};

interface WriteOptions {
  /** Permission bits; 0644 unless given. */
  readonly mode?: number;
  /** Durable on return. `false` only for what can be made again from the journal. */
  readonly sync: boolean;
}

/** Replaces `path` in one step. */
export const replaceFile = (path: string, data: string | Uint8Array, options: WriteOptions): void => {
  const temporary = writeTemporary(path, data, options);
  try {
    crossing(`rename ${basename(path)}`);
    renameSync(temporary, path);
    crossing(`renamed ${basename(path)}`);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  if (options.sync) syncFolder(dirname(path));
};

/**
 * Creates `path` whole and for ever, read-only unless a mode is given.
 * @throws `Problem` `record-refused` when the name is taken, even after a restart
 */
export const writeOnce = (
  path: string,
  data: string | Uint8Array,
  { mode = 0o444, sync }: WriteOptions,
): void => {
  const temporary = writeTemporary(path, data, { mode, sync });
  try {
    crossing(`link ${basename(path)}`);
    linkSync(temporary, path);
    crossing(`linked ${basename(path)}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Problem({
      kind: 'record-refused',
      message: `\`${basename(path)}\` is write-once and has been written`,
      where: path,
      next: 'leave it as it is; a new attempt at the whole ticket is a new epoch: `orchestrate run --rebuild TARGET`',
    });
  } finally {
    unlinkSync(temporary);
  }
  if (sync) syncFolder(dirname(path));
};

const WRITE_ERRORS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'permission is denied',
  EPERM: 'the operation is not permitted',
  EIO: 'the device reported an input/output error',
  EMFILE: 'too many files are open',
};

/** A system error of a write as something that a person can act on; `undefined` when it is not one. */
export const writeProblem = (error: unknown): Problem | undefined => {
  if (!(error instanceof Error)) return undefined;
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  const reason = code === undefined ? undefined : WRITE_ERRORS[code];
  if (reason === undefined || syscall === 'spawn') return undefined;
  return new Problem(
    {
      kind: 'not-writable',
      message: `cannot write: ${reason} (${code})`,
      ...(path === undefined ? {} : { where: path }),
      next: 'make room or make the folder writable, then `orchestrate run` again; what was recorded is kept',
    },
    { cause: error },
  );
};
