/** Runs that are ended at places told by name, so that one repository can be killed again and again until its ticket lands. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Ended, Rig } from './rig.js';

const PRELOAD = resolve(import.meta.dirname, '../fixtures/at-crossing.cjs');

export interface Places {
  /** Ticket of the rig whose journal tells how far a run is. */
  readonly ticket: string;
  /** Folder with a file for each place that was used up: nothing is done there a second time. Rigs may share it. */
  readonly used: string;
  /** What to do at which place, or at the first crossing of a name: `SIGKILL` or the code of a system error. Default: a kill everywhere. */
  readonly only?: Readonly<Record<string, string>>;
  /** Names of crossings that are passed by; the source of a regular expression. */
  readonly except?: string;
}

/** One process of a chain. */
export interface Link extends Ended {
  /** Every place that it came to. */
  readonly passed: readonly string[];
  /** The one at which it was killed or a write failed. */
  readonly at: string | undefined;
}

/** A new folder for `Places.used`. */
export const noneUsed = (rig: Rig): string => {
  const folder = join(rig.dir, 'used');
  mkdirSync(folder);
  return folder;
};

export const usedPlaces = (folder: string): readonly string[] => readdirSync(folder).map(decodeURIComponent);

let runs = 0;

/** Runs a rig's command once, to its end or to the first place that is not used up. */
export const runTo = async (
  rig: Rig,
  { ticket, ...places }: Places,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Link> => {
  runs += 1;
  const trace = join(rig.dir, `places-${runs}`);
  const plan = { ...places, journal: join(rig.repo, '.orchestrate', ticket, 'journal.jsonl') };
  const ended = await rig.run(args, {
    env: {
      ...env,
      NODE_OPTIONS: `--require ${JSON.stringify(PRELOAD)}`,
      AT_CROSSING: JSON.stringify(plan),
      ORCHESTRATE_TEST_CROSSINGS: trace,
    },
  });
  const lines = existsSync(trace) ? readFileSync(trace, 'utf8').trimEnd().split('\n') : [];
  return {
    ...ended,
    passed: lines.map((line) => line.replace(/^! /, '')),
    at: lines.find((line) => line.startsWith('! '))?.slice(2),
  };
};

/** What no chain comes near: a run that dies again and again and gets nowhere ends a test by this and not by its time limit. */
const LONGEST = 600;

/**
 * Runs a command again and again until it gets through.
 * @param run e.g. `runTo` with all but the rig's command
 * @returns all its processes, the last of which was left in peace
 */
export const runThrough = async (run: () => Promise<Link>): Promise<readonly Link[]> => {
  const links: Link[] = [];
  while (links.length < LONGEST) {
    const link = await run();
    links.push(link);
    if (link.at === undefined) return links;
  }
  throw new Error(`ended ${LONGEST} times and still not through: CHAIN='${chainText(links)}'`);
};

/** The chain as text; given as `CHAIN` to a test it is gone through again. */
export const chainText = (links: readonly Link[]): string =>
  JSON.stringify(links.flatMap(({ at }) => at ?? []));
