// node .ci/build.mjs [--types] [--force] [--root DIR]
//
// dist/main.cjs              what every command needs, bundled and minified; wrapped so that the launcher compiles it as it is
// dist/core.cjs, work.cjs, tools.cjs   the rest of the program, loaded when it is needed: see groups.mjs
// dist/*.cjs.map             read for --debug only
// dist/vendor/NAME.cjs       heavy packages, wrapped likewise, loaded when they are needed
// dist/scripted-worker.cjs   the embedded scripted worker, a program of its own
// dist/hostile-worker.cjs    what `attack` puts in the place of every worker, likewise
// dist/index.js              the library entry; dependencies stay outside
// dist/orchestrate.cjs       the binary: help and version inside, loads main.cjs for everything else
// dist/types/                declarations, with --types only: they cost seconds
//
// Does nothing when every input and output is as the last build left it. Files appear whole (temp file, rename) and depend on
// the sources alone, so builds that run at the same time write the same bytes over each other.
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { isUpToDate, writeStamp } from './stamp.mjs';

const HERE = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: {
    types: { type: 'boolean' },
    force: { type: 'boolean' },
    root: { type: 'string', default: HERE },
  },
});
const root = resolve(options.root);
const dist = join(root, 'dist');

async function build() {
  const startedAt = Date.now();
  // Not at the top: esbuild takes longer to load than a build that has nothing to do.
  const { ENTRIES, bundleAll } = await import('./bundles.mjs');
  const { texts, inputs } = await bundleAll(root, join(HERE, 'orchestrator/launcher/orchestrate.cjs'));
  const wanted = texts.map(([name]) => join(dist, name));
  for (const folder of [dist, join(dist, 'vendor')]) removeOthers(folder, wanted);
  // The launcher comes last: it names the bytes that it wants.
  for (const [name, text] of texts) writeWhole(join(dist, name), text);
  chmodSync(join(dist, 'orchestrate.cjs'), 0o755);
  // What esbuild does not name, or what may come into being.
  const byHand = [
    ...Object.values(ENTRIES).map(({ entry }) => join(root, entry)),
    ...['package.json', 'tsconfig.json'].map((name) => join(root, name)),
    ...['build', 'bundles', 'groups', 'stamp'].map((name) => join(HERE, '.ci', `${name}.mjs`)),
  ];
  writeStamp(root, {
    startedAt,
    inputs: [...new Set([...inputs.map((path) => resolve(root, path)), ...byHand])],
    outputs: texts.map(([name]) => join(dist, name)),
  });
}

function writeWhole(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}

/** What is no longer made must not be packed. */
function removeOthers(folder, wanted) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (/\.cjs(?:\.map)?$/.test(name) && !wanted.includes(path)) rmSync(path, { force: true });
  }
}

async function declarations() {
  rmSync(join(dist, 'types'), { recursive: true, force: true });
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], { cwd: root });
}

try {
  const types = options.types ? declarations() : undefined;
  if (options.force || !isUpToDate(root)) await build();
  await types;
} catch (error) {
  console.error(`build: ${error.message}${error.stdout ? `\n${error.stdout}` : ''}`);
  process.exitCode = 1;
}
