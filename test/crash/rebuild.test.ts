import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
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
import { contents, createRig, type Rig } from '../helpers/rig.js';
import { initSmall, ranIn, recordOf } from '../helpers/small-run.js';

interface Prepared {
  readonly rig: Rig;
  /** Puts the record and the log back to where the first run had ended. */
  readonly restore: () => void;
  /** What epoch 1 was then. The checkpoint is a cache, which a run after a rebuild that did not happen makes again. */
  readonly archive: Record<string, string>;
}

const prepare = async (): Promise<Prepared> => {
  const rig = createRig();
  initSmall(rig);
  await rig.run(['run', 'x', '--jobs', '1']);
  const [live, kept] = [join(rig.repo, '.orchestrate'), join(rig.dir, 'kept')];
  cpSync(live, kept, { recursive: true, preserveTimestamps: true });
  return {
    rig,
    archive: withoutCache(
      Object.fromEntries(Object.entries(recordOf(rig, 'x')).filter(([name]) => name !== 'inbox')),
    ),
    restore: () => {
      rmSync(live, { recursive: true, force: true });
      cpSync(kept, live, { recursive: true, preserveTimestamps: true });
      rig.write({ '../log': '' });
    },
  };
};

const withoutCache = (files: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).filter(([name]) => name !== 'checkpoint.json'));

const passing = ({ rig }: Prepared, places: Omit<Places, 'ticket'>, ...more: string[]): Promise<Link> =>
  runTo(rig, { ticket: 'x', ...places }, ['run', 'x', ...more, '--jobs', '1']);

/** All places of a whole rebuild, in order. */
const placesOf = async (prepared: Prepared): Promise<readonly string[]> => {
  prepared.restore();
  const { code, passed } = await passing(prepared, { used: '', only: {} }, '--rebuild', 'b');
  expect(code).toBe(0);
  return passed;
};

const nameOf = (place: string): string => place.replace(/^\d+ (.*) \d+$/, '$1');

interface Chain {
  readonly links: readonly Link[];
  /** How often the rebuild was asked for: again whenever the run after a kill knew nothing of it. */
  readonly asked: number;
}

/** Kills a rebuild, and each run that should finish it, at every place that is not used up. */
const throughKills = async (prepared: Prepared, places: Omit<Places, 'ticket'>): Promise<Chain> => {
  prepared.restore();
  const links: Link[] = [];
  for (let asked = 1; ; asked += 1) {
    const first = await passing(prepared, places, '--rebuild', 'b');
    links.push(first, ...(first.at === undefined ? [] : await runThrough(() => passing(prepared, places))));
    if (prepared.rig.has('.orchestrate/x/epochs/1')) return { links, asked };
    expect(links.at(-1)?.code, chainText(links)).toBe(0);
  }
};

/** What is left, when everything was made again. */
const outcomeOf = ({ rig }: Prepared, links: readonly Link[]) => {
  const folder = join(rig.repo, '.orchestrate/x');
  return {
    code: links.at(-1)?.code,
    ran: ranIn(rig),
    epochs: readdirSync(join(folder, 'epochs')),
    children: readdirSync(join(folder, 'children')).toSorted(),
    rest: readdirSync(folder)
      .filter((name) => !/^(lock\.|\.tmp-|rest\.bin$)/.test(name))
      .toSorted(),
    archive: withoutCache(contents(join(folder, 'epochs/1'))),
  };
};

test('a rebuild that is killed with -9 at any step, and again and again, is finished by the next run, or had not begun', async () => {
  const prepared = await prepare();
  const passed = await placesOf(prepared);
  const names = passed.map(nameOf);
  const wanted = passed.slice(names.indexOf('write rebuild.json'), names.indexOf('rebuild over') + 2);
  expect(wanted.length).toBeGreaterThan(30);
  const used = noneUsed(prepared.rig);
  const only = Object.fromEntries(wanted.map((place) => [place, 'SIGKILL']));
  const asked: number[] = [];
  for (let kills = 1; kills > 0 && usedPlaces(used).length < wanted.length;) {
    const chain = await throughKills(prepared, { used, only });
    expect(outcomeOf(prepared, chain.links), chainText(chain.links)).toEqual({
      code: 0,
      ran: ['b', 'c'],
      epochs: ['1'],
      children: ['00-a.1', '01-b.2', '02-c.2', '03-side.1'],
      rest: ['artifacts', 'checkpoint.json', 'children', 'epochs', 'inbox', 'journal.jsonl', 'state'],
      archive: prepared.archive,
    });
    asked.push(chain.asked);
    kills = chain.links.filter(({ at }) => at !== undefined).length;
  }
  expect(usedPlaces(used).toSorted()).toEqual(wanted.toSorted());
  // Both happened: it was finished without being asked for again, and it was not.
  expect([asked.some((times) => times > 1), asked.includes(1)]).toEqual([true, true]);
}, 300_000);

test('asked for again in the same words after a kill, it is one rebuild and not two', async () => {
  const prepared = await prepare();
  const { rig, restore } = prepared;
  restore();
  const killed = await passing(
    prepared,
    { used: noneUsed(rig), only: { 'moved journal.jsonl': 'SIGKILL' } },
    '--rebuild',
    'b',
  );
  expect(killed.signal).toBe('SIGKILL');
  expect((await rig.run(['status', 'x'])).stderr).toMatch(
    /the rebuild of `b` was interrupted: .*\n {2}next: `orchestrate run --ticket x` finishes it/,
  );
  const again = await rig.run(['run', 'x', '--rebuild', 'b', '--jobs', '1']);
  expect(again.code).toBe(0);
  expect(again.stderr).toMatch(/^note: the rebuild of b that a crash interrupted is finished$/m);
  expect(ranIn(rig)).toEqual(['b', 'c']);
  expect(readdirSync(join(rig.repo, '.orchestrate/x/epochs'))).toEqual(['1']);
});
