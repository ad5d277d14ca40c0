/** The files of one child: `children/03-implementation-diff.2/`. DESIGN section 3. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { TROUBLES } from '../model/child.js';
import type { ChildEnd, ForkRequest, ProcessIdentity } from '../model/child.js';
import type { Limits } from '../model/pipeline.js';
import { Problem } from '../model/failure.js';
import { MARKER } from './process-table.js';

export const FILES = {
  job: 'job.json',
  prompt: 'prompt.md',
  claim: 'proc.json',
  exit: 'exit.json',
  /** Why the orchestrator ended the child, written before the first signal. */
  stop: 'stop.json',
  stdout: 'stdout.log',
  /** Only for workers: a plain command writes both into `stdout.log`, in order. */
  stderr: 'stderr.log',
  out: 'out',
} as const;

/** What a later orchestrator must know to take the child over. The reaper writes it into its claim, which costs no file more. */
export interface Job {
  readonly limits?: Limits;
  /** Value of `ORCHESTRATE_CHILD`. */
  readonly marker?: string;
  /** See `isWorker`. */
  readonly worker: boolean;
  /** ISO 8601, UTC. */
  readonly startedAt?: string;
}

/** Workers are watched for escaped processes by a full scan; a plain command by its process group. */
export const isWorker = (request: ForkRequest): boolean =>
  request.prompt !== undefined || request.returnPath !== undefined;

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';

const notWritable = (path: string, error: unknown): Problem =>
  new Problem(
    {
      kind: 'not-writable',
      message: `cannot write \`${path}\`: ${codeOf(error)}`,
      next: 'check free space and permissions of that folder, then run again',
    },
    { cause: error },
  );

/** @returns false if the folder was there already */
export const makeFolder = (dir: string): boolean => {
  try {
    mkdirSync(dir);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (codeOf(error) !== 'ENOENT') throw notWritable(dir, error);
  }
  try {
    return mkdirSync(dir, { recursive: true }) !== undefined;
  } catch (error) {
    throw notWritable(dir, error);
  }
};

/** Writes a read-only file. One that an interrupted fork left is replaced: a reaper that was sent has its own open. */
const writeReadOnly = (path: string, text: string, mode: number): void => {
  try {
    writeFileSync(path, text, { flag: 'wx', mode });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw notWritable(path, error);
    rmSync(path);
    writeReadOnly(path, text, mode);
  }
};

export const jobOf = (request: ForkRequest, startedAt: string): Job => {
  const marker = request.env[MARKER];
  const job = { worker: isWorker(request), limits: request.limits, startedAt };
  return marker === undefined ? job : { ...job, marker };
};

/**
 * Intent of a worker, before the fork: the request as data, without the values of variables, which may be secrets. A plain command has
 * none: its recipe is in the pipeline and its start in the journal, and files are half of what a trivial fork costs (60 to 100 us each).
 */
export const writeIntent = (request: ForkRequest, startedAt: string): void => {
  if (!isWorker(request)) return;
  const { prompt, env, dir, ...rest } = request;
  const promptBytes = prompt === undefined ? 0 : Buffer.byteLength(prompt);
  const job = { ...rest, env: Object.keys(env).toSorted(), promptBytes, startedAt };
  writeReadOnly(join(dir, FILES.job), `${JSON.stringify(job)}\n`, 0o444);
  if (prompt !== undefined) writeReadOnly(join(dir, FILES.prompt), prompt, 0o400);
  if (request.returnPath !== undefined) makeFolder(join(dir, FILES.out));
};

interface Descriptors {
  readonly stdin?: number;
  readonly stdout: number | 'pipe';
  readonly stderr: number;
}

/** Opens the child's standard files, hands them over and closes them again. Logs are appended to, never truncated. */
export const withDescriptors = <T>(request: ForkRequest, use: (files: Descriptors) => T): T => {
  const opened: number[] = [];
  const open = (name: string, flags: string): number => {
    const path = join(request.dir, name);
    try {
      const fd = openSync(path, flags, 0o644);
      opened.push(fd);
      return fd;
    } catch (error) {
      throw notWritable(path, error);
    }
  };
  try {
    // Made in any case, so that who looks for it finds it.
    const log = open(FILES.stdout, 'a');
    const stdout = request.output === 'socket' ? 'pipe' : log;
    const stderr = isWorker(request) ? open(FILES.stderr, 'a') : log;
    return use(
      request.prompt === undefined ? { stdout, stderr } : { stdin: open(FILES.prompt, 'r'), stdout, stderr },
    );
  } finally {
    for (const fd of opened) closeSync(fd);
  }
};

/** A worker could put a link or a pipe in the place of a record: neither is followed or waited for. */
const RECORD_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const readRegular = (path: string): string => {
  const fd = openSync(path, RECORD_FLAGS);
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd, 'utf8') : '';
  } finally {
    closeSync(fd);
  }
};

