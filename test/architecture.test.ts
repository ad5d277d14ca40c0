import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { cruise, type ICruiseOptions, type ICruiseResult, type IModule } from 'dependency-cruiser';
import extractDepcruiseConfig from 'dependency-cruiser/config-utl/extract-depcruise-options';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const FOLDERS = ['orchestrator', 'workers'];

const look = async (root: string, folders: readonly string[]): Promise<ICruiseResult> => {
  const options: ICruiseOptions = await extractDepcruiseConfig(join(ROOT, '.dependency-cruiser.mjs'));
  const { output } = await cruise([...folders], { ...options, baseDir: root });
  if (typeof output === 'string') throw new Error(output);
  return output;
};

const violationsOf = (result: ICruiseResult): readonly string[] =>
  result.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);

describe('this repository', () => {
  let result: ICruiseResult;
  beforeAll(async () => {
    result = await look(ROOT, FOLDERS);
  });

  test('imports only what the table allows', () => {
    expect(violationsOf(result)).toEqual([]);
  });

  test('was really looked at', () => {
    const own = result.modules.filter(({ source }) => FOLDERS.includes(source.split('/', 1)[0] ?? ''));
    // A checker that resolves nothing finds nothing and passes.
    expect(own.length).toBeGreaterThanOrEqual(30);
    expect(
      own.flatMap(({ dependencies }) => dependencies).filter(({ resolved }) => resolved.endsWith('.ts'))
        .length,
    ).toBeGreaterThan(30);
  });

  test.each([
    // Not xstate: whoever looks at a run replays its journal through the machine.
    ['orchestrator/cli/main.ts', ['yaml', 'zod', 'execa', 'picomatch', 'p-limit']],
    ['orchestrator/commands/run.ts', ['yaml', 'zod', 'execa', 'picomatch']],
  ])(
    'starting %s loads none of %j: those come by `await import` where they are needed',
    (entry, packages) => {
      const loaded = staticImports(result.modules, entry);
      expect([...loaded.keys()]).toContain('orchestrator/model/failure.ts');
      const heavy = [...loaded].filter(([path]) =>
        packages.some((name) => path.startsWith(`node_modules/${name}/`)),
      );
      expect(heavy.map(([path, importer]) => `${importer} -> ${path}`)).toEqual([]);
    },
  );
});

/** Everything that is evaluated when `entry` is, types apart; each with the module that imports it. */
const staticImports = (modules: readonly IModule[], entry: string): Map<string, string> => {
  const bySource = new Map(modules.map((module) => [module.source, module]));
  const seen = new Map([[entry, '']]);
  for (const path of seen.keys()) {
    for (const { resolved, dynamic, dependencyTypes } of bySource.get(path)?.dependencies ?? []) {
      const evaluated = !dynamic && !dependencyTypes.includes('type-only');
      if (evaluated && !seen.has(resolved)) seen.set(resolved, path);
    }
  }
  return seen;
};

describe('a planted violation', () => {
  const root = mkdtempSync(join(tmpdir(), 'forkwait-planted-'));
  const plant = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  let violations: readonly string[];

  beforeAll(async () => {
    plant('tsconfig.json', '{ "compilerOptions": { "module": "NodeNext", "moduleResolution": "NodeNext" } }');
    plant('orchestrator/state/files.ts', 'export const a = 1;');
    plant('orchestrator/model/up.ts', "import { a } from '../state/files.js'; export const b = a;");
    plant(
      'orchestrator/model/type-up.ts',
      "import type { a } from '../state/files.js'; export type A = typeof a;",
    );
    plant('orchestrator/machine/dynamic-up.ts', "export const c = () => import('../state/files.js');");
    plant('orchestrator/model/one.ts', "import { two } from './two.js'; export const one = () => two;");
    plant('orchestrator/model/two.ts', "import { one } from './one.js'; export const two = () => one;");
    plant(
      'orchestrator/gates/disk.ts',
      "import { readFileSync } from 'node:fs'; export const d = readFileSync;",
    );
    plant('orchestrator/commands/spawn.ts', "import { spawn } from 'child_process'; export const e = spawn;");
    plant('orchestrator/git/tested.ts', "import { f } from '../../test/helper.js'; export const g = f;");
    plant('test/helper.ts', 'export const f = 1;');
    plant('orchestrator/odd/new.ts', "import { a } from '../state/files.js'; export const h = a;");
    plant('orchestrator/git/gone.ts', "export { x } from './nothing.js';");
    plant('workers/command.ts', "import { a } from '../orchestrator/state/files.js'; export const i = a;");
    plant('workers/scripted/main.ts', "import { spawn } from 'node:child_process'; export const j = spawn;");
    plant('orchestrator/git/git.ts', "import { spawn } from 'node:child_process'; export const k = spawn;");
    violations = violationsOf(await look(root, ['orchestrator', 'workers']));
  });
  afterAll(() => {
    rmSync(root, { recursive: true, force: true });
  });

  test.each([
    'model-imports: orchestrator/model/up.ts -> orchestrator/state/files.ts',
    'model-imports: orchestrator/model/type-up.ts -> orchestrator/state/files.ts',
    'machine-imports: orchestrator/machine/dynamic-up.ts -> orchestrator/state/files.ts',
    'no-cycles: orchestrator/model/one.ts -> orchestrator/model/two.ts',
    'only-these-touch-the-disk: orchestrator/gates/disk.ts -> fs',
    'only-process-and-git-spawn: orchestrator/commands/spawn.ts -> child_process',
    'shipped-code-without-tests: orchestrator/git/tested.ts -> test/helper.ts',
    'no-unknown-folder: orchestrator/odd/new.ts -> orchestrator/state/files.ts',
    'everything-resolves: orchestrator/git/gone.ts -> ./nothing.js',
    'workers-imports: workers/command.ts -> orchestrator/state/files.ts',
  ])('is found: %s', (violation) => {
    expect(violations).toContain(violation);
  });

  test('is the only thing that is found', () => {
    expect(violations.filter((text) => /scripted\/main|git\/git\.ts/.test(text))).toEqual([]);
  });
});
