/** How processes of one attack wait for each other: by files, as they share nothing else. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { confined } from './guard.js';
import { log, runFolder, type Scene } from './scene.js';

/** Longest life of a process that nothing ended. */
const LIFE_MS = 20_000;
const POLL_MS = 4;

const cell = new Int32Array(new SharedArrayBuffer(4));
const pause = (): void => void Atomics.wait(cell, 0, 0, POLL_MS);

/** Waits for a condition; ends the process when the attack is over. */
export const until = (scene: Scene, condition: () => boolean): void => {
  const deadline = Date.now() + LIFE_MS;
  while (!condition()) {
    if (Date.now() > deadline || !existsSync(scene.ordersPath)) throw new AttackOver();
    pause();
  }
};

/** Nobody waits for it any more. */
class AttackOver extends Error {}

export const flag = ({ orders, ticket }: Scene, name: string): string =>
  join(orders.dir, 'flags', `${ticket}.${name}`);

export const raise = (scene: Scene, name: string): void => {
  try {
    writeFileSync(flag(scene, name), '');
  } catch {
    // A sandbox hides the place, and whoever waits for it as well.
  }
};

export const childFolder = (scene: Scene, child: string): string =>
  confined(scene.orders, join(runFolder(scene), 'children', child));

export const claimOf = (scene: Scene, child: string): string => join(childFolder(scene, child), 'proc.json');

/** The reaper makes the file first and fills it then. */
export const isClaimed = (scene: Scene, child: string): boolean => {
  const path = claimOf(scene, child);
  return existsSync(path) && readFileSync(path, 'utf8').endsWith('\n');
};

/** Does something late, and writes down how it went. */
export const attempt = (scene: Scene, row: string, deed: () => string): void => {
  try {
    log(scene, row, 'late', { outcome: 'done', detail: deed() });
  } catch (error) {
    log(scene, row, 'late', {
      outcome: 'failed',
      detail: error instanceof Error ? error.message : String(error),
    });
  }
};