/** The object in a file of one JSON line; `undefined` if absent. A record ends in a newline, or it is not complete (R4). */
const readRecord = (path: string): Record<string, unknown> | 'incomplete' | undefined => {
  try {
    const text = readRegular(path);
    const value: unknown = text.endsWith('\n') ? JSON.parse(text) : undefined;
    return typeof value === 'object' && value !== null ? { ...value } : 'incomplete';
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : 'incomplete';
  }
};

/** Who may run the command of this generation. `void`: nobody, a recovery gave the fork up. */
export type Claim =
  | { readonly kind: 'none' | 'incomplete' | 'void' }
  | { readonly kind: 'claimed'; readonly identity: ProcessIdentity; readonly job: Job };

export const readClaim = (dir: string): Claim => {
  const record = readRecord(join(dir, FILES.claim));
  if (record === undefined) return { kind: 'none' };
  if (record === 'incomplete') return { kind: 'incomplete' };
  if (record['void'] === true) return { kind: 'void' };
  const { pid, startTime, bootId } = record;
  if (typeof pid !== 'number' || typeof startTime !== 'string' || typeof bootId !== 'string')
    return { kind: 'incomplete' };
  return { kind: 'claimed', identity: { pid, startTime, bootId }, job: jobFrom(record) };
};

/**
 * Takes the claim so that a reaper that is still on its way starts nothing. Makes the folder if the fork did not come that far.
 * @returns false if somebody claimed first
 */
export const voidClaim = (dir: string): boolean => {
  makeFolder(dir);
  const path = join(dir, FILES.claim);
  try {
    writeFileSync(path, '{"void":true}\n', { flag: 'wx', mode: 0o444 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw notWritable(path, error);
  }
};

/** What the reaper recorded, and when. */
export const readExit = (dir: string): { readonly status: number; readonly endedAt: string } | undefined => {
  const path = join(dir, FILES.exit);
  const record = readRecord(path);
  if (record === undefined || record === 'incomplete') return undefined;
  const status = record['status'];
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 0 || status > 255) return undefined;
  return { status, endedAt: changedAt(path) ?? new Date().toISOString() };
};

/** Remembers why the child is being ended, so that its end keeps its name if we die meanwhile. The first reason stays. */
export const recordStop = (dir: string, end: ChildEnd): void => {
  try {
    writeFileSync(join(dir, FILES.stop), `${JSON.stringify(end)}\n`, { flag: 'wx', mode: 0o444 });
  } catch {
    // There is a reason already, or no space for one: the child must be ended all the same.
  }
};

export const readStop = (dir: string): ChildEnd | undefined => {
  const path = join(dir, FILES.stop);
  // Asked after every end: an error that is made and caught would cost five times as much.
  if (!existsSync(path)) return undefined;
  const record = readRecord(path);
  if (record === undefined || record === 'incomplete') return undefined;
  return stopFrom(record);
};

const stopFrom = (record: Record<string, unknown>): ChildEnd | undefined => {
  const { kind, by, idleMs, timeoutMs, detail, resetAt } = record;
  if (kind === 'finished') return { kind };
  const trouble = TROUBLES.find((name) => name === kind);
  if (trouble !== undefined && typeof detail === 'string')
    return { kind: trouble, detail, ...(typeof resetAt === 'string' ? { resetAt } : {}) };
  if (kind === 'stopped' && typeof by === 'string') return { kind, by };
  if (kind === 'idle-timeout' && typeof idleMs === 'number') return { kind, idleMs };
  if (kind === 'timeout' && typeof timeoutMs === 'number') return { kind, timeoutMs };
  return undefined;
};

const isLimits = (value: unknown): value is Limits => {
  if (typeof value !== 'object' || value === null) return false;
  const fields: Record<string, unknown> = { ...value };
  return ['idleMs', 'timeoutMs', 'graceMs'].every((name) => typeof fields[name] === 'number');
};

/** What is missing or damaged is left out; then the child counts as a worker, which is looked after more closely. */
const jobFrom = ({ limits, marker, worker, startedAt }: Record<string, unknown>): Job => ({
  worker: worker !== false,
  ...(isLimits(limits) ? { limits } : {}),
  ...(typeof marker === 'string' ? { marker } : {}),
  ...(typeof startedAt === 'string' ? { startedAt } : {}),
});

/** ISO 8601 time of the last change of a file; `undefined` if there is none. */
export const changedAt = (path: string): string | undefined =>
  lstatSync(path, { throwIfNoEntry: false })?.mtime.toISOString();

export interface LogSize {
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** Of the log that changed last, milliseconds since the epoch. */
  readonly mtimeMs: number;
}

export const sizeOfLogs = (dir: string, worker: boolean): LogSize => {
  const stdout = lstatSync(join(dir, FILES.stdout), { throwIfNoEntry: false });
  const stderr = worker ? lstatSync(join(dir, FILES.stderr), { throwIfNoEntry: false }) : undefined;
  return {
    stdoutBytes: stdout?.size ?? 0,
    stderrBytes: stderr?.size ?? 0,
    mtimeMs: Math.max(stdout?.mtimeMs ?? 0, stderr?.mtimeMs ?? 0),
  };
};
