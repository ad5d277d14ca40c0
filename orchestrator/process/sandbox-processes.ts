/** Sandboxes as the process table shows them. */
import { readFileSync } from 'node:fs';
import type { ProcessStat } from '../state/identity.js';

/** The process ids that a process has, from our namespace down to its own. Source: proc(5), `NSpid`. */
const namespacePids = (pid: number | 'self'): readonly number[] => {
  try {
    const line = /^NSpid:\s*(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
    return line.split(/\s+/).map(Number);
  } catch {
    // Gone, or a system without procfs.
    return [];
  }
};

/**
 * Pids of those that hold a namespace in which something runs: each is the parent of a process 1. When one of them ends, everything
 * inside is killed at once, so a signal that asks must go to the others. One that has not come so far need not be spared.
 */
export const sandboxHolders = (rows: readonly ProcessStat[]): ReadonlySet<number> => {
  const depth = namespacePids('self').length + 1;
  const first = rows.filter(({ pid }) => {
    const pids = namespacePids(pid);
    return pids.length === depth && pids.at(-1) === 1;
  });
  const parents = new Set(rows.map(({ ppid }) => ppid));
  return new Set(first.filter(({ pid }) => parents.has(pid)).map(({ ppid }) => ppid));
};
