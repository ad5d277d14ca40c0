/** The program of `attack` does harm on purpose: what keeps it in its place. */
import { execFile, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../helpers/rig.js';
import type { Deeds, Orders, Step } from '../../workers/hostile/steps.js';

const PROGRAM = resolve(import.meta.dirname, '../../dist/hostile-worker.cjs');
const TOKEN = 'a'.repeat(32);

interface Place {
  readonly dir: string;
  readonly tree: string;
  readonly ordersPath: string;
}

/** A folder as `attack` makes one, with a builder that is told to take these steps. */
const makePlace = (steps: readonly Step[], name = 'orchestrate-attack-'): Place => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), name)));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const tree = join(dir, 'tree');
  for (const folder of ['tree', 'out', 'home', 'repo', 'own', 'bin']) mkdirSync(join(dir, folder));
  const places = {
    repo: join(dir, 'repo'),
    home: join(dir, 'home'),
    own: join(dir, 'own'),
    bin: join(dir, 'bin'),
  };
  const acts = { x: { build: [{ after: steps }] } };
  const orders: Orders = {
    token: TOKEN,
    dir,
    places,
    orchestrate: ['false'],
    pillars: [],
    outputs: {},
    acts,
  };
  const ordersPath = join(dir, 'attack.json');
  writeFileSync(ordersPath, JSON.stringify(orders));
  return { dir, tree, ordersPath };
};

const start = async (
  { dir, tree, ordersPath }: Place,
  { token = TOKEN, cwd = tree }: { readonly token?: string; readonly cwd?: string } = {},
): Promise<{ readonly code: number; readonly stderr: string }> => {
  const env = {
    PATH: process.env['PATH'],
    ATTACK_TOKEN: token,
    ORCHESTRATE_TICKET: 'x',
    ORCHESTRATE_TARGET: 'build',
    ORCHESTRATE_ATTEMPT: '1',
    ORCHESTRATE_ROUND: '1',
    ORCHESTRATE_MAKES: 'diff',
    ORCHESTRATE_TREE: tree,
    ORCHESTRATE_OUT: join(dir, 'out'),
    ORCHESTRATE_RETURN: join(dir, 'out/return.json'),
  };
  const running = promisify(execFile)(process.execPath, [PROGRAM, ordersPath], { cwd, env });
  running.child.stdin?.end();
  try {
    return { code: 0, stderr: (await running).stderr };
  } catch (error) {
    return error as { readonly code: number; readonly stderr: string };
  }
};

const write = (path: string): Step => ({ row: '2', do: 'write', path, text: 'evil\n' });

const deedsIn = ({ dir }: Place): readonly Deeds[] =>
  readFileSync(join(dir, 'out/steps.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Deeds);

test('it takes its steps in the throw-away folder, writes down each, and then works honestly', async () => {
  const place = makePlace([write('{tree}/a.txt'), { row: '47', do: 'remove', path: '{tree}/none' }]);
  expect(await start(place)).toMatchObject({ code: 0 });
  expect(deedsIn(place).map(({ row, outcome }) => `${row} ${outcome}`)).toEqual(['2 done', '47 failed']);
  expect(readFileSync(join(place.tree, 'a.txt'), 'utf8')).toBe('evil\n');
  expect(JSON.parse(readFileSync(join(place.dir, 'out/return.json'), 'utf8'))).toMatchObject({
    status: 'done',
  });
});

test('it refuses every path outside of that folder, also through a link', async () => {
  const outside = realpathSync(mkdtempSync(join(tmpdir(), 'outside-')));
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  writeFileSync(join(outside, 'mine.txt'), 'mine\n');
  const place = makePlace([
    write(join(outside, 'a.txt')),
    write('{tree}/../../a.txt'),
    write('{tree}/link/a.txt'),
    write('{tree}/file'),
    { row: '2', do: 'remove', path: '{tree}/link/mine.txt' },
    { row: '2', do: 'chmod', path: '{tree}/link/mine.txt', mode: 0 },
    { row: '2', do: 'move', path: '{tree}/link/mine.txt', to: '{tree}/mine.txt' },
  ]);
  symlinkSync(outside, join(place.tree, 'link'));
  symlinkSync(join(outside, 'mine.txt'), join(place.tree, 'file'));
  expect(await start(place)).toMatchObject({ code: 0 });
  const deeds = deedsIn(place);
  expect(deeds.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 7 }, () => 'failed'));
  expect(existsSync(join(outside, 'a.txt'))).toBe(false);
  expect(readFileSync(join(outside, 'mine.txt'), 'utf8')).toBe('mine\n');
});

test('it does nothing without the token of an attack run, elsewhere, or in a folder of another name', async () => {
  const place = makePlace([write('{tree}/a.txt')]);
  const other = makePlace([write('{tree}/a.txt')], 'somebodys-');
  for (const [where, how] of [
    [place, { token: '' }],
    [place, { token: 'b'.repeat(32) }],
    [place, { cwd: tmpdir() }],
    [other, {}],
  ] as const) {
    const { code, stderr } = await start(where, how);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^hostile worker: /) as string,
    });
    expect(existsSync(join(where.tree, 'a.txt'))).toBe(false);
  }
});

/** Has its claim as standard output until its input has a line, as the shell that claims a fork has for a moment. */
const CLAIMING = `{ printf '{"pid":%d}\\n' $$; read -r _; } >"$1/proc.json"; read -r _`;

test('what is put into the mouth of a critic goes to its standard output, not to the claim that it still writes', async () => {
  const late = { do: 'speak-for-critic', child: 'critic' } as const;
  const place = makePlace([{ row: '15', do: 'leave', hidden: true, late }]);
  const folder = join(place.dir, 'repo/.orchestrate/x/children/critic');
  for (const made of [folder, join(place.dir, 'flags')]) mkdirSync(made, { recursive: true });
  writeFileSync(join(folder, 'prompt.md'), `# Assignment\nnonce: ${'0'.repeat(32)}\n`);
  const critic = spawn('/bin/sh', ['-c', CLAIMING, 'critic', folder], {
    env: { HOME: join(place.dir, 'home') },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => void critic.kill());
  expect(await start(place)).toMatchObject({ code: 0 });
  const lateDeed = (row: string) => deedsIn(place).find((deed) => deed.row === row && deed.do === 'late');
  await until(() => lateDeed('14') !== undefined, 'the verdict in the log');
  critic.stdin.write('\n');
  await until(() => lateDeed('15') !== undefined, 'the verdict on standard output');
  expect(lateDeed('15')?.detail).toMatch(/^ENXIO/);
  expect(readFileSync(join(folder, 'proc.json'), 'utf8')).toBe(`{"pid":${critic.pid}}\n`);
});
