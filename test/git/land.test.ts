import { join } from 'node:path';
import { expect, test } from 'vitest';
import { land, type LandRequest } from '../../orchestrator/git/land.js';
import { recordsBetween } from '../../orchestrator/git/read.js';
import { digestOf } from '../../orchestrator/model/digest.js';
import {
  AUTHOR,
  colleaguePushes,
  commitFiles,
  DATE,
  type Files,
  fingerprint,
  makeWorld,
  startTicket,
  type Ticket,
  unwrap,
  type World,
  writeFiles,
  writeScript,
} from '../helpers/repo.js';

interface Begun {
  readonly world: World;
  readonly ticket: Ticket;
  readonly commit: string;
  readonly request: LandRequest;
}

const begin = async (files: Files = { 'new.txt': 'new\n', 'src/add.js': 'fixed\n' }): Promise<Begun> => {
  const world = makeWorld();
  const ticket = await startTicket(world);
  const commit = await commitFiles(ticket, files);
  const { digest } = unwrap(await recordsBetween(ticket, world.head, commit));
  const request = {
    ...ticket,
    url: world.origin,
    baseBranch: 'main',
    base: world.head,
    commit,
    recordsDigest: digest,
    message: 'Merge ticket 320',
    author: AUTHOR,
    date: DATE,
  };
  return { world, ticket, commit, request };
};

const main = (world: World): string => world.run(world.origin, 'rev-parse', 'refs/heads/main');

test("a base that has not moved is fast-forwarded to exactly our commit; the user's repository is not touched", async () => {
  const { world, commit, request } = await begin();
  const before = fingerprint(world);
  expect(unwrap(await land(request))).toEqual({ how: 'fast-forward', commit, head: commit });
  expect(main(world)).toBe(commit);
  expect(fingerprint(world)).toEqual(before);
  expect(unwrap(await land(request))).toEqual({ how: 'already', commit, head: commit });
});

test('a base that moved elsewhere is merged, and the merge adds exactly what was reviewed', async () => {
  const { world, ticket, commit, request } = await begin();
  const moved = colleaguePushes(world, { 'other.txt': 'other\n', 'src/list.js': 'short\n' });
  const before = fingerprint(world);
  const landed = unwrap(await land(request));
  expect(landed).toMatchObject({ how: 'merge', head: landed.commit });
  expect(main(world)).toBe(landed.commit);
  expect(world.run(world.origin, 'log', '-1', '--format=%P%n%an%n%B', 'main')).toBe(
    `${moved} ${commit}\n${AUTHOR.name}\nMerge ticket 320`,
  );
  expect(world.run(world.origin, 'ls-tree', '-r', '--name-only', 'main').split('\n')).toContain('other.txt');
  expect(unwrap(await recordsBetween(ticket, moved, landed.commit)).digest).toBe(request.recordsDigest);
  expect(fingerprint(world)).toEqual(before);
  world.run(world.origin, 'fsck', '--strict');
  expect(unwrap(await land(request))).toMatchObject({ how: 'already', head: landed.commit });
});

test('work that is below later commits of the base counts as landed', async () => {
  const { world, request } = await begin();
  unwrap(await land(request));
  const later = colleaguePushes(world, { 'later.txt': 'l\n' });
  expect(unwrap(await land(request))).toEqual({ how: 'already', commit: later, head: later });
});

test('work that somebody squashed into the base counts as landed, and nothing is pushed', async () => {
  const { world, request } = await begin();
  const squashed = colleaguePushes(world, { 'new.txt': 'new\n', 'src/add.js': 'fixed\n', 'more.txt': 'm\n' });
  expect(unwrap(await land(request))).toEqual({ how: 'already', commit: squashed, head: squashed });
});

test('a conflict is a failure that names the paths', async () => {
  const { world, request } = await begin();
  const moved = colleaguePushes(world, { 'src/add.js': 'other fix\n', 'new.txt': 'their new\n' });
  expect(await land(request)).toMatchObject({
    ok: false,
    failure: {
      kind: 'land-failed',
      message: expect.stringMatching(/conflicts.*`new\.txt`\n`src\/add\.js`/s),
    },
  });
  expect(main(world)).toBe(moved);
});

test('a clean merge that changes a reviewed file needs review again', async () => {
  const list = (first: string, last: string): string =>
    `${first}\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n${last}\n`;
  const { world, request } = await begin({ 'src/list.js': list('ONE', 'ten') });
  const moved = colleaguePushes(world, { 'src/list.js': list('one', 'TEN') });
  expect(await land(request)).toMatchObject({
    ok: false,
    failure: { kind: 'evidence-refused', message: expect.stringContaining('`src/list.js`') },
  });
  expect(main(world)).toBe(moved);
});

