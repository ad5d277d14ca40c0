import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BuiltProject } from '../helpers/built-project.js';

let project: BuiltProject;
beforeEach(() => {
  project = new BuiltProject();
});
afterEach(() => {
  project.remove();
});

const withMain = async (body: string, imports?: string): Promise<void> => {
  project.writeMain(body, imports);
  await project.build();
};

describe('what needs no bundle', () => {
  let built: BuiltProject;
  beforeAll(async () => {
    built = new BuiltProject();
    await built.build();
    rmSync(join(built.root, 'dist/main.cjs'));
  });
  afterAll(() => {
    built.remove();
  });

  test.each([
    [['--version'], '9.8.7\n'],
    [['-v'], '9.8.7\n'],
    [['--help'], 'usage: orchestrate COMMAND\n'],
    [['-h'], 'usage: orchestrate COMMAND\n'],
    [[], 'usage: orchestrate COMMAND\n'],
  ])('%j is answered by the launcher alone', async (args, stdout) => {
    expect(await built.run(args)).toEqual({ code: 0, stdout, stderr: '' });
  });

  test.each(['18.20.8', '20.18.3', '8.0.0'])(
    'Node %s is refused with what to do, before anything else',
    async (version) => {
      const preload = `Object.defineProperty(process, 'versions', { value: { node: '${version}' } });`;
      built.write(`node-${version}.cjs`, preload);
      const ended = await built.run(['--version'], ['--require', join(built.root, `node-${version}.cjs`)]);
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toContain(`Node 20.19 or newer is needed, this is ${version}`);
      expect(ended.stderr).toContain('next: ');
    },
  );

  test('the launcher asks for nothing newer than Node 8 before it has looked at the version', () => {
    const text = readFileSync(built.cli, 'utf8');
    expect(text.startsWith('#!/usr/bin/env node\n')).toBe(true);
    expect(text).not.toMatch(/\?\?|\?\.[a-z]|catch\{|#[a-z]+[;=(]|require\("node:/);
  });

  test('a reader that has gone is no error', async () => {
    project.write('orchestrator/cli/help.ts', "export const HELP_TEXT = 'line of help\\n'.repeat(100_000);");
    await project.build();
    const child = spawn(process.execPath, [project.cli, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (chunk) => (stderr += String(chunk)));
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(stderr).toBe('');
  });
});

describe('the bundle', () => {
  test('gets the arguments and the root of the package; what it returns is the exit status', async () => {
    await withMain('process.stdout.write(JSON.stringify([argv, options])); return 3;');
    const { code, stdout } = await project.run(['status', '--ticket', '7', '--help']);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toEqual([
      ['status', '--ticket', '7', '--help'],
      { packageRoot: project.root },
    ]);
  });

  test('evaluates what it imports dynamically only when it gets there', async () => {
    project.write('orchestrator/cli/heavy.ts', "process.stdout.write('heavy'); export const heavy = 1;");
    await withMain("if (argv[0] === 'run') await import('./heavy.js'); return 0;");
    expect((await project.run(['status'])).stdout).toBe('');
    expect((await project.run(['run'])).stdout).toBe('heavy');
  });

  test('loads slow modules of Node at their first use', async () => {
    const imports = "import { createHash } from 'node:crypto'; import { spawn } from 'node:child_process';";
    await withMain(
      `const before = process.moduleLoadList.filter((name) => /NativeModule (crypto|child_process)$/.test(name));
      process.stdout.write(JSON.stringify([before, createHash('sha256').update('').digest('hex').slice(0, 8), typeof spawn]));
      return 0;`,
      imports,
    );
    expect(JSON.parse((await project.run(['status'])).stdout)).toEqual([[], 'e3b0c442', 'function']);
  });

  test('a megabyte to a slow reader arrives whole', async () => {
    await withMain("process.stdout.write('x'.repeat(1_000_000)); process.stdout.write('end'); return 0;");
    const { stdout } = await project.run(['status']);
    expect(stdout.length).toBe(1_000_003);
    expect(stdout.endsWith('xend')).toBe(true);
  });
});

describe('what nobody expected', () => {
  test.each([
    ['a rejection', "throw new Error('boom\\nsecond line');"],
    [
      'an error in a callback',
      "setTimeout(() => { throw new Error('boom'); }); return new Promise(() => {});",
    ],
    ['a promise that nobody awaits', "void Promise.reject(new Error('boom')); return new Promise(() => {});"],
    ['something that is no Error', "throw 'boom';"],
  ])('%s is one line and exit status 1', async (_, body) => {
    await withMain(body);
    const { code, stdout, stderr } = await project.run(['run']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe('orchestrate: unexpected error: boom (`--debug` shows where)\n');
  });

  test('`--debug` shows the stack, in terms of the source', async () => {
    await withMain("const fail = () => { throw new Error('boom'); };\n  fail();\n  return 0;");
    const { code, stderr } = await project.run(['run', '--debug']);
    expect(code).toBe(1);
    expect(stderr).toContain('unexpected error: Error: boom');
    expect(stderr).toMatch(/orchestrator\/cli\/main\.ts:3:\d+/);
    expect(stderr).not.toContain('main.cjs');
  });
});

describe('the code cache', () => {
  const caches = (): readonly string[] => readdirSync(project.cacheFolder).toSorted();
  const onlyCache = (): string => {
    const [name = '', ...others] = caches();
    expect(others).toEqual([]);
    return join(project.cacheFolder, name);
  };
  const say = (text: string): Promise<void> => withMain(`process.stdout.write('${text}'); return 0;`);

  test('is written by the first two runs of a command and used afterwards', async () => {
    await say('one');
    await project.run(['status']);
    expect(onlyCache()).toMatch(/-status-first\.bin$/);
    await project.run(['status']);
    expect(onlyCache()).toMatch(/-status\.bin$/);
    const before = statSync(onlyCache(), { bigint: true });
    expect(await project.run(['status'])).toEqual({ code: 0, stdout: 'one', stderr: '' });
    expect(statSync(onlyCache(), { bigint: true })).toMatchObject({
      ino: before.ino,
      mtimeNs: before.mtimeNs,
    });
    await project.run(['run']);
    expect(caches().length).toBe(2);
  });

  test("lies in a folder of one's own", async () => {
    await say('one');
    await project.run(['status']);
    expect(statSync(project.home).mode & 0o777).toBe(0o700);
    expect(statSync(project.cacheFolder).mode & 0o777).toBe(0o700);
    expect(statSync(onlyCache()).mode & 0o777).toBe(0o600);
  });

  test('of a bundle that has changed is not used, even when the length is the same', async () => {
    await say('one');
    await project.run(['status']);
    await say('two');
    expect((await project.run(['status'])).stdout).toBe('two');
    expect(caches().length).toBe(2);
  });

  test('is left alone when the bundle is not the one that the launcher was built with', async () => {
    await say('one');
    const bundle = join(project.root, 'dist/main.cjs');
    const old = readFileSync(project.cli);
    await say('two');
    writeFileSync(project.cli, old);
    expect(readFileSync(bundle, 'utf8')).toContain('two');
    expect((await project.run(['status'])).stdout).toBe('two');
    expect(() => caches()).toThrow('ENOENT');
  });

  test('grows in the second run by what the first one had no use for', async () => {
    const many = Array.from({ length: 200 }, (_, index) => `() => [${index}, 'text ${index}']`).join(', ');
    await withMain(
      `const all = [${many}]; return argv.includes('--all') ? all.map((each) => each()).length - 200 : 0;`,
    );
    await project.run(['status']);
    const { size } = statSync(onlyCache());
    await project.run(['status', '--all']);
    expect(statSync(onlyCache()).size).toBeGreaterThan(size + 10_000);
  });

  test.each([
    ['that is no code', (path: string) => writeFileSync(path, 'rubbish')],
    ['that is cut short', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 900))],
    ['that is empty', (path: string) => writeFileSync(path, '')],
    ['that others may write', (path: string) => chmodSync(path, 0o666)],
  ])('%s is made again', async (_, spoil) => {
    await say('one');
    await project.run(['status']);
    await project.run(['status']);
    const path = onlyCache();
    const good = statSync(path);
    spoil(path);
    await project.run(['status']);
    expect(await project.run(['status'])).toEqual({ code: 0, stdout: 'one', stderr: '' });
    expect(statSync(onlyCache()).ino).not.toBe(good.ino);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('of a heavy package is written when the package is first needed, and used from then on', async () => {
    await withMain("return argv[0] === 'run' ? (await import('yaml')).parse('5') : 0;");
    expect((await project.run(['status'])).code).toBe(0);
    expect(caches().length).toBe(1);
    expect((await project.run(['run'])).code).toBe(5);
    expect((await project.run(['run'])).code).toBe(5);
    const before = caches().map((name) => statSync(join(project.cacheFolder, name)).ino);
    expect(before.length).toBe(3);
    expect((await project.run(['run'])).code).toBe(5);
    expect(caches().map((name) => statSync(join(project.cacheFolder, name)).ino)).toEqual(before);
  });

  test('that cannot be written is done without', async () => {
    await say('one');
    for (const home of ['/dev/null/x', '/proc/x']) {
      const child = spawn(process.execPath, [project.cli, 'status'], {
        env: { ...process.env, ORCHESTRATE_HOME: home },
      });
      expect(await once(child, 'close')).toEqual([0, null]);
    }
  });

  test('is stored early by a run that lasts', async () => {
    await withMain(`
      const fs = process.getBuiltinModule('node:fs');
      while (!fs.existsSync('${project.cacheFolder}') || !fs.readdirSync('${project.cacheFolder}').some((name) => name.endsWith('.bin')))
        await new Promise((settle) => setTimeout(settle, 20));
      return 7;`);
    expect((await project.run(['run'])).code).toBe(7);
  });
});

describe('a program in several bundles', () => {
  const THING = 'export class Thing {}\nexport const count = { now: 0 };\n';
  /** `run` needs one module more, `graph` another; all of them share a third. */
  const build = async (): Promise<void> => {
    project.write('orchestrator/model/thing.ts', THING);
    project.write(
      'orchestrator/commands/run.ts',
      "import { count } from '../model/thing.js';\nexport const run = async () => { count.now += 1; return (await import('../effects/make.js')).make(); };\n",
    );
    project.write(
      'orchestrator/effects/make.ts',
      "import { Thing, count } from '../model/thing.js';\nexport const make = () => { count.now += 1; return new Thing(); };\n",
    );
    project.write(
      'orchestrator/commands/graph.ts',
      "import { make } from '../effects/make.js';\nexport const graph = () => { make();\n  throw new Error('boom'); };\n",
    );
    await withMain(
      `if (argv[0] === 'graph') return (await import('../commands/graph.js')).graph();
       if (argv[0] !== 'run') return 0;
       const made = await (await import('../commands/run.js')).run();
       return made instanceof Thing ? count.now : 99;`,
      "import { Thing, count } from '../model/thing.js';",
    );
  };
  const bundles = (): readonly string[] =>
    readdirSync(join(project.root, 'dist')).filter((name) => name.endsWith('.cjs'));

  test('has each module once, and loads what a command needs', async () => {
    await build();
    expect(bundles().toSorted()).toEqual(['main.cjs', 'orchestrate.cjs', 'tools.cjs', 'work.cjs']);
    expect((await project.run(['run'])).code).toBe(2);
    for (const name of ['tools.cjs', 'work.cjs']) rmSync(join(project.root, 'dist', name));
    expect((await project.run(['status'])).code).toBe(0);
    expect((await project.run(['run'])).code).toBe(1);
  });

  test('names the sources of all of them with `--debug`', async () => {
    await build();
    const { stderr } = await project.run(['graph', '--debug']);
    expect(stderr).toMatch(/orchestrator\/commands\/graph\.ts:3:\d+/);
    expect(stderr).toMatch(/orchestrator\/cli\/main\.ts:\d+:\d+/);
  });

  test('that was replaced while it ran says so, and mixes no versions', async () => {
    await build();
    const old = ['main.cjs', 'orchestrate.cjs'].map(
      (name) => [name, readFileSync(join(project.root, 'dist', name))] as const,
    );
    project.write('orchestrator/model/thing.ts', `${THING}export const more = 1;\n`);
    project.write(
      'orchestrator/effects/make.ts',
      "import { more } from '../model/thing.js';\nexport const make = () => more;\n",
    );
    await project.build();
    for (const [name, bytes] of old) writeFileSync(join(project.root, 'dist', name), bytes);
    const { code, stderr } = await project.run(['run']);
    expect(code).toBe(1);
    expect(stderr).toContain('the program was replaced while it ran; run the command again');
  });

  test('takes away a bundle that nothing is left for', async () => {
    await build();
    await withMain('return 0;');
    rmSync(join(project.root, 'orchestrator/commands'), { recursive: true });
    await project.build();
    expect(bundles().toSorted()).toEqual(['main.cjs', 'orchestrate.cjs']);
  });
});
