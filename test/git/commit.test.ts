import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitTree } from '../../orchestrator/git/commit.js';
import { publishBranch } from '../../orchestrator/git/publish.js';
import { recordsBetween, treeOf } from '../../orchestrator/git/read.js';
import { snapshot } from '../../orchestrator/git/snapshot.js';
import {
  AUTHOR,
  colleaguePushes,
  commitFiles,
  DATE,
  fingerprint,
  makeWorld,
  startTicket,
  type Ticket,
  unwrap,
  type World,
  writeFiles,
  writeScript,
} from '../helpers/repo.js';
import { resolveBase } from '../../orchestrator/git/base.js';

const begin = async (): Promise<{ world: World; ticket: Ticket; commit: string }> => {
  const world = makeWorld();
  const ticket = await startTicket(world);
  return {
    world,
    ticket,
    commit: await commitFiles(ticket, { 'new.txt': 'new\n', 'src/add.js': 'fixed\n' }),
  };
};

const publish = (ticket: Ticket, commit: string, options: { expected?: string; branch?: string } = {}) =>
  publishBranch({
    ...ticket,
    commit,
    base: ticket.base.commit,
    branch: 'orchestrate/320',
    protect: ['main'],
    ...options,
  });

test('a commit is of exactly the tree that was reviewed, although a writer never stops', async () => {
  const world = makeWorld();
  const ticket = await startTicket(world);
  writeFiles(ticket.tree, { 'new.txt': 'reviewed\n' });
  const shot = unwrap(await snapshot({ ...ticket, base: ticket.base.commit }));
  writeFiles(ticket.tree, { 'new.txt': 'evil\n' });
  world.run(ticket.tree, 'add', '--all');
  const request = {
    ...ticket,
    tree: shot.treeId,
    parents: [world.head],
    message: 'Work',
    author: AUTHOR,
    date: DATE,
  };
  const commit = unwrap(await commitTree(request));
  expect(unwrap(await treeOf(ticket, commit))).toBe(shot.treeId);
  expect(world.run(ticket.store.path, 'show', `${commit}:new.txt`)).toBe('reviewed');
  expect(unwrap(await recordsBetween(ticket, world.head, commit))).toEqual({
    records: shot.records,
    digest: shot.recordsDigest,
  });
});

test('the same request gives the same commit; author, date and message are as asked', async () => {
  const world = makeWorld();
  Object.assign(world.env, { GIT_AUTHOR_NAME: 'Nobody', GIT_COMMITTER_DATE: '2000-01-01T00:00:00Z' });
  const ticket = await startTicket(world);
  const tree = unwrap(await treeOf(ticket, world.head));
  const request = {
    ...ticket,
    tree,
    parents: [world.head],
    message: 'Ünïcode\n\n# not a comment',
    author: AUTHOR,
    date: DATE,
  };
  const commit = unwrap(await commitTree(request));
  expect(unwrap(await commitTree(request))).toBe(commit);
  expect(unwrap(await commitTree({ ...request, message: 'Other' }))).not.toBe(commit);
  expect(world.run(ticket.store.path, 'log', '-1', '--format=%an <%ae> %aI %cI%n%B', commit)).toBe(
    'Ada Lovelace <ada@example.com> 2026-01-02T03:04:05+00:00 2026-01-02T03:04:05+00:00\nÜnïcode\n\n# not a comment',
  );
  const odd = unwrap(await commitTree({ ...request, author: { name: 'A <b> c', email: 'x@y' } }));
  expect(unwrap(await treeOf(ticket, odd))).toBe(tree);
});

test('a tree that does not exist cannot be committed', async () => {
  const { ticket } = await begin();
  const request = { ...ticket, tree: 'a'.repeat(40), parents: [], message: 'x', author: AUTHOR, date: DATE };
  expect(await commitTree(request)).toMatchObject({ ok: false, failure: { kind: 'git-failed' } });
});

