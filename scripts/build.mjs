// node scripts/build.mjs [--types] [--force] [--root DIR]
//
// dist/main.cjs              the whole program, bundled and minified; wrapped so that the launcher compiles it as it is
// dist/main.cjs.map          read for --debug only
// dist/scripted-worker.cjs   the embedded scripted worker, a program of its own
// dist/index.js              the library entry; dependencies stay outside
// dist/orchestrate.cjs       the binary: help and version inside, loads main.cjs for everything else
// dist/types/                declarations, with --types only: they cost seconds
//
// Does nothing when every input and output is as the last build left it. Files appear whole (temp file, rename) and depend on
// the sources alone, so builds that run at the same time write the same bytes over each other.
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
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

const WRAPPER_START = '(function (exports, require, module, __filename, __dirname) {';
const WRAPPER_END = '\n})';
/** Of SHA-256, in hexadecimal digits. */
const DIGEST_LENGTH = 32;

const COMMON = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  write: false,
  metafile: true,
  legalComments: 'none',
  logLevel: 'silent',
};

/** Everything that is bundled besides the launcher. `optional` entries may be missing. */
const ENTRIES = {
  main: {
    entry: 'orchestrator/cli/main.ts',
    format: 'cjs',
    minify: true,
    sourcemap: 'external',
    sourcesContent: false,
  },
  help: { entry: 'orchestrator/cli/help.ts', format: 'cjs' },
  index: { entry: 'orchestrator/index.ts', format: 'esm', packages: 'external', optional: true },
  scripted: { entry: 'workers/scripted/main.ts', format: 'cjs', minify: true, optional: true },
};

async function build() {
  const startedAt = Date.now();
  const { build: bundle } = await import('esbuild');
  const entries = Object.entries(ENTRIES).filter(
    ([, { entry, optional }]) => !optional || existsSync(join(root, entry)),
  );
  const results = await Promise.all(
    entries.map(async ([name, { entry, optional: _, ...how }]) => {
      const result = await bundle({ ...COMMON, ...how, entryPoints: [entry], outfile: `dist/${name}.js` });
      return [name, result];
    }),
  );
  const { main, help, index, scripted } = Object.fromEntries(results);
  const bundled = wrapMain(textOf(main, '.js'));
  const launcher = await bundleLauncher(bundle, { bundled, help: evaluate(textOf(help, '.js')).HELP_TEXT });
  const outputs = [
    ['main.cjs', bundled.text],
    ['main.cjs.map', shiftMap(textOf(main, '.map'))],
    ...(scripted ? [['scripted-worker.cjs', textOf(scripted, '.js')]] : []),
    ...(index ? [['index.js', textOf(index, '.js')]] : []),
    // The launcher last: it names the bundle that it wants.
    ['orchestrate.cjs', textOf(launcher, '.js')],
  ];
  mkdirSync(dist, { recursive: true });
  for (const [name, text] of outputs) writeWhole(join(dist, name), text);
  chmodSync(join(dist, 'orchestrate.cjs'), 0o755);
  const inputs = [...results.map(([, result]) => result), launcher].flatMap(({ metafile }) =>
    Object.keys(metafile.inputs),
  );
  writeStamp(root, {
    startedAt,
    inputs: [...new Set(inputs.map((path) => resolve(root, path))), ...watchedByHand()],
    outputs: outputs.map(([name]) => join(dist, name)),
  });
}

/** Inputs that esbuild does not name, or that may come into being. */
const watchedByHand = () => [
  ...Object.values(ENTRIES).map(({ entry }) => join(root, entry)),
  join(root, 'package.json'),
  join(root, 'tsconfig.json'),
  join(HERE, 'scripts/build.mjs'),
  join(HERE, 'scripts/stamp.mjs'),
];

/** The bundle as an expression that the launcher compiles as it is, behind a comment that names its bytes. */
function wrapMain(code) {
  // The launcher reads it as latin1.
  if (/[^\0-\x7f]/.test(code)) throw new Error('main.cjs is not ASCII');
  const digest = createHash('sha256').update(code).digest('hex').slice(0, DIGEST_LENGTH);
  return { digest, text: `/*${digest}*/${WRAPPER_START}${code}${WRAPPER_END}` };
}

/** Moves the first line's mappings to the right of what `wrapMain` puts before it. */
function shiftMap(text) {
  const map = JSON.parse(text);
  const column = `/**/${WRAPPER_START}`.length + DIGEST_LENGTH;
  const names = {
    version: 3,
    sources: map.sources.map((path) => path.replace(/^(\.\.\/)+/, '')),
    names: map.names,
  };
  return `${JSON.stringify({ version: 3, sections: [{ offset: { line: 0, column }, map: { ...names, mappings: map.mappings } }] })}\n`;
}

function bundleLauncher(bundle, { bundled, help }) {
  if (typeof help !== 'string' || help === '')
    throw new Error('orchestrator/cli/help.ts must export HELP_TEXT');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return bundle({
    ...COMMON,
    entryPoints: [join(HERE, 'launcher/orchestrate.cjs')],
    outfile: 'dist/orchestrate.js',
    format: 'cjs',
    // Parsed by old versions of Node, which then say that they are old.
    target: 'node8',
    minifyWhitespace: true,
    minifySyntax: true,
    define: {
      VERSION: JSON.stringify(version),
      HELP: JSON.stringify(help.endsWith('\n') ? help : `${help}\n`),
      BUNDLE_DIGEST: JSON.stringify(bundled.digest),
    },
  });
}

const textOf = (result, ending) => result.outputFiles.find(({ path }) => path.endsWith(ending)).text;

function evaluate(code) {
  const module = { exports: {} };
  runInNewContext(`${WRAPPER_START}${code}${WRAPPER_END}`)(
    module.exports,
    createRequire(import.meta.url),
    module,
    '',
    '',
  );
  return module.exports;
}

function writeWhole(path, text) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, path);
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
