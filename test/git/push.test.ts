import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveBase } from '../../orchestrator/git/base.js';
import { HISTORY_COMMITS, importCommit } from '../../orchestrator/git/import.js';
import { pushCommit, type PushCommitRequest } from '../../orchestrator/git/push.js';
import {
  addCommits,
  colleaguePushes,
  commitFiles,
  fingerprint,
  makeWorld,
  open,
  startTicket,
  type Ticket,
  unwrap,
  type World,
  writeScript,
} from '../helpers/repo.js';

const begin = async (): Promise<{ world: World; ticket: Ticket; commit: string }> => {
  const world = makeWorld();
  const ticket = await startTicket(world);
  return { world, ticket, commit: await commitFiles(ticket, { 'new.txt': 'new\n' }) };
};

const push = (world: World, ticket: Ticket, options: Partial<PushCommitRequest> & { commit: string }) =>
  pushCommit({ ...ticket, url: world.origin, branch: 'orchestrate/320', protect: ['main'], ...options });

const onRemote = (world: World, branch = 'orchestrate/320'): string =>
  world.run(world.origin, 'for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`);

test("the commit is on the remote afterwards, alone, and nothing of the user's changes", async () => {
  const { world, ticket, commit } = await begin();
  const before = fingerprint(world);
  expect(unwrap(await push(world, ticket, { commit }))).toEqual({
    ref: 'refs/heads/orchestrate/320',
    commit,
    already: false,
  });
  expect(onRemote(world)).toBe(commit);
  expect(onRemote(world, 'main')).toBe(world.head);
  expect(fingerprint(world)).toEqual(before);
  world.run(world.origin, 'fsck', '--strict');
  expect(unwrap(await push(world, ticket, { commit }))).toMatchObject({ commit, already: true });
});

test('settings of the repository and of the user do not send it elsewhere', async () => {
  const { world, ticket, commit } = await begin();
  const evil = join(world.dir, 'evil.git');
  world.run(world.dir, 'clone', '--quiet', '--bare', world.origin, evil);
  for (const where of ['--local', '--global']) {
    world.run(world.user, 'config', where, `url.${evil}.insteadOf`, world.origin);
    world.run(world.user, 'config', where, `url.${evil}.pushInsteadOf`, world.origin);
    world.run(world.user, 'config', where, 'remote.origin.pushurl', evil);
    world.run(world.user, 'config', where, 'remote.origin.push', 'refs/heads/*:refs/heads/main');
  }
  Object.assign(world.env, {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `url.${evil}.insteadOf`,
    GIT_CONFIG_VALUE_0: '/',
  });
  unwrap(await push(world, { ...ticket, ...open(world) }, { commit }));
  expect(onRemote(world)).toBe(commit);
  expect(world.run(evil, 'for-each-ref', 'refs/heads/orchestrate')).toBe('');
});

test('no hook of the repository or the user runs', async () => {
  const { world, ticket, commit } = await begin();
  const trap = join(world.dir, 'trap');
  writeScript(join(world.dir, 'hooks/pre-push'), `touch ${trap}; exit 1`);
  world.run(world.dir, 'config', '--global', 'core.hooksPath', join(world.dir, 'hooks'));
  expect(await push(world, ticket, { commit })).toMatchObject({ ok: true });
  expect(existsSync(trap)).toBe(false);
});

test('the base branch and the default branch of the remote are refused', async () => {
  const { world, ticket, commit } = await begin();
  world.run(world.origin, 'branch', 'release');
  for (const options of [
    { branch: 'main', expected: world.head },
    { branch: 'main', expected: world.head, protect: [] },
    { branch: 'release', expected: world.head, protect: ['release'] },
    { branch: '-x' },
  ]) {
    expect(await push(world, ticket, { commit, ...options })).toMatchObject({
      ok: false,
      failure: { kind: 'usage' },
    });
  }
  expect([onRemote(world, 'main'), onRemote(world, 'release')]).toEqual([world.head, world.head]);
});

test('a branch that somebody else made or moved is left alone', async () => {
  const { world, ticket, commit } = await begin();
  world.run(world.origin, 'branch', 'orchestrate/320', 'main');
  const refused = {
    ok: false,
    failure: { kind: 'git-failed', message: expect.stringContaining(world.head) },
  };
  expect(await push(world, ticket, { commit })).toMatchObject(refused);
  expect(await push(world, ticket, { commit, expected: commit })).toMatchObject(refused);
  expect(onRemote(world)).toBe(world.head);
});

test('a later round replaces what we pushed, although it is no descendant', async () => {
  const { world, ticket, commit } = await begin();
  unwrap(await push(world, ticket, { commit }));
  const second = await commitFiles(ticket, { 'new.txt': 'second\n' });
  unwrap(await push(world, ticket, { commit: second, expected: commit }));
  expect(onRemote(world)).toBe(second);
});

test('when the base moved on the remote, only what is new is sent', async () => {
  const { world, ticket, commit } = await begin();
  for (const number of [1, 2]) colleaguePushes(world, { [`c${number}.txt`]: 'c\n' });
  // Otherwise the remote would drop what it has already, and the count would say nothing.
  world.run(world.origin, 'config', 'receive.unpackLimit', '1');
  const count = (): number => {
    const counts = world.run(world.origin, 'count-objects', '--verbose');
    return [...counts.matchAll(/^(?:count|in-pack): (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
  };
  const before = count();
  unwrap(await push(world, ticket, { commit }));
  // Commit, root tree, one blob.
  expect(count() - before).toBe(3);
});

test('commits of the user that the remote has not seen are pushed along', async () => {
  const world = makeWorld();
  addCommits(world, HISTORY_COMMITS + 5);
  const opened = open(world);
  const base = await resolveBase({ ...opened, remote: 'origin' });
  unwrap(await importCommit({ ...opened, commit: base.commit, unpublishedOn: 'origin' }));
  const ticket = await startTicket(world, base.commit);
  const commit = await commitFiles(ticket, { 'new.txt': 'n\n' });
  unwrap(await push(world, ticket, { commit }));
  const log = world.run(world.origin, 'log', '--format=%s', commit).split('\n');
  expect(log).toHaveLength(HISTORY_COMMITS + 5 + 2);
  expect(log.at(-1)).toBe('Start');
  world.run(world.origin, 'fsck', '--strict');
});

test('a remote that refuses is quoted, and one that is not there names the command to try', async () => {
  const { world, ticket, commit } = await begin();
  writeScript(join(world.origin, 'hooks/pre-receive'), 'echo "tickets are frozen" >&2; exit 1');
  expect(await push(world, ticket, { commit })).toMatchObject({
    ok: false,
    failure: { kind: 'git-failed', message: expect.stringContaining('tickets are frozen') },
  });
  renameSync(world.origin, join(world.dir, 'gone.git'));
  expect(await push(world, ticket, { commit })).toMatchObject({
    ok: false,
    failure: { kind: 'git-failed', next: expect.stringContaining(`git ls-remote ${world.origin}`) },
  });
});
