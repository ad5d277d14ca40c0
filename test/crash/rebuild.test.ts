import { cpSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contents, createRig, type Ended, type Rig } from '../helpers/rig.js';
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

const rebuild = (rig: Rig, env: Record<string, string> = {}): Promise<Ended> =>
  rig.run(['run', 'x', '--rebuild', 'b', '--jobs', '1'], { env });

/** Names of all crossings of a whole rebuild, in order. */
const crossingsOf = async ({ rig, restore }: Prepared): Promise<readonly string[]> => {
  restore();
  const file = join(rig.dir, 'crossings');
  await rebuild(rig, { ORCHESTRATE_TEST_CROSSINGS: file });
  return readFileSync(file, 'utf8').trimEnd().split('\n');
};

interface Outcome {
  readonly n: number;
  readonly signal: string | null;
  /** Exit status of the run after the kill. */
  readonly resumed: number | null;
  /** Commands that ran from the kill on, until everything was made again. */
  readonly ran: readonly string[];
  readonly children: readonly string[];
  readonly rest: readonly string[];
  readonly archive: Record<string, string>;
}

/** Kills a rebuild at the n-th crossing, runs again, and asks for the rebuild again where it had not begun. */
const killedAt = async (
  n: number,
  { rig, restore }: Prepared,
): Promise<{ readonly epoch: number; readonly outcome: Outcome }> => {
  restore();
  const { signal } = await rebuild(rig, { ORCHESTRATE_TEST_CROSSING: String(n) });
  const { code: resumed } = await rig.run(['run', 'x', '--jobs', '1']);
  const epoch = rig.has('.orchestrate/x/epochs/1') ? 2 : 1;
  if (epoch === 1) await rebuild(rig);
  const folder = join(rig.repo, '.orchestrate/x');
  const outcome = {
    n,
    signal,
    resumed,
    ran: ranIn(rig),
    children: readdirSync(join(folder, 'children')).toSorted(),
    rest: readdirSync(folder)
      .filter((name) => !/^(lock\.|\.tmp-)/.test(name))
      .toSorted(),
    archive: withoutCache(contents(join(folder, 'epochs/1'))),
  };
  return { epoch, outcome };
};

const LANES = 2;

test('a rebuild that is killed with -9 at any step is finished by the next run, or had not begun', async () => {
  const lanes = await Promise.all(Array.from({ length: LANES }, prepare));
  const names = lanes[0] === undefined ? [] : await crossingsOf(lanes[0]);
  const [first, last] = [names.indexOf('write rebuild.json') + 1, names.indexOf('rebuild over') + 2];
  expect(last - first).toBeGreaterThan(30);
  const epochs = new Set<number>();
  const wrong: string[] = [];
  let next = first;
  const lane = async (prepared: Prepared): Promise<void> => {
    while (next <= last) {
      const n = next;
      next += 1;
      const { epoch, outcome } = await killedAt(n, prepared);
      epochs.add(epoch);
      try {
        expect(outcome).toEqual({
          n,
          signal: 'SIGKILL',
          resumed: 0,
          ran: ['b', 'c'],
          children: ['00-a.1', '01-b.2', '02-c.2', '03-side.1'],
          rest: ['artifacts', 'checkpoint.json', 'children', 'epochs', 'inbox', 'journal.jsonl', 'state'],
          archive: prepared.archive,
        });
      } catch (error) {
        wrong.push(`${names[n - 1] ?? ''}: ${(error as Error).message}`);
      }
    }
  };
  await Promise.all(lanes.map(lane));
  expect(wrong).toEqual([]);
  expect([...epochs].toSorted((a, b) => a - b)).toEqual([1, 2]);
}, 300_000);

test('asked for again in the same words after a kill, it is one rebuild and not two', async () => {
  const prepared = await prepare();
  const { rig, restore } = prepared;
  const names = await crossingsOf(prepared);
  restore();
  await rebuild(rig, { ORCHESTRATE_TEST_CROSSING: String(names.indexOf('moved journal.jsonl') + 1) });
  expect((await rig.run(['status', 'x'])).stderr).toMatch(
    /the rebuild of `b` was interrupted: .*\n {2}next: `orchestrate run --ticket x` finishes it/,
  );
  const again = await rebuild(rig);
  expect(again.code).toBe(0);
  expect(again.stderr).toMatch(/^note: the rebuild of b that a crash interrupted is finished$/m);
  expect(ranIn(rig)).toEqual(['b', 'c']);
  expect(readdirSync(join(rig.repo, '.orchestrate/x/epochs'))).toEqual(['1']);
});
