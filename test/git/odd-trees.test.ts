/** What a tree object cannot hold, or what would hide files from it: refused, every path by name. And what only looks odd. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkoutTree } from '../../orchestrator/git/checkout.js';
import { snapshot, type SnapshotRequest } from '../../orchestrator/git/snapshot.js';
import { type Ticket, unwrap, type World, writeFiles } from '../helpers/repo.js';
import { sceneMaker } from './ticket-copies.js';
import { addSubmodule, BASE_FILES, EVIL } from './tricks.js';

const take = (ticket: Ticket, more: Partial<SnapshotRequest> = {}) =>
  snapshot({ ...ticket, base: ticket.base.commit, ...more });

/** Besides the usual: `share` leads out and was always there, `via` is harmless as long as `src` is a folder. */
const begin = sceneMaker({
  files: { ...BASE_FILES, 'vendor/kept.js': 'kept\n' },
  arrange: (world) => {
    symlinkSync('/usr/share', join(world.user, 'share'));
    symlinkSync('src/..', join(world.user, 'via'));
    world.run(world.user, 'add', '--', 'share', 'via');
    addSubmodule(world);
  },
});

const link =
  (target: string, path: string) =>
  (_: World, tree: string): void =>
    symlinkSync(target, join(tree, path));

type Make = (world: World, tree: string) => unknown;

const ODD: readonly (readonly [string, readonly string[], Make])[] = [
  [
    'a .git file below the root, and another spelling of the name',
    ['`sub/.git` is a git repository', '`.GIT` is a git repository'],
    (_, tree) => writeFiles(tree, { 'sub/.git': 'gitdir: /nowhere\n', '.GIT/config': '' }),
  ],
  ['what HFS+ takes for .git', ['nvalid path'], (_, tree) => writeFiles(tree, { '.g\u200Cit/config': '' })],
  [
    'what NTFS takes for .git',
    ["nvalid path 'git~1/config'"],
    (_, tree) => writeFiles(tree, { 'git~1/config': '' }),
  ],
  ['a symbolic link to an absolute path', ['`out` is a symbolic link'], link('/etc/passwd', 'out')],
  [
    'a symbolic link upwards',
    ['`src/out` is a symbolic link that leads out'],
    link('../../elsewhere', 'src/out'),
  ],
  [
    'an absolute link into the tree, which leads to live files from every checkout',
    ['`live` is a symbolic link that leads out'],
    (_, tree) => symlinkSync(join(tree, 'src'), join(tree, 'live')),
  ],
  [
    'a symbolic link out through another',
    ['`src/b` is a symbolic link that leads out'],
    (_, tree) => {
      symlinkSync('..', join(tree, 'src/up'));
      // As text it is `home` in the tree; in truth it is the folder two above the tree.
      symlinkSync('up/../../home', join(tree, 'src/b'));
    },
  ],
  [
    'an old link that leads out through a new one',
    ['`via` is a symbolic link that leads out'],
    (_, tree) => {
      rmSync(join(tree, 'src'), { recursive: true });
      symlinkSync('.', join(tree, 'src'));
    },
  ],
  [
    'a folder replaced by a link',
    ['`src` is a symbolic link that leads out'],
    (world, tree) => {
      renameSync(join(tree, 'src'), join(world.dir, 'src'));
      symlinkSync(join(world.dir, 'src'), join(tree, 'src'));
    },
  ],
  [
    'a socket',
    ['`s.sock` is a socket'],
    async (_, tree) => {
      const server = createServer().listen(join(tree, 's.sock'));
      onTestFinished(() => void server.close());
      await new Promise((resolve) => void server.once('listening', resolve));
    },
  ],
  [
    'a folder that is too deep to be read',
    ['is a folder that cannot be read (ENAMETOOLONG)'],
    (_, tree) => {
      const half = Array.from({ length: 10 }, () => 'deep'.padEnd(220, 'p')).join('/');
      for (const name of ['a', 'b']) mkdirSync(join(tree, name, half), { recursive: true });
      writeFiles(join(tree, 'b', half), { 'evil.js': EVIL });
      renameSync(join(tree, 'b'), join(tree, 'a', half, 'b'));
      onTestFinished(() => void execFileSync('rm', ['-rf', join(tree, 'a')]));
    },
  ],
  [
    'a name that would write a line of ours',
    [String.raw`"x\012\033[2Jall is \140well\140"` + '` is a fifo'],
    (_, tree) => execFileSync('mkfifo', [join(tree, 'x\n\u001B[2Jall is `well`')]),
  ],
  [
    'a tree that is a link',
    ['`.` is not a folder'],
    (world, tree) => {
      renameSync(tree, join(world.dir, 'moved'));
      symlinkSync(join(world.dir, 'moved'), tree);
    },
  ],
];

test.each(ODD)('%s is refused by name', async (_, named, make) => {
  const { world, ticket } = await begin();
  await make(world, ticket.tree);
  const refused = await take(ticket);
  expect(refused).toMatchObject({
    ok: false,
    failure: { kind: 'evidence-refused', next: expect.any(String) },
  });
  for (const part of named) expect(refused).toHaveProperty('failure.message', expect.stringContaining(part));
});

test.skipIf(process.getuid?.() !== 0)('a device is refused by name', async () => {
  const { ticket } = await begin();
  execFileSync('mknod', [join(ticket.tree, 'null'), 'c', '1', '3']);
  expect(await take(ticket)).toHaveProperty('failure.message', expect.stringContaining('`null` is a device'));
});

