import { rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contents, createRig, initRepository, type Rig } from '../helpers/rig.js';

/** left --+--> join --> last; each says in `log` that it ran. The recipe of `right` is a parameter. */
const pipeline = (right = 'cat right.txt'): string => `name: make
targets:
  left: { command: "echo left >> ../log; head -n 1 left.txt > left.out", inputs: [left.txt], outputs: [left.out] }
  right: { command: "echo right >> ../log; ${right} > right.out", inputs: ["right*.txt"], outputs: [right.out] }
  join: { needs: [left, right], command: "echo join >> ../log; cat left.out right.out > join.out", outputs: [join.out] }
  last: { needs: [join], command: "echo last >> ../log" }
`;

const ALL = ['left', 'right', 'join', 'last'];

const initMake = (rig: Rig): void =>
  initRepository(
    rig,
    { 'left.txt': 'l\n', 'right.txt': 'r\n', 'targets.yaml': pipeline(), '.gitignore': '*.out\n' },
    { remote: false },
  );

/** Runs to the end and tells what ran, in any order of siblings. */
const made = async (rig: Rig): Promise<readonly string[]> => {
  rig.write({ '../log': '' });
  const { code, stderr } = await rig.run(['run', 'x', '--jobs', '1']);
  expect({ code, stderr: stderr.replace(/^note: the pipeline or a manual changed .*\n/, '') }).toEqual({
    code: 0,
    stderr: '',
  });
  return rig.read('../log').split('\n').filter(Boolean);
};

/** Why each target would run, from `explain`; `run --dry-run` must say the same. */
const reasons = async (rig: Rig): Promise<Record<string, string>> => {
  const explained = await rig.run(['explain', 'x', '--json']);
  const dry = await rig.run(['run', 'x', '--dry-run', '--json']);
  expect(dry).toEqual(explained);
  const { targets } = JSON.parse(explained.stdout) as {
    readonly targets: readonly {
      readonly target: string;
      readonly verdict: string;
      readonly reason: string;
    }[];
  };
  return Object.fromEntries(
    targets.filter(({ verdict }) => verdict !== 'fresh').map(({ target, reason }) => [target, reason]),
  );
};

/** The recorded reasons of the starts since the last look. */
const recorded = (rig: Rig, targets: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    targets.map((name) => [
      name,
      rig.events('x').findLast(({ type, target }) => type === 'target.started' && target === name)?.[
        'reason'
      ],
    ]),
  );

describe('make-style freshness of plain commands', () => {
  test('what is up to date is not made again; bytes decide, not times', async () => {
    const rig = createRig();
    initMake(rig);
    expect(await made(rig)).toEqual(ALL);
    expect(await made(rig)).toEqual([]);
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(rig.repo, 'left.txt'), later, later);
    expect(await reasons(rig)).toEqual({});
    expect(await made(rig)).toEqual([]);
    expect(rig.git('status', '--porcelain', '--ignored').split('\n')).toContain('!! .orchestrate/');
  });

  test('a changed input makes its dependants again and nothing else, with the recorded reason', async () => {
    const rig = createRig();
    initMake(rig);
    await made(rig);
    rig.write({ 'left.txt': 'L\n' });
    expect(await reasons(rig)).toEqual({
      left: 'input left.txt changed',
      join: 'judged again after left',
      last: 'judged again after join',
    });
    expect(await made(rig)).toEqual(['left', 'join', 'last']);
    expect(recorded(rig, ['left', 'join', 'last'])).toEqual({
      left: 'input left.txt changed',
      join: 'input left changed',
      last: 'input join changed',
    });
    expect(rig.read('join.out')).toBe('L\nr\n');
    // A file that a glob of the inputs finds now and did not then.
    rig.write({ 'right2.txt': 'more\n' });
    expect((await reasons(rig))['right']).toBe('input right2.txt is new');
    rmSync(join(rig.repo, 'right2.txt'));
    expect(await reasons(rig)).toEqual({});
  });

  test('work that comes to the same bytes leaves what stands on it alone', async () => {
    const rig = createRig();
    initMake(rig);
    await made(rig);
    rig.write({ 'left.txt': 'l\nonly the first line counts\n' });
    expect(await made(rig)).toEqual(['left']);
    rig.write({ 'targets.yaml': pipeline('head -n 9 right.txt') });
    expect(await reasons(rig)).toMatchObject({
      right: 'its recipe changed (definition, worker, kernel or manual)',
    });
    expect(await made(rig)).toEqual(['right']);
  });

  test('an output that is missing or was changed by someone else is made again', async () => {
    const rig = createRig();
    initMake(rig);
    await made(rig);
    rmSync(join(rig.repo, 'join.out'));
    expect(await reasons(rig)).toMatchObject({ join: 'output join.out is missing' });
    expect(await made(rig)).toEqual(['join']);
    rig.write({ 'right.out': 'forged\n' });
    expect(await reasons(rig)).toMatchObject({ right: 'an output was changed by someone else' });
    expect(await made(rig)).toEqual(['right']);
    expect(rig.read('join.out')).toBe('l\nr\n');
  });

  test('--until makes one target and what it needs; --dry-run starts nothing and writes nothing', async () => {
    const rig = createRig();
    initMake(rig);
    const before = contents(rig.repo);
    const dry = await rig.run(['run', 'x', '--dry-run']);
    expect(dry.code).toBe(0);
    expect(dry.stdout).toMatch(/^ticket x\n0 {2}left +runs +it was never made\n/);
    expect(contents(rig.repo)).toEqual(before);

    const until = await rig.run(['run', 'x', '--until', 'left']);
    expect(until).toMatchObject({ code: 0, stderr: '' });
    expect(until.stdout).toMatch(/1 of 1 targets are up to date\n$/);
    expect(rig.read('../log')).toBe('left\n');
    expect(await made(rig)).toEqual(['right', 'join', 'last']);

    const unknown = await rig.run(['run', 'x', '--until', 'lost']);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toMatch(/no target `lost`[\s\S]*left, right, join, last/);
  });
});
