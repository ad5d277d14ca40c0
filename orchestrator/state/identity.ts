/**
 * Which process is it: pid, start time and boot id together. A pid alone may belong to someone else by now.
 *
 * Linux is read from procfs with three system calls. Elsewhere `ps` and `sysctl` are asked; `child_process` is loaded only
 * there, so that this file stays free for the start-up path.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import type { ProcessIdentity } from '../model/child.js';

export type Liveness = 'alive' | 'dead' | 'unknown';

/** The fields of `/proc/PID/stat` that are of use here. Source: proc(5). */
export interface ProcessStat {
  readonly pid: number;
  /** One letter: R S D T Z X … */
  readonly state: string;
  readonly ppid: number;
  readonly pgid: number;
  readonly sid: number;
  /** Clock ticks since boot. */
  readonly startTime: string;
}

type Reading<T> = { readonly kind: 'read'; readonly value: T } | { readonly kind: 'gone' | 'unreadable' };

/** What a start time or a boot id says when the system does not tell. It never counts as a match or as a difference. */
const UNKNOWN = 'unknown';
/** `ps` prints local time in the local language unless told otherwise; the reaper asks it in the same way. */
const PS_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC0' } as const;

const buffer = Buffer.allocUnsafe(4096);

const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

const readSmall = (path: string): string => {
  const fd = openSync(path, 'r');
  try {
    return buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(fd);
  }
};

/** The name in field 2 may contain spaces, parentheses and newlines: everything after the last `)` is numbers. */
export const parseStat = (text: string): ProcessStat | undefined => {
  const close = text.lastIndexOf(')');
  const fields = text.slice(close + 2).split(' ');
  const [state, ppid, pgid, sid] = fields;
  const startTime = fields[19];
  const pid = Number.parseInt(text, 10);
  if (close < 0 || state === undefined || startTime === undefined || Number.isNaN(pid)) return undefined;
  return { pid, state, ppid: Number(ppid), pgid: Number(pgid), sid: Number(sid), startTime };
};

const statOf = (pid: number): Reading<ProcessStat> => {
  try {
    const value = parseStat(readSmall(`/proc/${pid}/stat`));
    return value === undefined ? { kind: 'gone' } : { kind: 'read', value };
  } catch (error) {
    const code = errorCode(error);
    return { kind: code === 'ENOENT' || code === 'ESRCH' ? 'gone' : 'unreadable' };
  }
};

/** `undefined` when there is no such process, or none that we may see. Zombies are told by their state. */
export const readProcessStat = (pid: number): ProcessStat | undefined => {
  const reading = statOf(pid);
  return reading.kind === 'read' ? reading.value : undefined;
};

let procfs: boolean | undefined;

/** False on macOS and the BSDs. */
export const hasProcfs = (): boolean => {
  procfs ??= statOf(process.pid).kind === 'read';
  return procfs;
};

/** Output of a system tool, or `undefined` if it fails. Only for systems without procfs. */
export const askSystem = (program: string, args: readonly string[]): string | undefined => {
  try {
    const { execFileSync } = process.getBuiltinModule('node:child_process');
    const env = { ...PS_ENVIRONMENT, PATH: '/usr/bin:/bin:/usr/sbin:/sbin' };
    return execFileSync(program, [...args], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 67_108_864,
    });
  } catch {
    return undefined;
  }
};

/** Start time as `ps` prints it, blanks collapsed, and the state: `Sun Nov 30 12:34:31 2025 Ss`. */
const psOf = (pid: number): { readonly startTime: string; readonly state: string } | undefined => {
  const words = (askSystem('ps', ['-o', 'lstart=', '-o', 'stat=', '-p', String(pid)]) ?? '')
    .trim()
    .split(/\s+/);
  const state = words.at(-1);
  if (words.length < 2 || state === undefined) return undefined;
  return { startTime: words.slice(0, -1).join(' '), state };
};

let boot: string | undefined;

/** Changes with every start of the system; `unknown` where the system does not tell. */
export const bootId = (): string => {
  boot ??= readBootId();
  return boot;
};

const readBootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    const answer =
      askSystem('sysctl', ['-n', 'kern.bootsessionuuid']) ?? askSystem('sysctl', ['-n', 'kern.boottime']);
    return answer?.trim().replace(/["\\]/g, '') || UNKNOWN;
  }
};

/** `undefined` when there is no such process. A zombie still has an identity; `liveness` tells it apart. */
export const identityOf = (pid: number): ProcessIdentity | undefined => {
  const found = hasProcfs() ? readProcessStat(pid) : psOf(pid);
  return found === undefined ? undefined : { pid, startTime: found.startTime, bootId: bootId() };
};

let self: ProcessIdentity | undefined;

/** Of this process. */
export const selfIdentity = (): ProcessIdentity => {
  if (self?.pid !== process.pid) self = identityOf(process.pid);
  self ??= { pid: process.pid, startTime: UNKNOWN, bootId: bootId() };
  return self;
};

/** kill(2) with signal 0: permission to signal is asked, nothing is sent. */
const probe = (pid: number): Liveness => {
  try {
    process.kill(pid, 0);
    return 'unknown';
  } catch (error) {
    return errorCode(error) === 'ESRCH' ? 'dead' : 'unknown';
  }
};

/**
 * Whether that very process still runs. A zombie, another process with its pid and another boot are `dead`;
 * `unknown` is answered when the system hides the process, and must be treated as "may be alive".
 */
export const liveness = (identity: ProcessIdentity): Liveness => {
  if (!Number.isSafeInteger(identity.pid) || identity.pid <= 0) return 'dead';
  const now = bootId();
  if (identity.bootId !== now && identity.bootId !== UNKNOWN && now !== UNKNOWN) return 'dead';
  if (!hasProcfs()) return judge(identity, psOf(identity.pid));
  const reading = statOf(identity.pid);
  if (reading.kind === 'unreadable') return 'unknown';
  return judge(identity, reading.kind === 'read' ? reading.value : undefined);
};

const judge = (
  identity: ProcessIdentity,
  found: { readonly startTime: string; readonly state: string } | undefined,
): Liveness => {
  if (found === undefined) return probe(identity.pid);
  if (found.state.startsWith('Z') || found.state.startsWith('X')) return 'dead';
  if (identity.startTime === UNKNOWN) return 'unknown';
  return found.startTime === identity.startTime ? 'alive' : 'dead';
};
