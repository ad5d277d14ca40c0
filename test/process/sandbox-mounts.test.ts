import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { SandboxRequest } from '../../orchestrator/process/sandbox.js';
import { argvIn, boxed, environmentOf, inside, makeWorld, run, SYSTEM_PATH } from '../helpers/sandboxes.js';
import type { World } from '../helpers/sandboxes.js';

const write = (path: string, text: string, mode = 0o644): string => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
  chmodSync(path, mode);
  return path;
};

const link = (target: string, path: string): string => {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
  return path;
};

const program = (path: string, text: string): string => write(path, text, 0o755);

const outputOf = async (world: World, argv: readonly string[], more: Partial<SandboxRequest> = {}) => {
  const env = more.env ?? environmentOf(world);
  const { code, stdout, stderr } = await run(argvIn(world, argv, { ...more, env }), {
    cwd: more.cwd ?? world.tree,
    env,
  });
  return code === 0 ? stdout : `${String(code)}: ${stderr}`;
};

const withPath = (world: World, ...folders: readonly string[]): Record<string, string> => ({
  ...environmentOf(world),
  PATH: [...folders, SYSTEM_PATH].join(':'),
});

/** `ls` of a folder inside, one line. */
const seen = async (world: World, folder: string, more: Partial<SandboxRequest> = {}) =>
  (await outputOf(world, ['/bin/sh', '-c', `ls -A '${folder}' 2>/dev/null | tr '\\n' ' '`], more)).trim();

boxed(
  'an agent that npm installed in the home runs, with the Node beside it and nothing else of the home',
  async () => {
    const world = makeWorld();
    const prefix = join(world.home, '.nvm/versions/node/v20');
    link(process.execPath, join(prefix, 'bin/node'));
    const packages = join(prefix, 'lib/node_modules');
    program(
      join(packages, '@vendor/agent/cli.js'),
      `#!/usr/bin/env -S node --no-warnings\nconsole.log(require('helper'), require('node:fs').readdirSync(process.env.HOME).join());\n`,
    );
    write(join(packages, 'helper/index.js'), `module.exports = 'helped';\n`);
    link('../lib/node_modules/@vendor/agent/cli.js', join(prefix, 'bin/agent'));
    write(join(world.home, '.nvm/secret'), 'secret\n');
    const env = withPath(world, join(prefix, 'bin'));
    expect(await outputOf(world, ['agent'], { env })).toBe('helped .local,.nvm\n');
    expect(await outputOf(world, [join(prefix, 'bin/agent')], { env })).toBe('helped .local,.nvm\n');
    expect(await outputOf(world, ['/bin/sh', '-c', 'agent'], { env })).toBe('helped .local,.nvm\n');
  },
);

boxed(
  'a program of ~/.local/bin runs from where its link leads, and its neighbours there stay hidden',
  async () => {
    const world = makeWorld();
    const share = join(world.home, '.local/share');
    program(join(share, 'agent/versions/1.2.3'), '#!/bin/sh\necho native\n');
    write(join(share, 'keyrings/login.keyring'), 'secret\n');
    const environment = join(share, 'pipx/venvs/tool');
    program(join(environment, 'bin/tool'), `#!${environment}/bin/python\nunused\n`);
    program(join(environment, 'lib/real-python'), '#!/bin/sh\necho interpreted\n');
    link('../lib/real-python', join(environment, 'bin/python'));
    write(join(environment, 'pyvenv.cfg'), '');
    const bin = join(world.home, '.local/bin');
    link('../share/agent/versions/1.2.3', join(bin, 'agent'));
    link('../share/pipx/venvs/tool/bin/tool', join(bin, 'tool'));
    link('../../.ssh/id', join(bin, 'key'));
    link('../share/keyrings', join(bin, 'keyrings'));
    link('../..', join(bin, 'everything'));
    const env = withPath(world, bin);
    expect(await outputOf(world, ['agent'], { env })).toBe('native\n');
    expect(await outputOf(world, ['tool'], { env })).toBe('interpreted\n');
    expect(await seen(world, share, { env })).toBe('agent pipx');
    expect(await seen(world, world.home, { env })).toBe('.local');
    expect(
      (await inside(world, `cat ${bin}/key ${bin}/keyrings/* ${bin}/everything/.ssh/id`, { env })).stdout,
    ).toBe('');
  },
);

boxed('a version manager is shown with what its launchers need', async () => {
  const world = makeWorld();
  program(join(world.home, '.cargo/bin/cargo'), '#!/bin/sh\nexec "$HOME/.rustup/toolchains/cargo"\n');
  program(join(world.home, '.rustup/toolchains/cargo'), '#!/bin/sh\necho built\n');
  write(join(world.home, '.cargo/credentials.toml'), 'secret\n');
  const env = withPath(world, join(world.home, '.cargo/bin'));
  expect(await outputOf(world, ['cargo'], { env })).toBe('built\n');
  expect(await seen(world, join(world.home, '.cargo'), { env })).toBe('bin');
});

