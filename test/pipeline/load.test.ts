import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { describe, expect, test } from 'vitest';

import { Problem } from '../../orchestrator/model/failure.js';
import { loadPipeline } from '../../orchestrator/pipeline/load.js';
import { createScratch, layeredYaml, loadText, problemsOf } from '../helpers/pipelines.js';

const one = (name: string): string => `name: ${name}\ntargets:\n  ${name}: { command: "true" }\n`;

describe('which file', () => {
  test('the one that was named, else targets.yaml of the root, else the built-in one', async () => {
    const scratch = createScratch();
    scratch.write('package/targets.yaml', one('built-in'));
    expect((await scratch.load()).name).toBe('built-in');
    scratch.write('repo/targets.yaml', one('own'));
    expect((await scratch.load()).name).toBe('own');
    scratch.write('repo/ci/other.yaml', one('other'));
    expect((await scratch.load('ci/other.yaml')).name).toBe('other');
  });

  test('a file that is not there is a problem with the file named', async () => {
    const scratch = createScratch();
    expect(await scratch.problems('nope.yaml')).toEqual([
      {
        file: 'nope.yaml',
        line: 1,
        column: 1,
        message: 'cannot be read: no such file',
        fix: 'check the path, or run `orchestrate init`',
      },
    ]);
  });

  test('what is wrong is thrown as one problem of kind pipeline-invalid with every line of it', async () => {
    const scratch = createScratch();
    scratch.write('repo/targets.yaml', 'name: x\njob: 3\ntargets:\n  a: { comand: x }\n');
    const thrown: unknown = await scratch.load().catch((error: unknown) => error);
    if (!(thrown instanceof Problem)) throw new Error('nothing was thrown');
    expect(thrown.failure.kind).toBe('pipeline-invalid');
    expect(thrown.failure.message).toContain('2 problems in the pipeline, nothing was started\n');
    expect(thrown.failure.message).toContain('targets.yaml:2:1: unknown key `job`');
    expect(thrown.failure.message).toContain('targets.yaml:4:8: unknown key `comand`');
    expect(thrown.failure.next).toContain('orchestrate validate');
  });
});

describe('defaults', () => {
  test('every setting has one', async () => {
    const { settings, targets, workers } = await loadText('targets:\n  a: { command: npm test }\n');
    expect(settings).toEqual({
      tickets: { source: 'file', path: 'tickets/{ticket}.md' },
      remote: 'origin',
      branch: 'orchestrate/{ticket}',
      jobs: 4,
      rounds: 5,
      pillars: ['correctness', 'tests', 'security', 'performance', 'api-compatibility', 'simplicity'],
      env: [],
      sandbox: { mode: 'auto', network: true, read: [], write: [] },
      ignored: [],
    });
    expect(workers).toEqual({});
    expect(targets).toEqual([
      {
        number: 0,
        name: 'a',
        needs: [],
        recipe: { kind: 'command', argv: ['/bin/sh', '-c', 'npm test'] },
        makes: 'files',
        access: 'write',
        inputs: [],
        outputs: [],
        gates: [],
        attempts: 2,
        limits: { idleMs: 600_000, timeoutMs: 3_600_000, graceMs: 5_000 },
        latch: false,
        recipeDigest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      },
    ]);
  });

  test('targets take attempts and limits of the file, each limit by itself, and checks the timeout of their target', async () => {
    const { targets } = await loadText(`attempts: 7
limits: { idle: 90s, timeout: 1.5h }
targets:
  a: { command: [npm, test], gates: [{ check: npm run x }, { check: { run: [y, z], timeout: 250ms } }, { check: { name: n, run: q } }] }
  b: { command: x, attempts: 1, limits: { timeout: 5m } }
`);
    expect(targets[0]).toMatchObject({
      attempts: 7,
      limits: { idleMs: 90_000, timeoutMs: 5_400_000, graceMs: 5_000 },
      recipe: { argv: ['npm', 'test'] },
      gates: [
        { kind: 'check', name: 'npm run x', argv: ['/bin/sh', '-c', 'npm run x'], timeoutMs: 5_400_000 },
        { kind: 'check', name: 'y z', argv: ['y', 'z'], timeoutMs: 250 },
        { kind: 'check', name: 'n', argv: ['/bin/sh', '-c', 'q'], timeoutMs: 5_400_000 },
      ],
    });
    expect(targets[1]).toMatchObject({ attempts: 1, limits: { idleMs: 90_000, timeoutMs: 300_000 } });
  });

  test('access follows from what is made', async () => {
    const { targets } = await loadText(`workers: { w: { adapter: scripted } }
targets:
  ticket: { builtin: ticket }
  plan: { needs: [ticket], worker: w, makes: plan }
  diff: { needs: [plan], worker: w, makes: diff }
  review: { needs: [diff], worker: w, makes: review, gates: [verdict] }
  notes: { needs: [review], worker: w, makes: notes }
  files: { needs: [notes], worker: w, access: none }
`);
    expect(targets.map(({ name, access }) => `${name} ${access}`)).toEqual([
      'ticket write',
      'plan read-only',
      'diff write',
      'review read-only',
      'notes read-only',
      'files none',
    ]);
  });

  test('numbers count the targets that name none, and never collide', async () => {
    const { targets } = await loadText(
      'targets:\n  a: { command: x }\n  b: { command: x, number: 1 }\n  c: { command: x }\n  d: { command: x }\n',
    );
    expect(targets.map(({ number, name }) => `${number} ${name}`)).toEqual(['0 a', '1 b', '2 c', '3 d']);
  });

  test('targets are in topological order, ties by number', async () => {
    const { targets } = await loadText(
      'targets:\n  z: { command: x, needs: [m] }\n  m: { command: x, number: 9 }\n  k: { command: x, number: 3 }\n',
    );
    expect(targets.map(({ name }) => name)).toEqual(['k', 'm', 'z']);
  });
});

