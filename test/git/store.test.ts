import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { HISTORY_COMMITS, importCommit } from '../../orchestrator/git/import.js';
import { openStore } from '../../orchestrator/git/store.js';
import {
  addCommits,
  fingerprint,
  makeWorld,
  open,
  unwrap,
  type World,
  writeFiles,
  writeScript,
} from '../helpers/repo.js';

const logOf = (world: World, gitDir: string, commit: string): string[] =>
  world.run(world.dir, `--git-dir=${gitDir}`, 'log', '--format=%s', commit).split('\n');

test('is made once, bare, without hooks, alternates or remotes, and hides itself from git status', () => {
  const world = makeWorld();
  const before = fingerprint(world);
  const { store } = open(world);
  expect(store).toEqual({ path: join(world.user, '.orchestrate/store.git'), format: 'sha1' });
  expect(readdirSync(store.path).toSorted()).toEqual([
    'HEAD',
    'config',
    'imported',
    'info',
    'objects',
    'refs',
  ]);
  expect(world.run(store.path, 'rev-parse', '--is-bare-repository')).toBe('true');
  expect(world.run(store.path, 'remote')).toBe('');
  expect(fingerprint(world)).toEqual(before);
  expect(open(world).store).toEqual(store);
});

test.each([
  [
    'config',
    (path: string) => writeFileSync(join(path, 'config'), '[core]\n\tbare = true\n\tfsmonitor = evil\n'),
  ],
  ['info/attributes', (path: string) => writeFileSync(join(path, 'info/attributes'), '* -diff\n')],
  ['info/exclude', (path: string) => writeFileSync(join(path, 'info/exclude'), '*\n')],
  ['hooks', (path: string) => mkdirSync(join(path, 'hooks'))],
  [
    'objects/info/alternates',
    (path: string) => writeFileSync(join(path, 'objects/info/alternates'), '/evil\n'),
  ],
  ['refs/replace', (path: string) => mkdirSync(join(path, 'refs/replace'))],
])('is refused by name when %s was changed', (name, change) => {
  const { paths, store } = open(makeWorld());
  change(store.path);
  expect(() => openStore(paths)).toThrow(
    expect.objectContaining({
      failure: expect.objectContaining({
        kind: 'evidence-refused',
        message: expect.stringContaining(`\`${name}\``),
      }),
    }),
  );
});

test('an imported commit is whole, with some history, and shares no file with the repository', async () => {
  const world = makeWorld();
  const commit = addCommits(world, HISTORY_COMMITS + 5);
  const opened = open(world);
  const before = fingerprint(world);
  const imported = unwrap(await importCommit({ ...opened, commit }));
  expect(fingerprint(world)).toEqual(before);
  expect(logOf(world, opened.store.path, commit)).toHaveLength(HISTORY_COMMITS);
  world.run(opened.store.path, 'fsck', '--strict');
  for (const name of readdirSync(join(opened.store.path, 'objects/pack'))) {
    expect(statSync(join(opened.store.path, 'objects/pack', name)).nlink).toBe(1);
  }
  expect(existsSync(join(opened.store.path, 'objects/info/alternates'))).toBe(false);
  // The second time nothing is done: the repository is not even read.
  rmSync(join(world.user, '.git/objects'), { recursive: true });
  mkdirSync(join(world.user, '.git/objects'));
  expect(unwrap(await importCommit({ ...opened, commit }))).toEqual(imported);
});

test('what the remote has not seen is imported whole, however long it is', async () => {
  const world = makeWorld();
  const commit = addCommits(world, HISTORY_COMMITS + 5);
  const opened = open(world);
  unwrap(await importCommit({ ...opened, commit, unpublishedOn: 'origin' }));
  const log = logOf(world, opened.store.path, commit);
  expect(log.length).toBeGreaterThanOrEqual(HISTORY_COMMITS + 5);
  expect(log).toContain('commit 0');
});

test('several imports at once, of the same commit and of others, do not disturb each other', async () => {
  const world = makeWorld();
  const head = addCommits(world, HISTORY_COMMITS + 5);
  const opened = open(world);
  const ids = [head, head, ...[1, 2, 3].map((back) => world.run(world.user, 'rev-parse', `${head}~${back}`))];
  const imported = await Promise.all(ids.map((commit) => importCommit({ ...opened, commit })));
  expect(imported.map((result) => unwrap(result).commit)).toEqual(ids);
  world.run(opened.store.path, 'fsck', '--strict');
});

