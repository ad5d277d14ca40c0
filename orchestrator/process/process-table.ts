/** The processes of this machine, as far as we may see them. Read when a child is ended, never while it runs. */
import { readFileSync, readdirSync } from 'node:fs';
import type { ProcessIdentity } from '../model/child.js';
import { askSystem, bootId, hasProcfs, readProcessStat } from '../state/identity.js';
import type { ProcessStat } from '../state/identity.js';

/** Name of the environment variable that marks everything a child starts; it survives setsid, double fork and re-parenting. */
export const MARKER = 'ORCHESTRATE_CHILD';

/** Every process that is not a zombie. A process that ends while the table is read is left out. */
export const listProcesses = (): readonly ProcessStat[] => {
  const rows = hasProcfs() ? procfsRows() : psRows();
  return rows.filter((row) => row.state !== 'Z' && row.state !== 'X');
};

const pidsOfProcfs = (): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number);

const procfsRows = (): readonly ProcessStat[] =>
  pidsOfProcfs().flatMap((pid) => {
    const row = readProcessStat(pid);
    return row === undefined ? [] : [row];
  });

const PS_ROW = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S.*?)\s*$/;

/** One line of `ps`. Session ids are not portable there; the group stands in for the session. */
export const parsePsRow = (line: string): ProcessStat | undefined => {
  const [, pid, ppid, pgid, state, started] = PS_ROW.exec(line) ?? [];
  if (state === undefined || started === undefined) return undefined;
  const startTime = started.split(/\s+/).join(' ');
  return {
    pid: Number(pid),
    ppid: Number(ppid),
    pgid: Number(pgid),
    sid: Number(pgid),
    state: state.charAt(0),
    startTime,
  };
};

const psRows = (): readonly ProcessStat[] => {
  const columns = ['pid', 'ppid', 'pgid', 'stat', 'lstart'].flatMap((column) => ['-o', `${column}=`]);
  return (askSystem('ps', ['-A', ...columns]) ?? '').split('\n').flatMap((line) => {
    const row = parsePsRow(line);
    return row === undefined ? [] : [row];
  });
};

export const identityOfRow = (row: ProcessStat): ProcessIdentity => ({
  pid: row.pid,
  startTime: row.startTime,
  bootId: bootId(),
});

/** NUL-separated strings of a process; empty when it is gone, a zombie, a kernel thread or somebody else's. */
const strings = (pid: number, file: 'environ' | 'cmdline'): readonly string[] => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
  } catch {
    return [];
  }
};

/**
 * Those of `rows` whose environment says `ORCHESTRATE_CHILD=<marker>`. The kernel shows us only processes that we may signal.
 * A process that cleared its environment is not found by this.
 */
export const markedProcesses = (rows: readonly ProcessStat[], marker: string): readonly ProcessStat[] => {
  const entry = `${MARKER}=${marker}`;
  if (hasProcfs()) return rows.filter((row) => strings(row.pid, 'environ').includes(entry));
  const lines = (askSystem('ps', ['-A', '-E', '-ww', '-o', 'pid=', '-o', 'command=']) ?? '').split('\n');
  const pids = new Set(
    lines.filter((line) => line.split(/\s+/).includes(entry)).map((line) => Number.parseInt(line, 10)),
  );
  return rows.filter((row) => pids.has(row.pid));
};

/**
 * Processes whose marker begins with this, e.g. with a ticket and a target: of whichever attempt. Without procfs none is found; what
 * one child left is looked for at its own end.
 */
export const processesMarked = (beginning: string): readonly ProcessIdentity[] => {
  if (!hasProcfs()) return [];
  const entry = `${MARKER}=${beginning}`;
  return listProcesses()
    .filter(
      ({ pid }) => pid !== process.pid && strings(pid, 'environ').some((text) => text.startsWith(entry)),
    )
    .map(identityOfRow);
};

/** The process that was started with exactly this argument: for a reaper, the child's folder. */
export const findByArgument = (argument: string): ProcessIdentity | undefined => {
  const rows = listProcesses().filter((row) => row.pid !== process.pid);
  if (hasProcfs()) {
    const row = rows.find(({ pid, sid }) => pid === sid && strings(pid, 'cmdline').includes(argument));
    return row === undefined ? undefined : identityOfRow(row);
  }
  const lines = (askSystem('ps', ['-A', '-ww', '-o', 'pid=', '-o', 'command=']) ?? '').split('\n');
  const line = lines.find((candidate) => candidate.includes(` ${argument} `));
  const row = rows.find(({ pid }) => line !== undefined && pid === Number.parseInt(line, 10));
  return row === undefined ? undefined : identityOfRow(row);
};

/** Ancestors are few; a loop could only come from a table that changes while it is read. */
const MOST_ANCESTORS = 64;

/**
 * Value of `ORCHESTRATE_CHILD` of the nearest ancestor that has it, for a process that took the variable off itself. An ancestor
 * that has ended is not seen: a double fork hides it.
 * @param pid this process unless given
 */
export const markerOfAncestors = (pid: number = process.pid): string | undefined => {
  if (!hasProcfs()) return undefined;
  let next = readProcessStat(pid)?.ppid ?? 0;
  for (let count = 0; next > 1 && count < MOST_ANCESTORS; count += 1) {
    const entry = strings(next, 'environ').find((text) => text.startsWith(`${MARKER}=`));
    if (entry !== undefined) return entry.slice(MARKER.length + 1);
    next = readProcessStat(next)?.ppid ?? 0;
  }
  return undefined;
};
