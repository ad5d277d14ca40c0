import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { outcomeOf, quickEnv, quickTicket } from '../helpers/quick-ticket.js';
import { createRig, type Rig } from '../helpers/rig.js';

/** Runs ticket 1 to its end. */
const finish = (rig: Rig, env: Record<string, string> = {}, ...args: string[]) =>
  rig.run(['run', '--ticket', '1', ...args], { env: { ...quickEnv(rig), ...env } });

const crossingsOf = (rig: Rig, file: string): string[] =>
  readFileSync(join(rig.dir, file), 'utf8').trimEnd().split('\n');

/** One uninterrupted run: what every interrupted one must come to, and where it can be interrupted. */
const uninterrupted = async (): Promise<{
  readonly outcome: ReturnType<typeof outcomeOf>;
  readonly crossings: readonly string[];
}> => {
  const rig = createRig();
  quickTicket(rig);
  const ended = await finish(rig, { ORCHESTRATE_TEST_CROSSINGS: join(rig.dir, 'crossings') });
  expect(ended.code, ended.stderr).toBe(0);
  return { outcome: outcomeOf(rig), crossings: crossingsOf(rig, 'crossings') };
};

/** Killed with SIGKILL at the n-th crossing, then run again. */
const killedAt = async (n: number): Promise<unknown> => {
  const rig = createRig();
  quickTicket(rig);
  const killed = await finish(rig, { ORCHESTRATE_TEST_CROSSING: String(n) });
  const ended = await finish(rig);
  if (killed.signal !== 'SIGKILL' || ended.code !== 0) return { killed, ended };
  return outcomeOf(rig);
};

/**
 * Nothing is written between the crossing before and this one: the world is the same, so one of the two is enough. The
 * append of a line begins where the last write ended, and what only reads ends where it began.
 */
const isSameAsBefore = (name: string): boolean =>
  /^append (?!document)/.test(name) || /^git (snapshot|changedPaths) done$/.test(name);

/** Enough to keep two cores busy. */
const LANES = 4;

test('killed at every append, write, rename, sync, fork and git step, a resumed run ends as if nothing had happened', async () => {
  const { outcome, crossings } = await uninterrupted();
  expect(outcome.agents).toHaveLength(6);
  expect(outcome.pushed).toEqual(['refs/heads/orchestrate/1', 'refs/heads/main']);
  expect(crossings.length).toBeGreaterThan(150);
  const left = crossings
    .map((name, index) => ({ name, n: index + 1 }))
    .filter(({ name }) => !isSameAsBefore(name));
  const different: { readonly at: string; readonly found: unknown }[] = [];
  const lane = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const found = await killedAt(next.n);
      if (!isDeepStrictEqual(found, outcome)) different.push({ at: `${next.n} ${next.name}`, found });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(different[0]?.found ?? outcome, different.map(({ at }) => at).join('; ')).toEqual(outcome);
}, 600_000);

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

/** A ticket that is pushed, and whose base has moved since. */
const readyToMerge = async (): Promise<Rig> => {
  const rig = createRig();
  quickTicket(rig);
  expect((await finish(rig, {}, '--until', 'push')).code).toBe(0);
  moveBase(rig);
  return rig;
};

test('killed between the push of a merge and the look at the remote, a ticket has landed once', async () => {
  const calm = await readyToMerge();
  await finish(calm, { ORCHESTRATE_TEST_CROSSINGS: join(calm.dir, 'landing') });
  const at = crossingsOf(calm, 'landing').indexOf('git pushed, not looked at') + 1;
  expect(at).toBeGreaterThan(0);
  const rig = await readyToMerge();
  const killed = await finish(rig, { ORCHESTRATE_TEST_CROSSING: String(at) });
  expect(killed.signal).toBe('SIGKILL');
  const ended = await finish(rig);
  expect(ended.code, ended.stderr).toBe(0);
  const subjects = rig.git('--git-dir=.git/origin.git', 'log', '--format=%s', 'main').split('\n');
  expect(subjects.toSorted()).toEqual(['Meanwhile', 'Merge orchestrate/1', 'Start', 'The answer']);
});
