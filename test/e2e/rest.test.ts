import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRig, initRepository, type Rig } from '../helpers/rig.js';

const pipeline = (more = '', recipe = 'cat in.txt'): string => `name: plain
targets:
  copy: { command: "echo copy >> ../log; ${recipe} > copy.out", inputs: [in.txt], outputs: [copy.out] }
  last: { needs: [copy], command: "echo last >> ../log"${more} }
`;

const FILES = { 'in.txt': 'one\n', 'targets.yaml': pipeline(), '.gitignore': '*.out\nsub/\n', '../log': '' };

const REST = '.orchestrate/x/rest.bin';
const NOTHING = 'nothing to do: 2 of 2 targets are up to date\n';

/** Each run that boots takes the lock, under the next number. */
const boots = (rig: Rig): number =>
  Math.max(
    ...readdirSync(join(rig.repo, '.orchestrate/x')).map((name) =>
      Number(/^lock\.(\d+)$/.exec(name)?.[1] ?? 0),
    ),
  );

/** Runs until what was made is old enough to be remembered as it looks. */
const settle = async (rig: Rig): Promise<void> => {
  rmSync(join(rig.repo, REST), { force: true });
  const runs = async (): Promise<boolean> => {
    expect((await rig.run(['run', 'x'])).code).toBe(0);
    return rig.has(REST);
  };
  await expect.poll(runs, { timeout: 10_000, interval: 20 }).toBe(true);
};

/** What runs now, and whether the record was read for that. */
const next = async (rig: Rig, ...args: string[]) => {
  rig.write({ '../log': '' });
  const before = boots(rig);
  const { code, stdout, stderr } = await rig.run(['run', 'x', ...args]);
  return {
    code,
    stdout,
    stderr,
    made: rig.read('../log').split('\n').filter(Boolean),
    booted: boots(rig) > before,
  };
};

test('a second run of a finished ticket looks at its files, and at nothing else while they look the same', async () => {
  const rig = createRig();
  initRepository(rig, FILES, { remote: false });
  await settle(rig);
  const quiet = { code: 0, stderr: '', made: [], booted: false };
  expect(await next(rig)).toEqual({ ...quiet, stdout: NOTHING });
  expect(await next(rig, '--jobs', '3')).toEqual({ ...quiet, stdout: NOTHING });
  const json = '{"ticket":"x","type":"run.ended","state":"done","upToDate":2,"made":0,"wanted":2}\n';
  expect(await next(rig, '--json')).toEqual({ ...quiet, stdout: json });
  expect(await next(rig, '--until', 'copy', '--json')).toMatchObject({ booted: true, code: 0 });
  expect((await next(rig, '--jobs', '0')).code).toBe(2);
  const dry = await rig.run(['run', 'x', '--dry-run', '--json']);
  // The answer of a run that boots is the same, byte by byte.
  rmSync(join(rig.repo, REST));
  expect(await rig.run(['run', 'x', '--dry-run', '--json'])).toEqual(dry);
  expect(await next(rig, '--json')).toEqual({ ...quiet, booted: true, stdout: json });

  rig.write({ 'in.txt': 'two\n' });
  expect(await next(rig)).toMatchObject({ code: 0, made: ['copy', 'last'], booted: true });
  await settle(rig);
  rmSync(join(rig.repo, 'copy.out'));
  expect((await next(rig)).made).toEqual(['copy']);
  await settle(rig);
  rig.write({ 'targets.yaml': pipeline('', 'cat -u in.txt') });
  expect((await next(rig)).made).toEqual(['copy']);
  await settle(rig);
  expect((await rig.run(['tell', 'x', 'mind the gap'])).code).toBe(0);
  expect(await next(rig)).toMatchObject({ stdout: expect.stringContaining('mind the gap'), booted: true });
  await settle(rig);
  rig.write({ '.orchestrate/x/state/99_next_action.md': 'nothing\n' });
  expect(await next(rig)).toMatchObject({ code: 4, stderr: expect.stringContaining('99_next_action.md') });
});

test('another pipeline than the one that is at rest is looked at', async () => {
  const rig = createRig();
  initRepository(rig, { ...FILES, 'other.yaml': pipeline('', 'cat -u in.txt') }, { remote: false });
  await settle(rig);
  expect((await next(rig, '--file', 'other.yaml')).made).toEqual(['copy']);
});

test.each([
  ['a pattern', ', inputs: ["*.txt"]'],
  ['a folder', ', inputs: [sub]'],
  ['a latch', ', latch: true'],
  ['a label', ', when: { labels: [a] }'],
])('a pipeline with %s is never at rest without a boot', async (_, more) => {
  const rig = createRig();
  initRepository(rig, { ...FILES, 'odd.yaml': pipeline(more), 'sub/a': 'a\n' }, { remote: false });
  const odd = async (): Promise<void> => {
    expect((await rig.run(['run', 'odd', '--file', 'odd.yaml'])).code).toBe(0);
  };
  await odd();
  // When this one is old enough, so is the other.
  await settle(rig);
  await odd();
  expect(rig.has('.orchestrate/odd/rest.bin')).toBe(false);
});
