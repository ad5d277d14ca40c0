// The texts of dist/, made by esbuild. Nothing is written here.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';
import { entryOf, groupModules, otherGroups } from './groups.mjs';

/**
 * Packages with a bundle of their own, `dist/vendor/NAME.cjs`, loaded when they are first required: a run that finds everything
 * up to date then neither reads them nor unpacks their code cache (4 of 10 ms, measured).
 */
const VENDORS = ['yaml', 'zod', 'execa', 'picomatch', 'xstate'];

const WRAPPER_START = '(function (exports, require, module, __filename, __dirname) {';
const WRAPPER_END = '\n})';
/** Of SHA-256, in hexadecimal digits. */
const DIGEST_LENGTH = 32;

const COMMON = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  write: false,
  metafile: true,
  legalComments: 'none',
  logLevel: 'silent',
};

/** The program, in one or more bundles (groups.mjs). */
const PROGRAM = {
  ...COMMON,
  format: 'cjs',
  minify: true,
  external: VENDORS,
  // Else `import('execa')` would bypass the launcher's `require` and look for an installed package.
  supported: { 'dynamic-import': false },
};

/** Entry points; those with `optional` may be missing. */
export const ENTRIES = {
  help: { entry: 'orchestrator/cli/help.ts', format: 'cjs' },
  index: { entry: 'orchestrator/index.ts', format: 'esm', packages: 'external', optional: true },
  scripted: { entry: 'workers/scripted/main.ts', format: 'cjs', minify: true, optional: true },
  hostile: { entry: 'workers/hostile/main.ts', format: 'cjs', minify: true, optional: true },
};

/**
 * @param {string} root of the package to build
 * @param {string} launcher entry of the launcher
 * @returns the texts by their names in dist/, the launcher last, and the paths of all inputs relative to the root
 */
export async function bundleAll(root, launcher) {
  const entries = Object.entries(ENTRIES).filter(
    ([, { entry, optional }]) => !optional || existsSync(join(root, entry)),
  );
  const [program, results] = await Promise.all([
    bundleProgram(root),
    Promise.all(entries.map(async ([name, options]) => [name, await bundleEntry(root, name, options)])).then(
      Object.fromEntries,
    ),
  ]);
  const vendors = await Promise.all(vendorsOf(program).map((name) => bundleVendor(root, name)));
  const scripts = [
    ...program.map(({ name, result }) => wrap(`${name}.cjs`, textOf(result, '.js'))),
    ...vendors.map(({ name, result }) => wrap(`vendor/${name}.cjs`, textOf(result, '.js'))),
  ];
  const help = evaluate(textOf(results.help, '.js')).HELP_TEXT;
  const digests = Object.fromEntries(scripts.map(({ file, digest }) => [file, digest]));
  const bin = await bundleLauncher(root, { launcher, help, digests });
  const texts = [
    ...scripts.map(({ file, text }) => [file, text]),
    ...program.map(({ name, result }) => [`${name}.cjs.map`, shiftMap(textOf(result, '.map'))]),
    ...(results.scripted ? [['scripted-worker.cjs', textOf(results.scripted, '.js')]] : []),
    ...(results.hostile ? [['hostile-worker.cjs', textOf(results.hostile, '.js')]] : []),
    ...(results.index ? [['index.js', textOf(results.index, '.js')]] : []),
    ['orchestrate.cjs', textOf(bin, '.js')],
  ];
  const all = [...Object.values(results), ...[...program, ...vendors].map(({ result }) => result), bin];
  const inputs = all.flatMap(({ metafile }) => Object.keys(metafile.inputs)).filter((path) => path !== STDIN);
  return { texts, inputs };
}

/** How esbuild names a text that is no file. */
const STDIN = '<stdin>';

async function bundleProgram(root) {
  const { groups, groupOf } = await groupModules(root, PROGRAM);
  return Promise.all(
    groups.map(async (group) => {
      const { name } = group;
      const result = await build({
        ...PROGRAM,
        absWorkingDir: root,
        stdin: { contents: entryOf(group), resolveDir: root },
        outfile: `dist/${name}.js`,
        sourcemap: 'external',
        sourcesContent: false,
        plugins: [otherGroups(root, name, groupOf)],
      });
      return { name, result };
    }),
  );
}

const bundleEntry = (root, name, { entry, optional: _, ...how }) =>
  build({ ...COMMON, absWorkingDir: root, ...how, entryPoints: [entry], outfile: `dist/${name}.js` });

const vendorsOf = (program) => {
  const outputs = program.flatMap(({ result }) => Object.values(result.metafile.outputs));
  const imports = outputs.flatMap((output) => output.imports);
  return VENDORS.filter((name) => imports.some(({ path, external }) => external && path === name));
};

/** Only English of zod's forty languages: nobody asks for the others. */
const ENGLISH_ONLY = {
  name: 'english-only',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

/** `require`, not `export *`: what the package gives as a whole (a function, for some) is what its importers get. */
const bundleVendor = async (root, name) => {
  const contents = `module.exports = require(${JSON.stringify(name)});`;
  const result = await build({
    ...COMMON,
    absWorkingDir: root,
    stdin: { contents, resolveDir: root, sourcefile: `vendor-${name}.cjs` },
    mainFields: ['module', 'main'],
    conditions: ['module', 'import'],
    plugins: [ENGLISH_ONLY],
    outfile: `dist/${name}.js`,
    format: 'cjs',
    minify: true,
  });
  return { name, result };
};

/** A bundle as an expression that the launcher compiles as it is, behind a comment that names its bytes. */
function wrap(file, code) {
  // The launcher reads it as latin1.
  if (/[^\0-\x7f]/.test(code)) throw new Error(`${file} is not ASCII`);
  const digest = createHash('sha256').update(code).digest('hex').slice(0, DIGEST_LENGTH);
  return { file, digest, text: `/*${digest}*/${WRAPPER_START}${code}${WRAPPER_END}` };
}

/** Moves the first line's mappings to the right of what `wrap` puts before it. */
function shiftMap(text) {
  const { version, sources, names, mappings } = JSON.parse(text);
  const column = `/**/${WRAPPER_START}`.length + DIGEST_LENGTH;
  const map = { version, sources: sources.map((path) => path.replace(/^(\.\.\/)+/, '')), names, mappings };
  return `${JSON.stringify({ version, sections: [{ offset: { line: 0, column }, map }] })}\n`;
}

function bundleLauncher(root, { launcher, help, digests }) {
  if (typeof help !== 'string' || help === '')
    throw new Error('orchestrator/cli/help.ts must export HELP_TEXT');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return build({
    ...COMMON,
    absWorkingDir: root,
    entryPoints: [launcher],
    outfile: 'dist/orchestrate.js',
    format: 'cjs',
    // Parsed by old versions of Node, which then say that they are old.
    target: 'node8',
    minifyWhitespace: true,
    minifySyntax: true,
    define: {
      VERSION: JSON.stringify(version),
      HELP: JSON.stringify(help.endsWith('\n') ? help : `${help}\n`),
      DIGESTS: JSON.stringify(digests),
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