test('a merge driver that attributes and settings ask for does not run', async () => {
  const { world, request } = await begin({
    'src/add.js': 'fixed\n',
    '.gitattributes': '* merge=evil\n',
  });
  const driver = join(world.dir, 'driver');
  writeScript(driver, 'echo evil > "$1"');
  for (const where of ['--global', '--local'])
    world.run(world.user, 'config', where, 'merge.evil.driver', `${driver} %A`);
  colleaguePushes(world, { 'src/add.js': 'other\n' });
  expect(await land(request)).toMatchObject({ ok: false, failure: { kind: 'land-failed' } });
});

test('a base that moves between our look and our push is tried again', async () => {
  const { world, commit, request } = await begin();
  const tree = world.run(world.origin, 'rev-parse', 'main^{tree}');
  const raced = world.run(world.user, 'commit-tree', tree, '-p', world.head, '-m', 'Raced');
  world.run(world.user, 'push', '--quiet', 'origin', `${raced}:refs/heads/racer`);
  // The remote moves main while it takes our first push, and refuses that one.
  writeScript(
    join(world.origin, 'hooks/pre-receive'),
    `unset GIT_QUARANTINE_PATH; test -e raced || { touch raced; git update-ref refs/heads/main ${raced}; }`,
  );
  const landed = unwrap(await land(request));
  expect(landed.how).toBe('merge');
  expect(world.run(world.origin, 'log', '-1', '--format=%P', 'main')).toBe(`${raced} ${commit}`);
});

test('a base that never stops moving is given up with a reason', async () => {
  const { world, request } = await begin();
  writeScript(
    join(world.origin, 'hooks/pre-receive'),
    [
      'unset GIT_QUARANTINE_PATH; export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x',
      'unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES',
      'git update-ref refs/heads/main $(git commit-tree refs/heads/main^{tree} -p refs/heads/main -m moved)',
    ].join('\n'),
  );
  expect(await land(request)).toMatchObject({
    ok: false,
    failure: { kind: 'land-failed', message: expect.stringContaining('moved 5 times') },
  });
  expect(world.run(world.origin, 'log', '--format=%s', 'main')).not.toContain('Work');
});

test('a rewritten base, and one that lacks our start, are refused with what to do', async () => {
  const { world, request } = await begin();
  const other = world.run(world.user, 'commit-tree', `${world.head}^{tree}`, '-m', 'Rewritten');
  world.run(world.user, 'push', '--quiet', '--force', 'origin', `${other}:main`);
  expect(await land(request)).toMatchObject({
    ok: false,
    failure: { kind: 'land-failed', message: expect.stringContaining('rewritten') },
  });
  expect(main(world)).toBe(other);
});

test('commits of the user that the remote has not seen are not landed along', async () => {
  const world = makeWorld();
  writeFiles(world.user, { 'local.txt': 'unreviewed\n' });
  world.run(world.user, 'add', '--all');
  world.run(world.user, 'commit', '--quiet', '--message=Local');
  const base = world.run(world.user, 'rev-parse', 'HEAD');
  const ticket = await startTicket(world, base);
  const commit = await commitFiles(ticket, { 'new.txt': 'n\n' });
  const { digest } = unwrap(await recordsBetween(ticket, base, commit));
  const refused = await land({
    ...ticket,
    url: world.origin,
    baseBranch: 'main',
    base,
    commit,
    recordsDigest: digest,
    message: 'm',
    author: AUTHOR,
    date: DATE,
  });
  expect(refused).toMatchObject({
    ok: false,
    failure: {
      kind: 'land-failed',
      message: expect.stringContaining('not reviewed'),
      next: expect.stringContaining('push'),
    },
  });
  expect(main(world)).toBe(world.head);
});

test('a commit that is not what the receipt says is refused before anything is pushed', async () => {
  const { world, request } = await begin();
  expect(await land({ ...request, recordsDigest: digestOf('other') })).toMatchObject({
    ok: false,
    failure: { kind: 'evidence-refused' },
  });
  expect(main(world)).toBe(world.head);
});

test('without a remote, without a branch, and without the branch on the remote there is a next step', async () => {
  const { world, request } = await begin();
  for (const options of [{ url: undefined }, { baseBranch: undefined }, { baseBranch: 'missing' }]) {
    expect(await land({ ...request, ...options })).toMatchObject({
      ok: false,
      failure: { kind: 'land-failed', next: expect.any(String) },
    });
  }
  expect(main(world)).toBe(world.head);
});
