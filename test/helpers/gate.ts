import { existsSync, watch, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Rig } from './rig.js';

export const GATED_AGENT = resolve(import.meta.dirname, '../fixtures/agents/gated-agent.sh');

/** Resolves when the path exists. */
export const exists = (path: string): Promise<void> =>
  new Promise((resolved) => {
    const watcher = watch(dirname(path), look);
    // A file that came between the question and the watch is found by the first look.
    function look(_event?: unknown, name?: string | Buffer | null): void {
      if (name !== undefined && name !== null && name.toString() !== basename(path)) return;
      if (!existsSync(path)) return;
      watcher.close();
      resolved();
    }
    look();
  });

/** A worker that waits in the middle of its work, until the test lets it go on. */
export const workerGate = (rig: Rig, target: string, round = 1) => {
  const gate = join(rig.dir, 'gate');
  return {
    env: { GATED: `${target}.${round}`, GATE: gate },
    /** It is in the middle of its work. */
    reached: () => exists(`${gate}.waiting`),
    open: () => writeFileSync(gate, 'go\n'),
  };
};
