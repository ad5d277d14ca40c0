/** What a tree object cannot hold, or what would hide files from it: refused, every path by name. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { snapshot } from '../../orchestrator/git/snapshot.js';
import { makeWorld, startTicket, type Ticket, unwrap, type World, writeFiles } from '../helpers/repo.js';

const take = (ticket: Ticket) => snapshot({ ...ticket, base: ticket.base.commit });

const EVIL = 'evil-marker';

const begin = async (): Promise<{ world: World; ticket: Ticket }> => {
  const world = makeWorld();
  return { world, ticket: await startTicket(world) };
};

const ODD: readonly (readonly [string, readonly string[], (world: World, tree: string) => void])[] = [
  [
    'a nested repository without commits',
    ['nested/.git'],
    (world, tree) => {
      world.run(tree, 'init', '--quiet', 'nested');
      writeFiles(tree, { 'nested/evil.js': EVIL });
    },
  ],
  [
    'a nested repository with a commit',
    ['deep/nested/.git'],
    (world, tree) => {
      world.run(world.dir, 'clone', '--quiet', world.origin, join(tree, 'deep/nested'));
    },
  ],
  [
    'a .git file below the root',
    ['sub/.git'],
    (_, tree) => writeFiles(tree, { 'sub/.git': 'gitdir: /nowhere\n' }),
  ],
  ['a .GIT folder', ['.GIT'], (_, tree) => writeFiles(tree, { '.GIT/config': '' })],
  [
    'fifos',
    ['a.fifo', 'src/b.fifo'],
    (_, tree) => {
      execFileSync('mkfifo', [join(tree, 'a.fifo'), join(tree, 'src/b.fifo')]);
    },
  ],
  [
    'a symbolic link to an absolute path',
    ['out'],
    (_, tree) => symlinkSync('/etc/passwd', join(tree, 'out')),
  ],
  [
    'a symbolic link upwards',
    ['src/out'],
    (_, tree) => symlinkSync('../../elsewhere', join(tree, 'src/out')),
  ],
  [
    'a symbolic link out through another',
    ['src/b'],
    (_, tree) => {
      symlinkSync('..', join(tree, 'src/up'));
      // As text it is `home` in the tree; in truth it is the folder two above the tree.
      symlinkSync('up/../../home', join(tree, 'src/b'));
    },
  ],
  [
    'a folder replaced by a link',
    ['src'],
    (world, tree) => {
      renameSync(join(tree, 'src'), join(world.dir, 'src'));
      symlinkSync(join(world.dir, 'src'), join(tree, 'src'));
    },
  ],
];

test.each(ODD)('%s is refused by name', async (_, paths, make) => {
  const { world, ticket } = await begin();
  make(world, ticket.tree);
  const refused = await take(ticket);
  expect(refused).toMatchObject({ ok: false, failure: { kind: 'evidence-refused' } });
  for (const path of paths)
    expect(refused).toHaveProperty('failure.message', expect.stringContaining(`\`${path}\``));
});

test('a tree that was replaced by a link is refused', async () => {
  const { world, ticket } = await begin();
  renameSync(ticket.tree, join(world.dir, 'moved'));
  symlinkSync(join(world.dir, 'moved'), ticket.tree);
  expect(await take(ticket)).toMatchObject({ ok: false, failure: { kind: 'evidence-refused' } });
});

test('odd things that an ignore rule names, and links that were there before, are no reason to refuse', async () => {
  const world = makeWorld({ files: { '.gitignore': 'cache/\n', 'a.txt': 'a\n' } });
  symlinkSync('/usr/share', join(world.user, 'share'));
  world.run(world.user, 'add', '--all');
  world.run(world.user, 'commit', '--quiet', '--message=Link');
  const ticket = await startTicket(world, world.run(world.user, 'rev-parse', 'HEAD'));
  mkdirSync(join(ticket.tree, 'cache'));
  execFileSync('mkfifo', [join(ticket.tree, 'cache/daemon.fifo')]);
  world.run(ticket.tree, 'init', '--quiet', 'cache/repo');
  writeFiles(ticket.tree, { 'cache/x': 'x', 'a.txt': 'b\n' });
  const shot = unwrap(await take(ticket));
  expect(shot.records.map(({ path }) => path)).toEqual(['a.txt']);
});

test('files inside a submodule, where no diff would show them, are refused; an untouched submodule is not', async () => {
  const world = makeWorld();
  world.run(world.user, 'update-index', '--add', '--cacheinfo', `160000,${world.head},lib`);
  world.run(world.user, 'commit', '--quiet', '--message=Submodule');
  const ticket = await startTicket(world, world.run(world.user, 'rev-parse', 'HEAD'));
  expect(unwrap(await take(ticket)).records).toEqual([]);
  writeFiles(ticket.tree, { 'lib/evil.js': EVIL });
  const refused = await take(ticket);
  expect(refused).toHaveProperty('failure.message', expect.stringContaining('`lib/evil.js`'));
});