/** Commits with random parents, all of the same second: `git rev-list` then lists them in an order of its own. */
const addTangle = (world: World, count: number): string[] => {
  let state = 7;
  const below = (limit: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % limit;
  };
  const stream = Array.from({ length: count }, (_, index) => {
    const mark = index + 1;
    const parents =
      mark === 1
        ? []
        : [mark - 1 - below(Math.min(5, mark - 1)), ...(mark % 3 === 0 ? [1 + below(mark - 1)] : [])];
    return [
      `commit refs/heads/tangle-${mark}\nmark :${mark}\ncommitter A <a@b> 1700000000 +0000\ndata 0`,
      ...[...new Set(parents)].map((parent, position) => `${position === 0 ? 'from' : 'merge'} :${parent}`),
      `M 100644 inline file-${mark % 7}\ndata ${String(mark).length}\n${mark}\n`,
    ].join('\n');
  });
  const marks = join(world.dir, 'marks');
  execFileSync('git', ['fast-import', '--quiet', `--export-marks=${marks}`], {
    cwd: world.user,
    env: world.env,
    input: `${stream.join('\n')}\n`,
  });
  return readFileSync(marks, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
};

test('imports of a tangled history, at once and one after another, leave every commit whole', async () => {
  const world = makeWorld();
  const opened = open(world);
  const tangle = addTangle(world, 4 * HISTORY_COMMITS).slice(HISTORY_COMMITS);
  const commits = tangle.filter((_, position) => position % 23 === 0);
  for (const half of [commits.slice(0, 4), commits.slice(4)]) {
    for (const result of await Promise.all(half.map((commit) => importCommit({ ...opened, commit }))))
      unwrap(result);
    expect(world.run(opened.store.path, 'fsck', '--strict', '--connectivity-only')).toBe('');
    expect(world.run(opened.store.path, 'rev-list', '--objects', '--quiet', '--all')).toBe('');
  }
});

test('a blob whose bytes were swapped in the repository is refused', async () => {
  const world = makeWorld();
  const id = world.run(world.user, 'rev-parse', 'HEAD:src/add.js');
  const file = join(world.user, '.git/objects', id.slice(0, 2), id.slice(2));
  rmSync(file);
  writeFileSync(file, deflateSync(Buffer.from('blob 5\0evil\n')));
  expect(world.run(world.user, 'cat-file', '-p', id)).toBe('evil');
  const opened = open(world);
  const refused = await importCommit({ ...opened, commit: world.head });
  expect(refused).toMatchObject({ ok: false, failure: { kind: 'git-failed' } });
  expect(existsSync(join(opened.store.path, 'imported', world.head))).toBe(false);
});

test('replaced objects and grafts of the repository are not followed', async () => {
  const world = makeWorld();
  const evil = join(world.dir, 'evil');
  writeFileSync(evil, 'evil\n');
  const old = world.run(world.user, 'rev-parse', 'HEAD:src/add.js');
  world.run(world.user, 'replace', old, world.run(world.user, 'hash-object', '-w', evil));
  const commit = addCommits(world, 2);
  writeFiles(world.user, { '.git/info/grafts': `${commit}\n` });
  const opened = open(world);
  unwrap(await importCommit({ ...opened, commit }));
  expect(world.run(opened.store.path, 'cat-file', '-p', `${commit}:src/add.js`)).toContain('a - b');
  expect(logOf(world, opened.store.path, commit)).toEqual(['commit 1', 'commit 0', 'Start']);
});

test('a commit that does not exist is a failure that names git', async () => {
  const opened = open(makeWorld());
  expect(await importCommit({ ...opened, commit: 'f'.repeat(40) })).toMatchObject({
    ok: false,
    failure: { kind: 'git-failed', message: expect.stringContaining('git rev-list') },
  });
});

test('hooks and settings of the repository have no part in it', async () => {
  const world = makeWorld();
  const trap = join(world.dir, 'trap');
  for (const hook of ['reference-transaction', 'post-index-change', 'pre-auto-gc']) {
    writeScript(join(world.user, '.git/hooks', hook), `touch ${trap}`);
  }
  world.run(world.user, 'config', 'uploadpack.packObjectsHook', `touch ${trap}`);
  world.run(world.user, 'config', 'core.fsmonitor', `touch ${trap}`);
  const opened = open(world);
  unwrap(await importCommit({ ...opened, commit: world.head }));
  expect(existsSync(trap)).toBe(false);
});
