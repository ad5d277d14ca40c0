import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findRepository } from '../../orchestrator/git/repository.js';
import { makeWorld, temporaryFolder } from '../helpers/repo.js';

test('is found from its root, from a folder below it and from inside .git', () => {
  const { user } = makeWorld();
  const paths = { root: user, gitDir: join(user, '.git'), mainRoot: user };
  expect(findRepository(user)).toEqual(paths);
  expect(findRepository(join(user, 'src'))).toEqual(paths);
  expect(findRepository(join(user, '.git'))).toEqual(paths);
});

test('has one name, whatever links lead to it', () => {
  const { user, dir } = makeWorld();
  symlinkSync(join(user, 'src'), join(dir, 'link'));
  expect(findRepository(join(dir, 'link')).root).toBe(user);
});

test('a linked worktree has its own root and the main root', () => {
  const { user, dir, run } = makeWorld();
  const linked = join(dir, 'linked');
  run(user, 'worktree', 'add', '--quiet', '--detach', linked);
  mkdirSync(join(linked, 'deep'));
  const paths = { root: linked, gitDir: join(user, '.git'), mainRoot: user };
  expect(findRepository(join(linked, 'deep'))).toEqual(paths);
});

test('a worktree of a bare repository is its own main root', () => {
  const { origin, dir, run } = makeWorld();
  const linked = join(dir, 'linked');
  run(origin, 'worktree', 'add', '--quiet', linked, 'main');
  expect(findRepository(linked)).toEqual({ root: linked, gitDir: origin, mainRoot: linked });
});

test('a submodule is a repository of its own', () => {
  const { user, origin, run } = makeWorld();
  run(user, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', origin, 'lib');
  const root = join(user, 'lib');
  expect(findRepository(root)).toEqual({ root, gitDir: join(user, '.git/modules/lib'), mainRoot: root });
});

test('a folder named .git that is no repository is passed over', () => {
  const { user } = makeWorld();
  mkdirSync(join(user, 'src/.git'));
  expect(findRepository(join(user, 'src')).root).toBe(user);
});

const refusal = (start: string): unknown => {
  try {
    return findRepository(start);
  } catch (error) {
    return error;
  }
};

test('a folder outside any repository is refused with what to do', () => {
  expect(refusal(temporaryFolder())).toMatchObject({
    failure: { kind: 'not-a-repository', next: expect.stringContaining('git init') },
  });
  expect(refusal(join(temporaryFolder(), 'missing'))).toMatchObject({
    failure: { kind: 'not-a-repository' },
  });
});

test('a bare repository is refused with what to do', () => {
  const { origin } = makeWorld();
  expect(refusal(join(origin, 'refs'))).toMatchObject({
    failure: { kind: 'not-a-repository', next: expect.stringContaining('worktree') },
  });
});

test('a .git file that leads nowhere is refused with what to do', () => {
  const { user, dir, run } = makeWorld();
  const linked = join(dir, 'linked');
  run(user, 'worktree', 'add', '--quiet', '--detach', linked);
  renameSync(user, join(dir, 'moved'));
  expect(refusal(linked)).toMatchObject({
    failure: { kind: 'not-a-repository', next: expect.stringContaining('worktree repair') },
  });
  rmSync(join(linked, '.git'));
  writeFileSync(join(linked, '.git'), 'something else');
  expect(refusal(linked)).toMatchObject({ failure: { kind: 'not-a-repository' } });
});
