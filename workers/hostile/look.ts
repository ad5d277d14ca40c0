/** What can be seen of the orchestrator from inside one of its workers. */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from './guard.js';
import type { Orders, Sight } from './steps.js';

const digest = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const MOST_ANCESTORS = 32;

export const parentOf = (pid: number): number =>
  Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

/** Processes above this one, the nearest first. */
const ancestors = (): readonly number[] => {
  const found: number[] = [];
  let pid = process.ppid;
  while (pid > 1 && found.length < MOST_ANCESTORS) {
    found.push(pid);
    pid = parentOf(pid);
  }
  return found;
};

const strings = (pid: number, file: 'environ' | 'cmdline'): readonly string[] =>
  readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');

/** Whether a process was started by the attack run: no other one is looked into. */
export const isOfAttack = ({ places }: Orders, pid: number): boolean => {
  try {
    return strings(pid, 'environ').includes(`HOME=${places.home}`);
  } catch {
    return false;
  }
};

const ourAncestors = (orders: Orders): readonly number[] =>
  ancestors().filter((pid) => isOfAttack(orders, pid));

const valueIn = (environ: readonly string[], name: string): string | undefined =>
  environ.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);

const parentEnvironment = (orders: Orders, name: string): string => {
  for (const pid of ourAncestors(orders)) {
    const value = valueIn(strings(pid, 'environ'), name);
    if (value !== undefined) return digest(value);
  }
  throw new Refusal(`no ancestor that can be seen has \`${name}\``);
};

/** Whoever may open it for writing may trace the process. Source: proc(5), ptrace(2). */
const parentMemory = (orders: Orders): string => {
  const pid = ourAncestors(orders).find((one) =>
    strings(one, 'cmdline').some((word) => word.endsWith('orchestrate.cjs')),
  );
  if (pid === undefined) throw new Refusal('no orchestrator can be seen');
  const start = /^([0-9a-f]+)-/.exec(readFileSync(`/proc/${pid}/maps`, 'utf8'))?.[1] ?? '0';
  const fd = openSync(`/proc/${pid}/mem`, 'r+');
  try {
    const bytes = Buffer.alloc(16);
    readSync(fd, bytes, 0, bytes.length, Number.parseInt(start, 16));
    return `process ${pid}: its memory was read, and is open for writing`;
  } finally {
    closeSync(fd);
  }
};

/** What was seen; of a secret its SHA-256 only. @throws when it cannot be seen */
export const look = (orders: Orders, at: Sight, name = ''): string => {
  switch (at) {
    case 'own-environment': {
      const value = process.env[name];
      if (value === undefined) throw new Refusal(`\`${name}\` is not in the environment`);
      return digest(value);
    }
    case 'parent-environment':
      return parentEnvironment(orders, name);
    case 'parent-memory':
      return parentMemory(orders);
    case 'seal-key':
      return digest(readFileSync(join(orders.places.own, 'key')));
  }
};
