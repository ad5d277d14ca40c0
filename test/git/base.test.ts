import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Base, type BaseRequest, resolveBase } from '../../orchestrator/git/base.js';
import {
  AUTHOR,
  colleaguePushes,
  fingerprint,
  makeWorld,
  open,
  type World,
  writeFiles,
} from '../helpers/repo.js';

const resolve = (world: World, options: Partial<BaseRequest> = {}, start?: string): Promise<Base> =>
  resolveBase({ ...open(world, start), remote: 'origin', ...options });

const problemOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    return await promise;
  } catch (error) {
    return error;
  }
};

/** A commit in the user's repository that is not pushed. */
const commitLocally = (world: World, files = { 'local.txt': 'local\n' }): string => {
  writeFiles(world.user, files);
  world.run(world.user, 'add', '--all');
  world.run(world.user, 'commit', '--quiet', '--message=Local');
  return world.run(world.user, 'rev-parse', 'HEAD');
};

test('is the branch that is checked out, its commit, the absolute URL and the author', async () => {
  const world = makeWorld();
  expect(await resolve(world)).toEqual({
    branch: 'main',
    commit: world.head,
    remoteUrl: world.origin,
    unpublished: false,
    author: AUTHOR,
    objectFormat: 'sha1',
    notes: [],
  });
});

test("a stale local branch is not used: the head of the remote is fetched, and nothing of the user's changes", async () => {
  const world = makeWorld();
  const newer = colleaguePushes(world, { 'merged.txt': 'merged work\n' });
  const before = fingerprint(world);
  const base = await resolve(world);
  expect(base).toMatchObject({ commit: newer, unpublished: false });
  expect(base.notes).toEqual([expect.stringContaining('1 commit behind')]);
  expect(fingerprint(world)).toEqual(before);
  expect(world.run(world.user, 'cat-file', '-t', newer)).toBe('commit');
  expect((await resolve(world)).commit).toBe(newer);
});

test('a local branch with commits of its own is used, and a note says that they are published', async () => {
  const world = makeWorld();
  const local = commitLocally(world);
  const ahead = await resolve(world);
  expect(ahead).toMatchObject({ commit: local, unpublished: true });
  expect(ahead.notes).toEqual([expect.stringContaining('1 commit that remote')]);
  colleaguePushes(world, { 'merged.txt': 'merged work\n' });
  const diverged = await resolve(world);
  expect(diverged).toMatchObject({ commit: local, unpublished: true });
  expect(diverged.notes).toEqual([expect.stringContaining('lacks 1 commit')]);
});

test('when the remote cannot be reached, what was last fetched counts, with a note', async () => {
  const world = makeWorld();
  const newer = colleaguePushes(world, { 'merged.txt': 'x\n' });
  world.run(world.user, 'fetch', '--quiet', 'origin');
  renameSync(world.origin, join(world.dir, 'gone.git'));
  const base = await resolve(world);
  expect(base).toMatchObject({ commit: newer, remoteUrl: world.origin, unpublished: false });
  expect(base.notes).toEqual([
    expect.stringContaining('could not be reached'),
    expect.stringContaining('as it was last fetched'),
  ]);
});

test('a detached HEAD, in the middle of a rebase too, gives the default branch of the remote', async () => {
  const world = makeWorld();
  commitLocally(world);
  world.run(world.user, 'checkout', '--quiet', '--detach');
  const base = await resolve(world);
  expect(base).toMatchObject({ branch: 'main', unpublished: true });
  world.run(world.user, 'branch', '--quiet', '--delete', '--force', 'main');
  expect(await resolve(world)).toMatchObject({ branch: 'main', commit: world.head, unpublished: false });
});

test('a detached HEAD without a remote gives a branch that contains it, else the commit alone', async () => {
  const world = makeWorld();
  world.run(world.user, 'remote', 'remove', 'origin');
  world.run(world.user, 'checkout', '--quiet', '--detach');
  const base = await resolve(world);
  expect(base).toMatchObject({ branch: 'main', commit: world.head, unpublished: false, notes: [] });
  expect(base).not.toHaveProperty('remoteUrl');
  const alone = commitLocally(world);
  const detached = await resolve(world);
  expect(detached.commit).toBe(alone);
  expect(detached).not.toHaveProperty('branch');
});

