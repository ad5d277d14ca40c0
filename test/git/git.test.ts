import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { networkEnvironment } from '../../orchestrator/git/environment.js';
import { openGit, run } from '../../orchestrator/git/git.js';
import { findRepository } from '../../orchestrator/git/repository.js';
import { networkSettings, readUserConfig } from '../../orchestrator/git/user-config.js';
import { makeWorld, open, temporaryFolder, unwrap, writeFiles } from '../helpers/repo.js';

const shim = (folder: string): string => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'git'), '#!/bin/sh\nexit 0\n');
  chmodSync(join(folder, 'git'), 0o755);
  return folder;
};

test('a git program inside the repository, in node_modules/.bin or at a relative place is never used', () => {
  const world = makeWorld();
  const paths = findRepository(world.user);
  const outside = shim(join(world.dir, 'node_modules/.bin'));
  const inside = shim(join(world.user, 'tools'));
  symlinkSync(inside, join(world.dir, 'link'));
  mkdirSync(join(world.dir, 'bin'));
  symlinkSync(join(inside, 'git'), join(world.dir, 'bin/git'));
  const bad = [inside, outside, 'tools', '.', '', join(world.dir, 'link'), join(world.dir, 'bin')];
  const git = openGit(paths, { PATH: [...bad, world.env['PATH']].join(delimiter) });
  expect(git.program).toBe(openGit(paths, world.env).program);
  expect(git.path.split(delimiter)).not.toContain(inside);
  expect(() => openGit(paths, { PATH: bad.join(delimiter) })).toThrow(
    expect.objectContaining({ failure: expect.objectContaining({ kind: 'git-missing' }) }),
  );
});

test('no variable of the caller reaches git', async () => {
  const world = makeWorld();
  const foreign = { GIT_DIR: '/nowhere', GIT_OBJECT_DIRECTORY: '/nowhere', GIT_TRACE: '1' };
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const [name, value] of Object.entries(foreign)) vi.stubEnv(name, value);
  const { git, store } = open({ ...world, env: { ...world.env, ...foreign } });
  const shown = unwrap(await run(git, { args: ['rev-parse', '--git-path', 'objects'], gitDir: store.path }));
  expect(shown.stdout.toString().trim()).toBe(join(store.path, 'objects'));
  expect(shown.stderr).toBe('');
});

test('an exit status that is not expected is a failure with what git said; an expected one is an answer', async () => {
  const { git, paths } = open(makeWorld());
  const command = { args: ['rev-parse', '--verify', 'nothing'], gitDir: paths.gitDir };
  expect(await run(git, command)).toMatchObject({
    ok: false,
    failure: {
      kind: 'git-failed',
      message: expect.stringMatching(/`git rev-parse` failed with exit status 128: .*single revision/s),
    },
  });
  expect(await run(git, { ...command, answers: [128] })).toMatchObject({ ok: true, value: { code: 128 } });
});

test('a command that does not end in time is ended with all that it started, and one that cannot start is a failure', async () => {
  const { git, paths } = open(makeWorld());
  const alias = { args: ['-c', 'alias.wait=!sleep 60', 'wait'], gitDir: paths.gitDir, timeoutMs: 50 };
  expect(await run(git, alias)).toMatchObject({
    ok: false,
    failure: { message: expect.stringContaining('0.05 s') },
  });
  const gone = { ...git, program: join(temporaryFolder(), 'git') };
  expect(await run(gone, { args: ['version'], gitDir: paths.gitDir })).toMatchObject({
    ok: false,
    failure: { message: expect.stringContaining('ENOENT') },
  });
});

test('output can go to a file that must be new', async () => {
  const world = makeWorld();
  const { git, paths } = open(world);
  const file = join(world.dir, 'out');
  const command = { args: ['rev-parse', 'HEAD'], gitDir: paths.gitDir, outputFile: file };
  expect(unwrap(await run(git, command)).stdout).toHaveLength(0);
  expect(readFileSync(file, 'utf8').trim()).toBe(world.head);
  await expect(run(git, command)).rejects.toThrow('EEXIST');
});

test('a password in a URL does not get into a message', async () => {
  const { git, store } = open(makeWorld());
  const url = 'file://user:secret@/nowhere';
  const failed = await run(git, { args: ['ls-remote', url], gitDir: store.path });
  expect(failed.ok).toBe(false);
  expect(JSON.stringify(failed)).not.toContain('secret');
});

test("of the user's settings only those that reach a remote go there, and none from the repository", async () => {
  const world = makeWorld();
  writeFiles(world.home, {
    '.gitconfig': [
      '[credential]\n\thelper = store\n[http]\n\tproxy = http://proxy\n[core]\n\tsshCommand = ssh -v\n',
      '[url "x"]\n\tinsteadOf = y\n[includeIf "gitdir:**/user/"]\n\tpath = work\n[alias]\n\tx = y\n',
    ].join(''),
    work: '[credential "https://work"]\n\tusername = ada\n',
  });
  world.run(world.user, 'config', 'credential.helper', '!evil');
  world.run(world.user, 'config', 'http.proxy', 'http://evil');
  const { git, paths } = open(world);
  const settings = networkSettings(await readUserConfig(git, paths));
  expect(settings.slice(-4)).toEqual([
    { key: 'credential.helper', value: 'store' },
    { key: 'http.proxy', value: 'http://proxy' },
    { key: 'core.sshcommand', value: 'ssh -v' },
    { key: 'credential.https://work.username', value: 'ada' },
  ]);
  expect(JSON.stringify(settings)).not.toMatch(/evil|insteadof|alias/);
  const env = networkEnvironment(git, settings.slice(-4));
  expect(env).toMatchObject({ HOME: world.home, GIT_CONFIG_COUNT: '4', GIT_CONFIG_KEY_2: 'core.sshcommand' });
  expect(env).not.toHaveProperty('GIT_SSH_COMMAND');
  expect(networkEnvironment(git, [])).toMatchObject({ GIT_SSH_COMMAND: 'ssh -o BatchMode=yes' });
});
