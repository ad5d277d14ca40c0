import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import {
  chainText,
  noneUsed,
  runThrough,
  runTo,
  usedPlaces,
  type Link,
  type Places,
} from '../helpers/places.js';
import { agentStarts, outcomeOf, quickEnv, quickTicket } from '../helpers/quick-ticket.js';
import { createRig, type Rig } from '../helpers/rig.js';

const finish = (rig: Rig, places: Omit<Places, 'ticket'>): Promise<Link> =>
  runTo(rig, { ticket: '1', ...places }, ['run', '--ticket', '1'], quickEnv(rig));

/** What every interrupted run must come to, and where it can be interrupted. */
const uninterrupted = async (): Promise<{
  readonly outcome: ReturnType<typeof outcomeOf>;
  readonly places: readonly string[];
}> => {
  const rig = createRig();
  quickTicket(rig);
  const ended = await finish(rig, { used: noneUsed(rig), only: {} });
  expect(ended.code, ended.stderr).toBe(0);
  return { outcome: outcomeOf(rig), places: ended.passed };
};

/**
 * Nothing is written between the crossing before and this one: the world is the same, so one of the two is enough. The
 * append of a line begins where the last write ended, and what only reads ends where it began.
 */
const SAME_AS_BEFORE = '^append (?!document)|^git (snapshot|changedPaths) done$';

const isSameAsBefore = (place: string): boolean =>
  new RegExp(SAME_AS_BEFORE).test(place.replace(/^\d+ (.*) \d+$/, '$1'));

/** Enough to keep two cores busy. */
const LANES = 2;

/** `CHAIN`, as a test that failed prints it: the places of one repository, and nothing else. */
const onlyChain = (): Record<string, string> | undefined => {
  const chain = process.env['CHAIN'];
  if (chain === undefined) return undefined;
  return Object.fromEntries((JSON.parse(chain) as readonly string[]).map((place) => [place, 'SIGKILL']));
};

interface Chain {
  readonly links: readonly Link[];
  /** What came of it, or how its last process ended. */
  readonly found: unknown;
}

/** Where the two critics of a ticket are on their way: plan, diff, review, diff, review, notes. */
const criticsIn = (places: readonly string[]): readonly (string | undefined)[] => {
  const forked = places.filter((place) => /^\d+ forked /.test(place));
  expect(forked).toHaveLength(6);
  return [forked[2], forked[4]];
};

/** A ticket in a new repository, killed at every place that no other was killed at, until it has landed. */
const landed = async (used: string, critics: readonly (string | undefined)[]): Promise<Chain> => {
  const rig = createRig();
  quickTicket(rig);
  const only = onlyChain();
  const links = await runThrough(() => finish(rig, { used, except: SAME_AS_BEFORE, ...(only && { only }) }));
  const last = links.at(-1);
  if (last?.code !== 0) return { links, found: last };
  const outcome = outcomeOf(rig);
  const unheard = links.filter(({ at }) => at !== undefined && critics.includes(at));
  const again = agentStarts(rig).length - outcome.agents.length;
  return { links, found: again > unheard.length ? agentStarts(rig) : outcome };
};

test('killed at every append, write, rename, sync, fork and git step, and again and again on the way on, a ticket ends as if nothing had happened', async () => {
  const { outcome, places } = await uninterrupted();
  expect(outcome.agents).toHaveLength(6);
  expect(outcome.pushed).toEqual(['refs/heads/orchestrate/1', 'refs/heads/main']);
  const wanted = places.filter((place) => !isSameAsBefore(place));
  expect(wanted.length).toBeGreaterThan(200);
  const critics = criticsIn(places);
  const used = noneUsed(createRig());
  const left = (): string[] => {
    const found = new Set(usedPlaces(used));
    return wanted.filter((place) => !found.has(place));
  };
  const chains: Chain[] = [];
  // A run in a new repository comes to every place there is: one that is not killed says that none is left to be found.
  const lane = async (): Promise<void> => {
    for (let kills = 1; kills > 0 && left().length > 0;) {
      const chain = await landed(used, critics);
      chains.push(chain);
      kills = chain.links.length - 1;
    }
  };
  await Promise.all(Array.from({ length: onlyChain() === undefined ? LANES : 1 }, lane));
  const wrong = chains.find(({ found }) => !isDeepStrictEqual(found, outcome));
  expect(wrong?.found ?? outcome, `CHAIN='${chainText(wrong?.links ?? [])}'`).toEqual(outcome);
  expect(onlyChain() === undefined ? left() : []).toEqual([]);
}, 300_000);

/** The base moves while the ticket is worked on, so that it lands by a merge. */
const moveBase = (rig: Rig): void => {
  const other = join(rig.dir, 'other');
  rig.gitIn(rig.dir, 'clone', '-q', '-b', 'main', join(rig.repo, '.git/origin.git'), other);
  rig.gitIn(
    other,
    '-c',
    'user.name=o',
    '-c',
    'user.email=o@example.com',
    'commit',
    '-q',
    '--allow-empty',
    '-m',
    'Meanwhile',
  );
  rig.gitIn(other, 'push', '-q', 'origin', 'main');
};

test('killed between the push of a merge and the look at the remote, a ticket has landed once', async () => {
  const rig = createRig();
  quickTicket(rig);
  const pushed = await rig.run(['run', '--ticket', '1', '--until', 'push'], { env: quickEnv(rig) });
  expect(pushed.code, pushed.stderr).toBe(0);
  moveBase(rig);
  const used = noneUsed(rig);
  const killed = await finish(rig, { used, only: { 'git pushed, not looked at': 'SIGKILL' } });
  expect(killed.signal).toBe('SIGKILL');
  const ended = await finish(rig, { used, only: {} });
  expect(ended.code, ended.stderr).toBe(0);
  const subjects = rig.git('--git-dir=.git/origin.git', 'log', '--format=%s', 'main').split('\n');
  expect(subjects.toSorted()).toEqual(['Meanwhile', 'Merge orchestrate/1', 'Start', 'The answer']);
});