test('a named base branch is taken from here or from the remote, and must exist', async () => {
  const world = makeWorld();
  world.run(world.origin, 'branch', 'release', 'main');
  const release = colleaguePushes(world, { 'r.txt': 'r\n' }, 'release');
  expect(await resolve(world, { baseBranch: 'release' })).toMatchObject({
    branch: 'release',
    commit: release,
  });
  for (const baseBranch of ['missing', '--upload-pack=x', '../x']) {
    expect(await problemOf(resolve(world, { baseBranch }))).toMatchObject({
      failure: { kind: 'usage', next: expect.stringContaining('targets.yaml') },
    });
  }
});

test('is the same with a dirty tree, from a subdirectory and from a linked worktree', async () => {
  const world = makeWorld();
  writeFiles(world.user, { 'src/add.js': 'dirty\n', 'untracked.txt': 'u\n' });
  const linked = join(world.dir, 'linked');
  world.run(world.user, 'worktree', 'add', '--quiet', '-b', 'topic', linked);
  const before = [fingerprint(world), fingerprint(world, linked)];
  expect(await resolve(world, {}, join(world.user, 'src'))).toMatchObject({
    branch: 'main',
    commit: world.head,
  });
  expect(await resolve(world, {}, linked)).toMatchObject({ branch: 'topic', remoteUrl: world.origin });
  expect([fingerprint(world), fingerprint(world, linked)]).toEqual(before);
});

test('a repository without commits, and one without identity, is refused with the commands that help', async () => {
  const world = makeWorld();
  const empty = join(world.dir, 'empty');
  world.run(world.dir, 'init', '--quiet', empty);
  expect(await problemOf(resolve(world, {}, empty))).toMatchObject({
    failure: { kind: 'no-commits', next: expect.stringContaining('git commit') },
  });
  rmSync(join(world.home, '.gitconfig'));
  Object.assign(world.env, { GIT_AUTHOR_NAME: 'Not Me', EMAIL: 'not@me' });
  expect(await problemOf(resolve(world))).toMatchObject({
    failure: { kind: 'usage', next: expect.stringMatching(/user\.name.*user\.email/) },
  });
});

test('a repository without commits can start from the remote', async () => {
  const world = makeWorld();
  const empty = join(world.dir, 'empty');
  world.run(world.dir, 'init', '--quiet', '--initial-branch=main', empty);
  world.run(empty, 'remote', 'add', 'origin', world.origin);
  expect(await resolve(world, {}, empty)).toMatchObject({ branch: 'main', commit: world.head });
});

test('the URL is what git would push to, with pushurl and the longest insteadOf applied', async () => {
  const world = makeWorld();
  const other = join(world.dir, 'mirrors/other.git');
  mkdirSync(join(world.dir, 'mirrors'));
  world.run(world.dir, 'clone', '--quiet', '--bare', world.origin, other);
  world.run(world.user, 'remote', 'set-url', 'origin', 'short:other.git');
  world.run(world.user, 'config', 'url.nowhere:.insteadOf', 'sh');
  world.run(world.user, 'config', `url.${world.dir}/mirrors/.insteadOf`, 'short:');
  expect((await resolve(world)).remoteUrl).toBe(other);
  expect(world.run(world.user, 'remote', 'get-url', '--push', 'origin')).toBe(other);
  world.run(world.user, 'remote', 'set-url', '--push', 'origin', '../origin.git');
  expect((await resolve(world)).remoteUrl).toBe(world.origin);
});

test('a remote that has nothing yet is pushed everything', async () => {
  const world = makeWorld();
  const fresh = join(world.dir, 'fresh.git');
  world.run(world.dir, 'init', '--quiet', '--bare', fresh);
  world.run(world.user, 'remote', 'add', 'fresh', fresh);
  const base = await resolve(world, { remote: 'fresh' });
  expect(base).toMatchObject({ commit: world.head, unpublished: true });
  expect(base.notes).toEqual([expect.stringContaining('has no branch `main` yet')]);
});
