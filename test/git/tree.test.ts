import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkoutTree } from '../../orchestrator/git/checkout.js';
import { removeTree } from '../../orchestrator/git/remove.js';
import { cloneTree } from '../../orchestrator/git/tree.js';
import {
  AUTHOR,
  fingerprint,
  makeWorld,
  startTicket,
  temporaryFolder,
  unwrap,
  writeFiles,
} from '../helpers/repo.js';

test('a clone has the files and history of the base, its own branch and identity, and no way back', async () => {
  const world = makeWorld();
  const before = fingerprint(world);
  const { tree } = await startTicket(world);
  const run = (...args: string[]): string => world.run(tree, ...args);
  expect(run('status', '--porcelain=v2', '--branch')).toBe(
    `# branch.oid ${world.head}\n# branch.head orchestrate/320`,
  );
  expect(run('log', '--format=%s')).toBe('Start');
  expect(run('rev-parse', '--path-format=absolute', '--git-common-dir')).toBe(join(tree, '.git'));
  expect(run('remote')).toBe('');
  run('fsck', '--strict');
  expect(readdirSync(join(tree, '.git'))).not.toContain('hooks');
  for (const name of ['config', 'HEAD', 'info/attributes']) {
    expect(readFileSync(join(tree, '.git', name), 'utf8')).not.toContain(world.user);
  }
  expect(existsSync(join(tree, '.git/objects/info/alternates'))).toBe(false);
  for (const name of readdirSync(join(tree, '.git/objects/pack'))) {
    expect(statSync(join(tree, '.git/objects/pack', name)).nlink).toBe(1);
  }
  expect(fingerprint(world)).toEqual(before);
});

test('a worker can commit in its clone, even when the user signs commits', async () => {
  const world = makeWorld();
  const { tree } = await startTicket(world);
  writeFileSync(join(world.home, '.gitconfig'), '[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n');
  writeFiles(tree, { 'new.txt': 'n\n' });
  world.run(tree, 'add', '--all');
  world.run(tree, 'commit', '--quiet', '--message=Mine');
  expect(world.run(tree, 'log', '-1', '--format=%an <%ae>')).toBe(`${AUTHOR.name} <${AUTHOR.email}>`);
  expect(world.run(tree, 'blame', '-s', 'README.md')).toContain('# Sample');
});

test('a clone of a base with line ending rules and filters has the bytes that are in git, and is clean', async () => {
  const world = makeWorld({
    files: {
      '.gitattributes': '*.txt text eol=crlf\n*.bin filter=lfs\n',
      'a.txt': 'a\nb\n',
      'x.bin': 'pointer\n',
    },
  });
  const { tree } = await startTicket(world);
  expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('a\nb\n');
  world.run(tree, 'update-index', '--refresh', '--really-refresh');
  expect(world.run(tree, 'status', '--porcelain')).toBe('');
});

test.each([
  ['inside the repository', (user: string) => join(user, 'trees/320')],
  [
    'inside the repository through a link',
    (user: string) => {
      symlinkSync(user, join(user, '../link'));
      return join(user, '../link/trees/320');
    },
  ],
  ['relative', () => 'trees/320'],
])('a clone %s is refused', async (_, place) => {
  const world = makeWorld();
  const ticket = await startTicket(world);
  const dir = place(world.user);
  const refused = await cloneTree({ ...ticket, dir, branch: 'orchestrate/1', author: AUTHOR });
  expect(refused).toMatchObject({ ok: false, failure: { kind: 'usage' } });
});

test('an existing folder is not overwritten, and a branch name must be one', async () => {
  const world = makeWorld();
  const ticket = await startTicket(world);
  const request = { ...ticket, dir: ticket.tree, branch: 'orchestrate/1', author: AUTHOR };
  expect(await cloneTree(request)).toMatchObject({ ok: false, failure: { kind: 'git-failed' } });
  for (const branch of ['-x', '../../x', 'a..b', 'x.lock', 'a b', 'HEAD', '']) {
    const refused = await cloneTree({ ...request, dir: `${ticket.tree}-2`, branch });
    expect(refused).toMatchObject({ ok: false, failure: { kind: 'usage' } });
  }
});