describe('foreach', () => {
  test('makes one target an item, replaces {each}, and its name means all of them', async () => {
    const { targets } = await loadText(`targets:
  build: { foreach: [web, api], number: 5, command: "make {each}", inputs: ["{each}/**"], gates: [{ check: "test {each}" }] }
  test: { foreach: [web, api], needs: [build], command: [run, "{each}", "{other}"] }
  all: { needs: [build, test-web, build-web], command: x }
`);
    expect(targets.map(({ number, name, needs }) => `${number} ${name} <- ${needs.join(' ')}`)).toEqual([
      '5 build-web <- ',
      '6 build-api <- ',
      '0 test-web <- build-web build-api',
      '1 test-api <- build-web build-api',
      '2 all <- build-web build-api test-web',
    ]);
    expect(targets[1]).toMatchObject({
      recipe: { argv: ['/bin/sh', '-c', 'make api'] },
      inputs: ['api/**'],
      gates: [{ name: 'test api' }],
    });
    expect(targets[2]).toMatchObject({ recipe: { argv: ['run', 'web', '{other}'] } });
  });

  test('{each} in needs makes lanes', async () => {
    const { targets } = await loadText(
      'targets:\n  a: { foreach: [x, y], command: q }\n  b: { foreach: [x, y], needs: ["a-{each}"], command: q }\n',
    );
    expect(targets.filter(({ name }) => name.startsWith('b')).map(({ needs }) => needs)).toEqual([
      ['a-x'],
      ['a-y'],
    ]);
  });

  test('over pillars makes one critic a pillar', async () => {
    const { targets } = await loadText(`pillars: [tests, security]
workers: { w: { adapter: scripted } }
targets:
  ticket: { builtin: ticket }
  diff: { needs: [ticket], worker: w, makes: diff }
  critic: { foreach: pillars, needs: [diff], worker: w, makes: review, gates: [verdict], onReject: diff }
  commit: { needs: [critic], builtin: commit }
`);
    expect(targets.map(({ name }) => name)).toEqual([
      'ticket',
      'diff',
      'critic-tests',
      'critic-security',
      'commit',
    ]);
    expect(targets.at(-1)?.needs).toEqual(['critic-tests', 'critic-security']);
  });

  test('a problem of a foreach target is said once, not once an item', async () => {
    expect(await problemsOf('targets:\n  a: { foreach: [x, y, z], worker: w }\n')).toHaveLength(1);
  });
});