test('a published branch is there with its objects, and nothing else of the repository changes', async () => {
  const { world, ticket, commit } = await begin();
  writeFiles(world.user, { 'README.md': 'dirty\n' });
  world.run(world.user, 'stash');
  writeFiles(world.user, { 'README.md': 'dirty again\n', 'untracked.txt': 'u\n', 'src/staged.js': 's\n' });
  world.run(world.user, 'add', 'src/staged.js');
  world.run(world.user, 'checkout', '--quiet', '--detach');
  const trap = join(world.dir, 'trap');
  writeScript(join(world.user, '.git/hooks/reference-transaction'), `touch ${trap}`);
  world.run(world.user, 'config', 'core.hooksPath', join(world.user, '.git/hooks'));
  const before = fingerprint(world);
  expect(unwrap(await publish(ticket, commit))).toEqual({ already: false });
  expect(fingerprint(world)).toEqual(before);
  expect(world.run(world.user, 'rev-parse', 'refs/heads/orchestrate/320')).toBe(commit);
  expect(() => readFileSync(trap)).toThrow('ENOENT');
  // The store is not needed for it: the objects were copied.
  rmSync(ticket.store.path, { recursive: true });
  world.run(world.user, 'fsck', '--strict');
});

test('publishing again is harmless, and a later round replaces what we published', async () => {
  const { world, ticket, commit } = await begin();
  unwrap(await publish(ticket, commit));
  expect(unwrap(await publish(ticket, commit))).toEqual({ already: true });
  const second = await commitFiles(ticket, { 'new.txt': 'second\n' });
  unwrap(await publish(ticket, second, { expected: commit }));
  expect(unwrap(await publish(ticket, second, { expected: commit }))).toEqual({ already: true });
  expect(world.run(world.user, 'rev-parse', 'orchestrate/320')).toBe(second);
});

test('a branch with commits of somebody else is neither adopted nor overwritten', async () => {
  const { world, ticket, commit } = await begin();
  world.run(world.user, 'branch', 'orchestrate/320', 'main');
  expect(await publish(ticket, commit)).toMatchObject({
    ok: false,
    failure: {
      kind: 'git-failed',
      message: expect.stringContaining(world.head),
      next: expect.stringContaining('branch -m'),
    },
  });
  expect(await publish(ticket, commit, { expected: commit })).toMatchObject({ ok: false });
  expect(world.run(world.user, 'rev-parse', 'orchestrate/320')).toBe(world.head);
});

test('a branch that is checked out, or being rebased, in any worktree is not moved', async () => {
  const { world, ticket, commit } = await begin();
  unwrap(await publish(ticket, commit));
  const linked = join(world.dir, 'linked');
  world.run(world.user, 'worktree', 'add', '--quiet', linked, 'orchestrate/320');
  const second = await commitFiles(ticket, { 'new.txt': 'second\n' });
  const refused = { ok: false, failure: { message: expect.stringContaining('in use by a checkout') } };
  expect(await publish(ticket, second, { expected: commit })).toMatchObject(refused);
  expect(unwrap(await publish(ticket, commit, { expected: commit }))).toEqual({ already: true });
  world.run(linked, 'checkout', '--quiet', '--detach');
  writeFiles(world.user, { '.git/worktrees/linked/rebase-merge/head-name': 'refs/heads/orchestrate/320\n' });
  expect(await publish(ticket, second, { expected: commit })).toMatchObject(refused);
});

test('the base branch, or what is no branch name, is never written', async () => {
  const { world, ticket, commit } = await begin();
  for (const branch of ['main', '../main', '-d']) {
    expect(await publish(ticket, commit, { branch, expected: world.head })).toMatchObject({
      ok: false,
      failure: { kind: 'usage' },
    });
  }
  expect(world.run(world.user, 'rev-parse', 'main')).toBe(world.head);
});

test('works when the base was fetched from the remote because the local branch was stale', async () => {
  const world = makeWorld();
  const newer = colleaguePushes(world, { 'merged.txt': 'm\n' });
  const first = await startTicket(world);
  const base = await resolveBase({ ...first, remote: 'origin' });
  expect(base.commit).toBe(newer);
  const ticket = await startTicket(world, base.commit, '321');
  const commit = await commitFiles(ticket, { 'new.txt': 'n\n' });
  unwrap(await publish(ticket, commit, { branch: 'orchestrate/321' }));
  expect(world.run(world.user, 'log', '--format=%s', 'orchestrate/321').split('\n')).toEqual([
    'Work',
    'Colleague',
    'Start',
  ]);
  world.run(world.user, 'fsck', '--strict');
});
