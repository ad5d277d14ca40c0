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
import { outcomeOf, quickEnv, quickTicket } from '../helpers/quick-ticket.js';
import { createRig, type Rig } from '../helpers/rig.js';

const nameOf = (place: string): string => place.replace(/^\d+ (.*) \d+$/, '$1');

const FAULTS = ['ENOSPC', 'EIO', 'EROFS', 'EDQUOT'] as const;

/** Every kind of write once, with a fault for it: the last place of each name, so that the middle and the end of a run are among them. */
const faultsIn = (places: readonly string[]): Record<string, string> => {
  const last = new Map(places.map((place) => [nameOf(place), place]));
  const writes = [...last.values()].filter((place) =>
    /^(write|rename|link|append|appended|sync folder) /.test(nameOf(place)),
  );
  return Object.fromEntries(
    writes.map((place, index) => [place, FAULTS[index % FAULTS.length] ?? 'EIO'] as const),
  );
};

/** The checkpoint is a cache; the key is there once it is linked, and its folder is ours alone. */
const isCache = (place: string): boolean =>
  place.includes('checkpoint') || nameOf(place) === 'sync folder orchestrate';

const finish = (rig: Rig, places: Omit<Places, 'ticket'>): Promise<Link> =>
  runTo(rig, { ticket: '1', ...places }, ['run', '--ticket', '1'], quickEnv(rig));

/** What a run said, if it is not what its fault should make it say. What only makes the next start faster may fail in silence. */
const wrongEnd = ({ at, code, stderr }: Link, faults: Readonly<Record<string, string>>): string[] => {
  if (at === undefined || isCache(at)) return [];
  const fault = faults[at] ?? '';
  return [1, 2].includes(code ?? 0) && stderr.includes(fault) ? [] : [`${fault} at ${at}: ${code} ${stderr}`];
};

test('a write that fails says so, and leaves a state that resumes to the same end, also when the next one fails', async () => {
  const calm = createRig();
  quickTicket(calm);
  const used = noneUsed(calm);
  const { passed } = await finish(calm, { used, only: {} });
  const wanted = outcomeOf(calm);
  const faults = faultsIn(passed);
  expect(Object.keys(faults).length).toBeGreaterThan(20);
  // A chain without a fault has come to none: the last expectation says which are left.
  for (
    let links: readonly Link[] = [];
    links.length !== 1 && usedPlaces(used).length < Object.keys(faults).length;
  ) {
    const rig = createRig();
    quickTicket(rig);
    links = await runThrough(() => finish(rig, { used, only: faults }));
    const said = links.flatMap((link) => wrongEnd(link, faults));
    const last = links.at(-1);
    const found = last?.code === 0 ? outcomeOf(rig) : last;
    expect(said, chainText(links)).toEqual([]);
    expect(found, chainText(links)).toEqual(wanted);
  }
  expect(usedPlaces(used).toSorted()).toEqual(Object.keys(faults).toSorted());
}, 300_000);
test('a clock that jumps back, and a thousand files in the inbox, change nothing', async () => {
  const rig = createRig();
  quickTicket(rig);
  const first = await rig.run(['run', '--ticket', '1', '--until', 'approved-plan'], { env: quickEnv(rig) });
  expect(first.code, first.stderr).toBe(0);
  for (let id = 1; id <= 1_000; id += 1)
    rig.write({ [`.orchestrate/1/inbox/${String(id).padStart(4, '0')}.md`]: `directive ${id}\n` });
  // The record may lie in the future of a clock that was set back.
  const preload = join(rig.dir, 'back.cjs');
  rig.write({ '../back.cjs': 'const now = Date.now; Date.now = () => now() - 86_400_000;\n' });
  const ended = await rig.run(['run', '--ticket', '1'], {
    env: { ...quickEnv(rig), NODE_OPTIONS: `--require ${preload}` },
  });
  expect(ended.code, ended.stderr).toBe(0);
  expect(rig.events('1').filter(({ type }) => type === 'directive.read')).toHaveLength(1_000);
  expect(outcomeOf(rig).agents).toHaveLength(6);
});