describe('extends', () => {
  const base = `name: base
jobs: 2
limits: { idle: 1m, timeout: 2m }
tickets: { path: "t/{ticket}.md" }
kernel: refs/kernel.md
workers:
  w: { adapter: command, command: [claude], env: { A: "1", B: "2" }, model: large }
  idle: { adapter: scripted }
targets:
  first: { worker: w, manual: refs/first.md, limits: { idle: 5m, grace: 1s } }
  second: { needs: [first], command: npm test, attempts: 3 }
  third: { needs: [second], command: x }
`;
  const withBase = (own: string) => {
    const scratch = createScratch();
    scratch.write('package/targets.yaml', base);
    scratch.write('package/refs/kernel.md', 'kernel');
    scratch.write('package/refs/first.md', 'manual');
    scratch.write('repo/targets.yaml', own);
    return scratch;
  };

  test('settings merge by key, workers and targets by name, lists are replaced, null drops', async () => {
    const scratch = withBase(`extends: builtin
jobs: 8
limits: { timeout: 9m }
workers: { idle: null, w: { env: { B: "3" } } }
targets:
  first: { limits: { idle: 7m } }
  third: null
  fourth: { needs: [first], command: y }
`);
    const { name, settings, workers, targets, sources } = await scratch.load();
    expect(name).toBe('base');
    expect(settings).toMatchObject({ jobs: 8, tickets: { path: 't/{ticket}.md' } });
    expect(workers).toEqual({
      w: {
        name: 'w',
        adapter: 'command',
        command: ['claude'],
        agents: [],
        args: [],
        sandbox: settings.sandbox,
        env: { A: '1', B: '3' },
        model: 'large',
      },
    });
    expect(targets.map((target) => target.name)).toEqual(['first', 'second', 'fourth']);
    expect(targets[0]?.limits).toEqual({ idleMs: 420_000, timeoutMs: 540_000, graceMs: 1_000 });
    expect(targets[1]).toMatchObject({ attempts: 3, limits: { idleMs: 60_000 } });
    expect(targets[0]?.manual?.path).toBe(join(scratch.packageRoot, 'refs', 'first.md'));
    expect(settings.kernel).toMatchObject({ path: join(scratch.packageRoot, 'refs', 'kernel.md'), bytes: 6 });
    expect(sources.map(({ path }) => path)).toEqual([
      join(scratch.root, 'targets.yaml'),
      ...['targets.yaml', 'refs/kernel.md', 'refs/first.md'].map((path) => join(scratch.packageRoot, path)),
    ]);
  });

  test('`worker: auto` and the name of an agent need no entry under `workers:`, and one of that name is what counts', async () => {
    const { workers } = await loadText(`workers:
  codex: { adapter: codex, model: m }
targets:
  a: { worker: auto }
  b: { worker: claude }
  c: { worker: codex }
  d: { command: x }
`);
    expect(Object.values(workers).map(({ name, adapter, model }) => [name, adapter, model])).toEqual([
      ['auto', 'auto', undefined],
      ['claude', 'claude', undefined],
      ['codex', 'codex', 'm'],
    ]);
  });

  test('a worker takes of the rule of the pipeline what it does not say itself', async () => {
    const { settings, workers } = await loadText(`sandbox: { mode: required, read: [~/.m2] }
workers:
  a: { adapter: auto }
  b: { adapter: auto, sandbox: off }
  c: { adapter: auto, sandbox: { network: off } }
targets: { t: { command: x } }
`);
    expect(settings.sandbox).toEqual({ mode: 'required', network: true, read: ['~/.m2'], write: [] });
    expect(workers['a']?.sandbox).toEqual(settings.sandbox);
    expect(workers['b']?.sandbox).toEqual({ ...settings.sandbox, mode: 'off' });
    expect(workers['c']?.sandbox).toEqual({ ...settings.sandbox, network: false });
  });

  test('another recipe replaces the old one, and another adapter is another worker', async () => {
    const { targets, workers, settings } = await withBase(`extends: builtin
workers: { w: { adapter: scripted, label: not a model }, idle: null }
targets: { second: { worker: w } }
`).load();
    expect(workers['w']).toEqual({
      name: 'w',
      adapter: 'scripted',
      command: [],
      agents: [],
      args: [],
      sandbox: settings.sandbox,
      env: {},
      label: 'not a model',
    });
    expect(targets[1]).toMatchObject({ recipe: { kind: 'worker', worker: 'w' }, attempts: 3 });
  });

  test('manuals are relative to the file that names them', async () => {
    const scratch = withBase('extends: builtin\ntargets: { first: { manual: own.md } }\n');
    scratch.write('repo/own.md', 'mine');
    expect((await scratch.load()).targets[0]?.manual?.path).toBe(join(scratch.root, 'own.md'));
  });

  test('a problem is placed in the file that wrote it', async () => {
    const scratch = withBase('extends: builtin\ntargets:\n  third: { needs: [secnd] }\n');
    scratch.write('package/refs/first.md', 'm'.repeat(46_081));
    expect(
      (await scratch.problems()).map(({ file, line, column, fix }) => ({ file, line, column, fix })),
    ).toEqual([
      {
        file: join(scratch.packageRoot, 'targets.yaml'),
        line: 10,
        column: 31,
        fix: 'shorten it, or split it over two targets',
      },
      { file: 'targets.yaml', line: 3, column: 20, fix: 'did you mean `second`?' },
    ]);
  });

  test('needing what was dropped, and dropping what is not there, are problems', async () => {
    const scratch = withBase('extends: builtin\ntargets:\n  second: null\n  thrid: null\n');
    expect(
      (await scratch.problems()).map(({ file, line, message, fix }) => [
        file === 'targets.yaml' ? line : 'base',
        message,
        fix,
      ]),
    ).toEqual([
      ['base', '`third` needs `second`, which is dropped with null', 'name another target, or keep `second`'],
      [4, '`targets.thrid` is empty, and there is none in an extended file to drop', 'did you mean `third`?'],
    ]);
  });

  test('a chain may be longer than two, by paths relative to each file', async () => {
    const scratch = withBase('extends: config/middle.yaml\njobs: 9\n');
    scratch.write('repo/config/middle.yaml', 'extends: ../config/low.yaml\nrounds: 3\n');
    scratch.write('repo/config/low.yaml', `rounds: 2\n${one('low')}`);
    expect(await scratch.load()).toMatchObject({ name: 'low', settings: { jobs: 9, rounds: 3 } });
  });

  test('a circle and a missing base are problems at the word `extends`', async () => {
    const scratch = withBase('name: a\nextends: b.yaml\n');
    expect(await scratch.problems()).toMatchObject([
      {
        file: 'targets.yaml',
        line: 2,
        column: 10,
        message: expect.stringContaining('b.yaml:1:1: cannot be read: no such file'),
      },
    ]);
    scratch.write('repo/b.yaml', 'extends: ./targets.yaml\n');
    expect(await scratch.problems()).toMatchObject([
      {
        file: 'b.yaml',
        line: 1,
        column: 10,
        message: '`extends` goes in a circle: targets.yaml -> b.yaml -> targets.yaml',
      },
    ]);
    scratch.write('package/targets.yaml', 'extends: builtin\n');
    expect(await scratch.problems(join(scratch.packageRoot, 'targets.yaml'))).toMatchObject([
      { message: expect.stringContaining('`extends` goes in a circle') },
    ]);
  });

  test('problems of all files come in one report', async () => {
    const scratch = withBase('extends: b.yaml\njbos: 1\n');
    scratch.write('repo/b.yaml', 'targets:\n  a: { comand: x }\n');
    expect((await scratch.problems()).map(({ file, line }) => `${file}:${line}`)).toEqual([
      'b.yaml:2',
      'targets.yaml:2',
    ]);
  });
});