test('what a killed clone left behind is removed, a tree of a similar name is not', async () => {
  const world = makeWorld();
  writeFiles(world.dir, {
    'trees/.partial-1-320/x': 'x',
    'trees/.partial-1-3200/x': 'x',
    'trees/3201/x': 'x',
  });
  await startTicket(world);
  expect(readdirSync(join(world.dir, 'trees')).toSorted()).toEqual(['.partial-1-3200', '320', '3201']);
});

test('a tree is removed whatever its modes, without following links', async () => {
  const folder = temporaryFolder();
  const outside = temporaryFolder();
  writeFiles(outside, { 'precious.txt': 'p' });
  writeFiles(folder, { '320/deep/file': 'x', '321/file': 'x' });
  symlinkSync(outside, join(folder, '320/deep/link'));
  chmodSync(join(folder, '320/deep'), 0o555);
  chmodSync(join(folder, '320'), 0o555);
  unwrap(await removeTree({ folder, dir: join(folder, '320') }));
  unwrap(await removeTree({ folder, dir: join(folder, '320') }));
  expect(readdirSync(folder)).toEqual(['321']);
  expect(existsSync(join(outside, 'precious.txt'))).toBe(true);
});

test('nothing outside the folder of trees is removed, not even through a linked parent', async () => {
  const folder = temporaryFolder();
  const outside = temporaryFolder();
  writeFiles(outside, { 'live/file': 'x' });
  symlinkSync(outside, join(folder, 'link'));
  mkdirSync(join(folder, 'a'));
  for (const dir of [
    join(folder, 'link/live'),
    join(outside, 'live'),
    join(folder, 'a/..'),
    `${folder}/../${outside}/live`,
  ]) {
    expect(await removeTree({ folder, dir })).toMatchObject({ ok: dir.includes('..//') });
  }
  symlinkSync(join(outside, 'live'), join(folder, 'tree'));
  unwrap(await removeTree({ folder, dir: join(folder, 'tree') }));
  expect(existsSync(join(outside, 'live/file'))).toBe(true);
  expect(readdirSync(folder).toSorted()).toEqual(['a', 'link']);
});

test('a checkout has exactly the bytes of the tree object, no .git, and can be made read-only', async () => {
  const world = makeWorld({
    files: {
      '.gitattributes': '* text eol=crlf ident\n',
      'a.txt': 'a\n$Id$\n',
      'deep/run.sh': '#!/bin/sh\n',
    },
  });
  chmodSync(join(world.user, 'deep/run.sh'), 0o755);
  symlinkSync('a.txt', join(world.user, 'link'));
  world.run(world.user, '-c', 'core.safecrlf=false', 'add', '--all');
  world.run(world.user, 'commit', '--quiet', '--message=More');
  const ticket = await startTicket(world, world.run(world.user, 'rev-parse', 'HEAD'));
  const folder = join(world.dir, 'checkouts');
  const request = {
    ...ticket,
    tree: world.run(world.user, 'rev-parse', 'HEAD^{tree}'),
    dir: join(folder, 'x'),
  };
  unwrap(await checkoutTree({ ...request, readOnly: true }));
  expect(readdirSync(request.dir).toSorted()).toEqual(['.gitattributes', 'a.txt', 'deep', 'link']);
  expect(readFileSync(join(request.dir, 'a.txt'), 'utf8')).toBe('a\n$Id$\n');
  const modes = ['', 'a.txt', 'deep', 'deep/run.sh'].map(
    (name) => statSync(join(request.dir, name)).mode & 0o777,
  );
  expect(modes).toEqual([0o555, 0o444, 0o555, 0o555]);
  expect(await checkoutTree({ ...request, readOnly: false })).toMatchObject({ ok: false });
  unwrap(await removeTree({ folder, dir: request.dir }));
  unwrap(await checkoutTree({ ...request, readOnly: false }));
  writeFileSync(join(request.dir, 'a.txt'), 'writable\n');
  expect(readdirSync(folder)).toEqual(['x']);
  expect(readdirSync(ticket.store.path).filter((name) => name.startsWith('tmp'))).toEqual([]);
});