test('odd things that an ignore rule names, and links that were there before, are no reason to refuse', async () => {
  const { world, ticket } = await begin();
  const { tree } = ticket;
  mkdirSync(join(tree, 'build'));
  execFileSync('mkfifo', [join(tree, 'build/daemon.fifo')]);
  world.run(tree, 'init', '--quiet', 'build/repo');
  writeFiles(tree, { 'build/x': 'x', 'README.md': 'b\n' });
  symlinkSync('../README.md', join(tree, 'src/read'));
  symlinkSync('nowhere/yet', join(tree, 'src/dangling'));
  expect(unwrap(await take(ticket)).records.map(({ path }) => path)).toEqual([
    'README.md',
    'src/dangling',
    'src/read',
  ]);
});

test('a repository that is none any more, and a submodule that is emptied again, leave nothing behind', async () => {
  const { world, ticket } = await begin();
  const { tree } = ticket;
  for (const path of ['nested', 'lib']) world.run(tree, 'clone', '--quiet', world.origin, path);
  expect(await take(ticket)).toHaveProperty(
    'failure.message',
    expect.stringMatching(/`lib` is a submodule with something in it.*`nested\/\.git` is a git repository/s),
  );
  for (const name of ['.git', 'share']) rmSync(join(tree, 'nested', name), { recursive: true });
  rmSync(join(tree, 'lib/.git'), { recursive: true });
  expect(await take(ticket)).toHaveProperty(
    'failure.message',
    expect.stringContaining('`lib` is a submodule with something in it (`lib/'),
  );
  rmSync(join(tree, 'lib'), { recursive: true });
  mkdirSync(join(tree, 'lib'));
  const { records } = unwrap(await take(ticket));
  expect(records.map(({ path }) => path)).toContain('nested/src/add.js');
  expect(records.map(({ path }) => path)).not.toContain('lib');
});

test('the ticket index is ours: bits that somebody set there hide nothing', async () => {
  const { world, ticket } = await begin();
  const env = { ...world.env, GIT_INDEX_FILE: ticket.index };
  const update = (...args: string[]): unknown =>
    execFileSync('git', ['update-index', ...args], { cwd: ticket.tree, env });
  update('--assume-unchanged', 'README.md');
  update('--skip-worktree', 'src/add.js');
  for (const path of ['README.md', 'src/add.js']) appendFileSync(join(ticket.tree, path), `${EVIL}\n`);
  const shot = unwrap(await take(ticket));
  expect(shot.records.map(({ path }) => path)).toEqual(['README.md', 'src/add.js']);
});

test('the tree depends on the files alone, not on what an earlier snapshot saw', async () => {
  const { ticket } = await begin();
  const file = join(ticket.tree, 'README.md');
  rmSync(file);
  writeFiles(ticket.tree, { 'src/made.js': 'made\n' });
  expect(unwrap(await take(ticket)).records.map(({ status }) => status)).toEqual(['D', 'A']);
  writeFileSync(file, `${EVIL}\n`);
  writeFiles(ticket.tree, { '.gitignore': '*.md\n' });
  // New at the first snapshot, and out of the work since.
  writeFiles(ticket.tree, { 'src/.gitignore': 'made.js\n' });
  const warm = unwrap(await take(ticket));
  expect(warm.records.map(({ status, path }) => [status, path])).toEqual([
    ['M', '.gitignore'],
    ['M', 'README.md'],
    ['A', 'src/.gitignore'],
  ]);
  expect(warm.ignored).toEqual(['src/made.js']);
  rmSync(ticket.index);
  expect(unwrap(await take(ticket)).treeId).toBe(warm.treeId);
});

test('a hard link to a file elsewhere is a file: its bytes are in the diff', async () => {
  const { world, ticket } = await begin();
  writeFileSync(join(world.dir, 'elsewhere'), `${EVIL}\n`);
  linkSync(join(world.dir, 'elsewhere'), join(ticket.tree, 'linked'));
  unwrap(await take(ticket));
  expect(readFileSync(ticket.diffFile, 'utf8')).toContain(`+${EVIL}`);
});

test('what the tree was given is in no tree object, whatever the ignore rules say, and only the rest is new', async () => {
  const { world, ticket } = await begin();
  writeFiles(ticket.tree, {
    '.env': 'SECRET=1\n',
    'node_modules/x/index.js': 'x\n',
    'vendor/given.js': 'given\n',
    'vendor/kept.js': 'edited\n',
    'build/out.js': 'x\n',
    'new.js': 'new\n',
  });
  // Whoever does not know what the tree was given takes it in.
  expect(unwrap(await take(ticket)).records).toHaveLength(5);
  execFileSync('mkfifo', [join(ticket.tree, 'node_modules/fifo')]);
  const shot = unwrap(await take(ticket, { given: ['.env', 'node_modules', 'vendor', 'missing'] }));
  expect(shot.records.map(({ path }) => path)).toEqual(['new.js', 'vendor/kept.js']);
  expect(shot.ignored).toEqual(['.env', 'build/out.js', 'node_modules/', 'vendor/']);
  expect(shot.newIgnored).toEqual(['build/out.js']);
  const dir = join(world.dir, 'checkout');
  unwrap(await checkoutTree({ ...ticket, tree: shot.treeId, dir, readOnly: false }));
  expect(readdirSync(dir).toSorted()).toEqual(
    ['.gitignore', '.gitmodules', 'README.md', 'lib', 'new.js', 'share', 'src', 'vendor', 'via'].toSorted(),
  );
  expect(readdirSync(join(dir, 'vendor'))).toEqual(['kept.js']);
});

test('a store whose settings changed after it was opened is refused', async () => {
  const { ticket } = await begin();
  writeFiles(ticket.store.path, { commondir: '/elsewhere\n', 'info/attributes': '* filter=f\n' });
  expect(await take(ticket)).toHaveProperty(
    'failure.message',
    expect.stringMatching(/store was changed by something else: `info\/attributes`, `commondir`/),
  );
});
