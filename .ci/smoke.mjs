// npm run smoke: packs the package, installs the tarball in an empty folder, and uses it from there as a stranger would:
// without a git identity, without a state home, without standard input.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const NEEDED = [
  'dist/hostile-worker.cjs',
  'dist/index.js',
  'dist/main.cjs',
  'dist/orchestrate.cjs',
  'dist/scripted-worker.cjs',
  'dist/types/orchestrator/index.d.ts',
  'references/00_kernel.md',
  'targets.yaml',
  'targets.schema.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'package.json',
];
const UNWANTED = /(^|\/)(test|bench|scripts|node_modules)\/|\.ts$(?<!\.d\.ts)|\.tgz$/;

const dir = mkdtempSync(join(tmpdir(), 'orchestrate-smoke-'));
const app = join(dir, 'app');
const env = {
  ...process.env,
  ORCHESTRATE_HOME: join(dir, 'home'),
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
};

const run = (program, args, cwd) =>
  execFileSync(program, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

const assert = (condition, message) => {
  if (!condition) throw new Error(message);
};

const pack = () => {
  // Its own lines come before the JSON: what `prepack` prints.
  const output = run('npm', ['pack', '--json', '--pack-destination', dir], ROOT);
  const [{ filename, files, size }] = JSON.parse(output.slice(output.search(/^\[/m)));
  const paths = files.map(({ path }) => path);
  const missing = NEEDED.filter((path) => !paths.includes(path));
  assert(missing.length === 0, `not in the package: ${missing.join(', ')}`);
  const unwanted = paths.filter((path) => UNWANTED.test(path));
  assert(unwanted.length === 0, `in the package, but should not be: ${unwanted.join(', ')}`);
  console.log(`ok pack: ${filename}, ${paths.length} files, ${Math.round(size / 1024)} KiB`);
  return join(dir, filename);
};

const install = (tarball) => {
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "private": true }\n');
  run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--silent', tarball], app);
  console.log('ok install in an empty folder');
};

const use = () => {
  const orchestrate = (...args) => run(join(app, 'node_modules/.bin/orchestrate'), args, app);
  const printed = orchestrate('--version').trim();
  assert(printed === version, `--version printed ${printed}, not ${version}`);
  assert(orchestrate('--help').includes('orchestrate'), '--help printed nothing');
  console.log(`ok orchestrate --version: ${printed}`);
  const library = `import(${JSON.stringify(name)}).then((all) => console.log(Object.keys(all).length))`;
  const exported = Number(run(process.execPath, ['-e', library], app));
  assert(exported > 0, 'the library exports nothing');
  console.log(`ok import '${name}': ${exported} exports`);
  const start = performance.now();
  const demo = orchestrate('demo');
  assert(demo.includes('orchestrate -C'), `demo did not say where to look next:\n${demo}`);
  const again = /orchestrate -C (\S+) status/.exec(demo)?.[1];
  console.log(`ok orchestrate demo: ${((performance.now() - start) / 1_000).toFixed(1)} s`);
  return again;
};

let sample;
try {
  install(pack());
  sample = use();
} catch (error) {
  console.error(`smoke: ${error.message}${error.stdout ? `\n${error.stdout}` : ''}`);
  process.exitCode = 1;
} finally {
  rmSync(dir, { recursive: true, force: true });
  if (sample?.startsWith(tmpdir())) rmSync(dirname(sample), { recursive: true, force: true });
}