boxed('a PATH that names the home, or more than programs, shows nothing', async () => {
  const world = makeWorld();
  mkdirSync(join(world.home, '.config/tool'), { recursive: true });
  write(join(world.home, '.config/token'), 'secret\n');
  write(join(world.folder, 'private'), 'secret\n');
  const env = withPath(
    world,
    world.home,
    world.folder,
    '/',
    join(world.home, '.config'),
    join(world.home, '.ssh'),
  );
  expect(await seen(world, world.home, { env })).toBe('.local');
  expect(await seen(world, world.folder, { env })).toBe('home manuals repository');
});

boxed('a script that the command names is shown, whatever else lies beside it', async () => {
  const world = makeWorld();
  const script = write(join(world.home, 'agents/agent.js'), `console.log('scripted');\n`);
  write(join(world.home, 'agents/token'), 'secret\n');
  expect(await outputOf(world, ['node', script])).toBe('scripted\n');
  const text = `console.log(require('node:fs').readdirSync(require('node:path').dirname(process.argv[1])).join())`;
  expect(await outputOf(world, ['node', '-e', text, script])).toBe('agent.js\n');
  const helper = write(join(world.folder, 'dist/helper.js'), `console.log('helped');\n`);
  expect(await outputOf(world, ['/bin/sh', '-c', `node ${helper}`], { programs: [dirname(helper)] })).toBe(
    'helped\n',
  );
});

boxed('links on the way to a listed path are there, and a listed link is what it leads to', async () => {
  const world = makeWorld();
  const short = link(world.tree, join(world.state, '320/tree'));
  const file = write(join(world.folder, 'dotfiles/auth.json'), '{}\n');
  const login = link(file, join(world.home, '.agent/auth.json'));
  const text = `pwd -P; cd '${short}' && cat file; echo new >'${login}'; cat '${file}'`;
  const { stdout } = await inside(world, text, { cwd: short, write: [short, world.out, login] });
  expect(stdout).toBe(`${world.tree}\ntree\nnew\n`);
});

boxed('a link that a child made does not show the next one where it leads', async () => {
  const world = makeWorld();
  link(join(world.home, '.ssh'), join(world.tree, 'bin'));
  link(join(world.repository, 'source'), join(world.tree, 'tool'));
  const env = withPath(world, join(world.tree, 'bin'), world.tree);
  expect((await inside(world, 'cat bin/id tool; echo nothing', { env })).stdout).toBe('nothing\n');
  for (const listed of ['bin', 'tool']) {
    const path = join(world.tree, listed);
    expect(() => argvIn(world, ['true'], { read: [path] })).toThrow(
      `\`${path}\` leads out of \`${world.tree}\``,
    );
    expect(() => argvIn(world, ['true'], { write: [world.tree, path] })).toThrow('which children can write');
  }
  chmodSync(join(world.repository, 'source'), 0o755);
  expect(() => argvIn(world, ['./tool'])).toThrow('the sandbox hides the program');
});

boxed('read-only inside of writable, and the other way round', async () => {
  const world = makeWorld();
  mkdirSync(join(world.tree, '.git'));
  mkdirSync(join(world.frozen, 'cache'));
  const text = `echo x >.git/x; echo x >y; echo x >'${world.frozen}/x'; echo x >'${world.frozen}/cache/x'; ls .git . '${world.frozen}/cache'`;
  const { stdout, stderr } = await inside(world, text, {
    read: [join(world.tree, '.git'), world.frozen],
    write: [world.tree, join(world.frozen, 'cache')],
  });
  expect(stdout.split('\n')).toEqual(expect.arrayContaining(['y', 'x']));
  expect(stderr.match(/Read-only file system/g)).toHaveLength(2);
});

boxed('what must be there and is not is said, and nothing is started', () => {
  const world = makeWorld();
  const missing = join(world.folder, 'missing');
  expect(() => argvIn(world, ['true'], { write: [missing] })).toThrow(`\`${missing}\` is to be writable`);
  expect(() => argvIn(world, ['true'], { read: [missing] })).not.toThrow();
  expect(() => argvIn(world, ['no-such-program'])).toThrow('program `no-such-program` was not found');
  expect(() => argvIn(world, ['true'], { cwd: world.repository })).toThrow('hides the working directory');
  expect(() => argvIn(world, ['true'], { write: ['/'] })).toThrow('nothing would be left outside');
});

boxed('nothing of the environment is in the arguments', () => {
  const world = makeWorld();
  const argv = argvIn(world, ['true'], { env: { ...environmentOf(world), API_KEY: 'sk-secret' } });
  expect(argv.join('\n')).not.toMatch(/sk-secret|API_KEY/);
});
