/** States of a ticket that are made once for a file and put back for each test that begins with one: nothing of another test is in them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, onTestFinished, vi } from 'vitest';
import { createRig, type Rig } from './rig.js';

/** With links as they are and times to the nanosecond: git looks at them. */
export const copyFolder = (from: string, to: string): void => {
  mkdirSync(to, { recursive: true });
  execFileSync('cp', ['-a', `${from}/.`, to]);
};

const empty = (folder: string): void => {
  // Frozen trees are read-only.
  execFileSync('chmod', ['-R', 'u+rwX', folder], { stdio: 'ignore' });
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
};

const endProcess = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone by itself.
  }
};

/**
 * Call it at the level of the file. All states are in one folder, as the paths in a record are absolute; so only tests that run one
 * after the other may share them.
 * @param steps in order: each begins with what the one before it has left
 * @returns makes, or puts back, the state that the named step leaves
 */
export const savedStates = <Name extends string>(
  steps: Readonly<Record<Name, (rig: Rig) => Promise<void>>>,
): ((name: Name) => Promise<Rig>) => {
  // The test that comes first may make them all.
  vi.setConfig({ testTimeout: 90_000 });
  const names = Object.keys(steps) as Name[];
  const ends: (() => void)[] = [];
  const saved = new Map<Name, string>();
  let rig: Rig | undefined;
  afterAll(() => {
    for (const end of ends) end();
  });
  const putBack = (at: Rig, name: Name): boolean => {
    const copy = saved.get(name);
    if (copy === undefined) return false;
    empty(at.dir);
    copyFolder(copy, at.dir);
    return true;
  };
  const make = async (at: Rig, name: Name): Promise<void> => {
    if (putBack(at, name)) return;
    const before = names[names.indexOf(name) - 1];
    if (before !== undefined) await make(at, before);
    await steps[name](at);
    const copy = `${at.dir}.${name}`;
    copyFolder(at.dir, copy);
    saved.set(name, copy);
    ends.push(() => rmSync(copy, { recursive: true, force: true }));
  };
  return async (name) => {
    rig ??= createRig((clean) => ends.push(clean));
    const { processes } = rig;
    onTestFinished(() => {
      for (const pid of processes()) endProcess(pid);
    });
    await make(rig, name);
    return rig;
  };
};