test('10,000 targets in 100 layers load whole, in order, with their edges', async () => {
  const { targets } = await loadText(layeredYaml(100, 100));
  expect(targets).toHaveLength(10_000);
  expect(targets.map(({ number }) => number)).toEqual(Array.from({ length: 10_000 }, (_, at) => at));
  expect(targets.at(-1)).toMatchObject({ name: 't-99-99', needs: ['t-98-99', 't-98-0', 't-98-6'] });
  expect(new Set(targets.map(({ recipeDigest }) => recipeDigest)).size).toBe(10_000);
});

test('a chain of 5,000 targets, each naming an unknown one, reports 5,000 problems', async () => {
  const lines = Array.from({ length: 5_000 }, (_, at) => `  t${at}: { command: x, needs: [u${at}] }`);
  expect(await problemsOf(`targets:\n${lines.join('\n')}\n`)).toHaveLength(5_000);
});

/** Files that a module loads at once: its static imports, and theirs. */
const staticImports = (file: string, seen = new Set<string>()): ReadonlySet<string> => {
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [whole, names = '', from = ''] of text.matchAll(/^import ([^;]*?) from '([^']+)';/gms)) {
    if (names.startsWith('type ') || whole.startsWith('import type')) continue;
    const path = from.startsWith('.') ? resolve(dirname(file), from.replace(/\.js$/, '.ts')) : from;
    if (!from.startsWith('.')) seen.add(path);
    else if (!seen.has(path)) staticImports(path, seen);
  }
  return seen;
};

test.each(['load.ts', 'graph.ts', 'render.ts'])('%s loads no package before it is needed', (file) => {
  const all = [...staticImports(join(import.meta.dirname, '..', '..', 'orchestrator', 'pipeline', file))];
  expect(all.filter((path) => !path.startsWith('/') && !path.startsWith('node:'))).toEqual([]);
  expect(all.length).toBeGreaterThan(file === 'graph.ts' ? 0 : 3);
});

test('loading without a cache folder leaves no file behind and works twice', async () => {
  const scratch = createScratch();
  scratch.write('repo/targets.yaml', one('a'));
  const request = { root: scratch.root, packageRoot: scratch.packageRoot };
  expect(await loadPipeline(request)).toEqual(await loadPipeline(request));
});
