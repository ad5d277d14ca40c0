import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { branchHead, branchThatContains, isAncestor } from '../../orchestrator/git/ancestry.js';
import { publishBranch } from '../../orchestrator/git/publish.js';
import {
  colleaguePushes,
  commitFiles,
  fingerprint,
  makeWorld,
  startTicket,
  type Ticket,
  unwrap,
  type World,
} from '../helpers/repo.js';

const begin = async (): Promise<{ world: World; ticket: Ticket; commit: string }> => {
  const world = makeWorld();
  const ticket = await startTicket(world);
  const commit = await commitFiles(ticket, { 'new.txt': 'new\n' });
  unwrap(
    await publishBranch({
      ...ticket,
      commit,
      base: world.head,
      branch: 'orchestrate/320',
      protect: [],
      expected: undefined,
    }),
  );
  return { world, ticket, commit };
};

const ask = (
  world: World,
  ticket: Ticket,
  commits: readonly string[],
  haves: readonly string[] = [world.head],
) =>
  branchThatContains(
    { ...ticket, url: world.origin },
    { commits, branches: ['orchestrate/320', 'main'], haves },
  );

test('a commit at the head of a branch or anywhere below it is found; one that is on the remote in no branch is not', async () => {
  const { world, ticket, commit } = await begin();
  expect(unwrap(await ask(world, ticket, [commit]))).toBe(undefined);
  world.run(world.user, 'push', '--quiet', 'origin', 'orchestrate/320');
  expect(unwrap(await ask(world, ticket, [commit]))).toBe('orchestrate/320');

  colleaguePushes(world, { 'more.txt': 'more\n' }, 'orchestrate/320');
  expect(unwrap(await ask(world, ticket, [commit]))).toBe('orchestrate/320');

  const colleague = join(world.dir, 'colleague');
  colleaguePushes(world, { 'else.txt': 'else\n' });
  world.run(colleague, 'merge', '--quiet', '--no-ff', '-m', 'Merge', commit);
  world.run(colleague, 'push', '--quiet', 'origin', 'main', ':orchestrate/320');
  expect(unwrap(await ask(world, ticket, [commit]))).toBe('main');

  world.run(colleague, 'push', '--quiet', '--force', 'origin', `${world.head}:main`);
  expect(unwrap(await ask(world, ticket, [commit]))).toBe(undefined);
});

test("asking leaves the user's repository, its objects and the store as they were", async () => {
  const { world, ticket, commit } = await begin();
  colleaguePushes(world, { 'else.txt': 'else\n' });
  const before = [
    fingerprint(world),
    world.run(world.user, 'count-objects', '-v'),
    readdirSync(ticket.store.path),
  ];
  expect(unwrap(await ask(world, ticket, [commit]))).toBe(undefined);
  expect([
    fingerprint(world),
    world.run(world.user, 'count-objects', '-v'),
    readdirSync(ticket.store.path),
  ]).toEqual(before);
});

test('a commit that only the store has got counts as well', async () => {
  const { world, ticket } = await begin();
  const other = await commitFiles(ticket, { 'other.txt': 'other\n' });
  colleaguePushes(world, { 'else.txt': 'else\n' });
  expect(unwrap(await ask(world, ticket, [other], [world.head, other]))).toBe(undefined);
});

test('a remote that cannot be reached is a failure, not a no', async () => {
  const { world, ticket, commit } = await begin();
  renameSync(world.origin, join(world.dir, 'gone.git'));
  expect(await ask(world, ticket, [commit])).toMatchObject({ ok: false, failure: { kind: 'git-failed' } });
});

test("heads and ancestry of the user's own branches", async () => {
  const { world, ticket, commit } = await begin();
  const { git, paths } = ticket;
  expect(unwrap(await branchHead(git, paths, 'orchestrate/320'))).toBe(commit);
  expect(unwrap(await branchHead(git, paths, 'orchestrate'))).toBe(undefined);
  expect(await isAncestor(git, paths.gitDir, world.head, commit)).toBe(true);
  expect(await isAncestor(git, paths.gitDir, commit, commit)).toBe(true);
  expect(await isAncestor(git, paths.gitDir, commit, world.head)).toBe(false);
  expect(await isAncestor(git, paths.gitDir, 'a'.repeat(40), commit)).toBe(false);
});
