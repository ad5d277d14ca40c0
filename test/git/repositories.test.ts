/** Repositories that are not whole, or not of the usual kind, from the base to the landed commit. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveBase } from '../../orchestrator/git/base.js';
import { commitTree } from '../../orchestrator/git/commit.js';
import { importCommit } from '../../orchestrator/git/import.js';
import { land } from '../../orchestrator/git/land.js';
import { publishBranch } from '../../orchestrator/git/publish.js';
import { pushCommit } from '../../orchestrator/git/push.js';
import { snapshot } from '../../orchestrator/git/snapshot.js';
import { cloneTree } from '../../orchestrator/git/tree.js';
import {
  AUTHOR,
  colleaguePushes,
  DATE,
  fingerprint,
  makeWorld,
  open,
  unwrap,
  type World,
  writeFiles,
  writeScript,
} from '../helpers/repo.js';

interface Kind {
  readonly format?: 'sha256';
  /** Changes the world; returns the checkout that the user works in. */
  readonly arrange: (world: World) => string;
  /** Of the checkout, before and after. */
  readonly isStill?: (world: World, checkout: string) => unknown;
}

const cloned = (world: World, ...options: string[]): string => {
  world.run(world.dir, 'clone', '--quiet', ...options, 'mine');
  return join(world.dir, 'mine');
};

/** A remote that is reached with the user's own settings only, as with a key or a password. */
const overSsh = (world: World): string => {
  const ssh = join(world.dir, 'ssh');
  writeScript(ssh, `while test $# -gt 1; do shift; done; test "$HOME" = ${world.home} && exec sh -c "$1"`);
  for (const [key, value] of [
    ['core.sshCommand', ssh],
    ['ssh.variant', 'simple'],
  ] as const)
    world.run(world.dir, 'config', '--global', key, value);
  for (const key of ['uploadpack.allowFilter', 'uploadpack.allowAnySHA1InWant'])
    world.run(world.origin, 'config', key, 'true');
  return `ssh://host${world.origin}`;
};

const KINDS: readonly (readonly [string, Kind])[] = [
  ['with SHA-256', { format: 'sha256', arrange: ({ user }) => user }],
  [
    'that is shallow, as CI makes them',
    {
      arrange: (world) => cloned(world, '--depth=1', `file://${world.origin}`),
      isStill: (_, checkout) => readFileSync(join(checkout, '.git/shallow'), 'utf8'),
    },
  ],
  [
    'that is partial, and sparse with a sparse index',
    {
      arrange: (world) => {
        const checkout = cloned(world, '--filter=blob:none', '--no-checkout', overSsh(world));
        world.run(checkout, 'sparse-checkout', 'set', '--cone', '--sparse-index', 'docs');
        world.run(checkout, 'checkout', '--quiet', 'main');
        return checkout;
      },
      isStill: (_, checkout) => existsSync(join(checkout, 'src')),
    },
  ],
  [
    'with a submodule',
    {
      arrange: (world) => {
        const { user } = world;
        writeFiles(user, { '.gitmodules': '[submodule "lib"]\n\tpath = lib\n\turl = ../origin.git\n' });
        world.run(user, 'clone', '--quiet', world.origin, 'lib');
        world.run(user, 'add', '--all');
        world.run(user, 'commit', '--quiet', '--message=Submodule');
        world.run(user, 'push', '--quiet', 'origin', 'main');
        return user;
      },
      isStill: (world, checkout) => world.run(join(checkout, 'lib'), 'log', '-1', '--format=%H'),
    },
  ],
];

test.each(KINDS)('a ticket of a repository %s lands, on a base that moved twice', async (_, kind) => {
  const world = makeWorld(kind.format === undefined ? {} : { format: kind.format });
  const checkout = kind.arrange(world);
  const still = () => [fingerprint(world, checkout), kind.isStill?.(world, checkout)];
  const before = still();
  const newer = colleaguePushes(world, { 'src/list.js': 'shorter\n' });

  const opened = open(world, checkout);
  const base = await resolveBase({ ...opened, remote: 'origin' });
  expect(base).toMatchObject({ commit: newer, unpublished: false });
  const imported = unwrap(await importCommit({ ...opened, commit: base.commit }));
  const at = { dir: join(world.dir, 'trees/320'), index: join(world.dir, 'runs/320/index') };
  const branch = 'orchestrate/320';
  const tree = unwrap(await cloneTree({ ...opened, ...at, base: imported, branch, author: AUTHOR }));
  writeFileSync(join(tree, 'src/add.js'), 'fixed\n');
  const diffFile = join(world.dir, 'runs/320/branch.diff');
  const shot = unwrap(await snapshot({ ...opened, ...at, tree, base: base.commit, diffFile }));
  expect(shot.records.map(({ path }) => path)).toEqual(['src/add.js']);

  const by = { author: AUTHOR, date: DATE };
  const parents = [base.commit];
  const commit = unwrap(await commitTree({ ...opened, tree: shot.treeId, parents, message: 'Work', ...by }));
  const url = base.remoteUrl;
  const sent = { ...opened, commit, base: base.commit, branch, protect: ['main'] };
  unwrap(await publishBranch(sent));
  unwrap(await pushCommit({ ...sent, url: url ?? '' }));
  colleaguePushes(world, { 'other.txt': 'other\n' });
  const { recordsDigest } = shot;
  const landed = await land({ ...sent, url, baseBranch: 'main', recordsDigest, message: 'Merge', ...by });
  expect(unwrap(landed).how).toBe('merge');
  expect(world.run(world.origin, 'show', 'main:src/add.js')).toBe('fixed');
  expect(world.run(world.origin, 'show', 'main:src/list.js')).toBe('shorter');
  expect(world.run(checkout, 'rev-parse', branch)).toBe(commit);
  world.run(world.origin, 'fsck', '--strict');
  world.run(checkout, 'fsck', '--connectivity-only');
  expect(still()).toEqual(before);
});
