import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script, constants } from 'node:vm';
import { codeCachePath, readCodeCache, writeCodeCache } from './code-cache.js';
import { lazyRequire } from './lazy-require.js';
import { writeOut } from './output.js';
import { mapStacks } from './stacks.js';

/** Set by scripts/build.mjs. */
declare const VERSION: string;
declare const HELP: string;
/** Of the code in main.cjs; the file begins with it, in a comment. */
declare const BUNDLE_DIGEST: string;

/** What the bundle exports: orchestrator/cli/main.ts. */
interface Bundle {
  readonly main: (argv: readonly string[], options: { readonly packageRoot: string }) => Promise<number>;
}

/** The bundle is a function of what Node gives a CommonJS module: exports, require, module, filename, dirname. */
type Wrapper = (...scope: readonly unknown[]) => void;

/** A run that lasts longer stores its code cache now: V8 throws away functions that have not been called for a while. */
const STORE_AFTER_MS = 2_000;

/**
 * Answers `--version` and `--help` from this file; everything else from main.cjs beside it, compiled from the code cache.
 * The exit status is set, not forced, so that whatever is still being written gets out.
 */
const start = (): void => {
  const argv = process.argv.slice(2);
  const first = argv.length > 1 ? undefined : (argv[0] ?? '--help');
  if (first === '--version' || first === '-v') writeOut(1, `${VERSION}\n`);
  else if (first === '--help' || first === '-h') writeOut(1, HELP);
  else void run(argv);
};

const run = async (argv: readonly string[]): Promise<void> => {
  const debug = argv.includes('--debug');
  const file = join(__dirname, 'main.cjs');
  if (debug) mapStacks(file);
  const fail = (error: unknown): void => reportUnexpected(error, debug);
  process.on('uncaughtException', (error) => {
    fail(error);
    process.exit(1);
  });
  try {
    const { bundle, store } = load(file, argv);
    const timer = setTimeout(store, STORE_AFTER_MS).unref();
    process.exitCode = await bundle.main(argv, { packageRoot: join(__dirname, '..') });
    clearTimeout(timer);
    store();
  } catch (error) {
    fail(error);
  }
};

/** Compiles and evaluates the bundle. `store` keeps what V8 has compiled by then, if there was nothing usable to start from. */
const load = (file: string, argv: readonly string[]): { bundle: Bundle; store: () => void } => {
  // The bundle is ASCII: `latin1` reads it without decoding.
  const source = readFileSync(file, 'latin1');
  // A main.cjs of another build (an upgrade is going on) runs, but never with or into a cache of this one.
  const cache = source.startsWith(`/*${BUNDLE_DIGEST}*/`) ? codeCachePath(BUNDLE_DIGEST, argv) : undefined;
  const cachedData = cache === undefined ? undefined : readCodeCache(cache);
  const script = new Script(source, {
    filename: file,
    ...(cachedData && { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const module = { exports: {} };
  const evaluate = script.runInThisContext() as Wrapper;
  evaluate(module.exports, lazyRequire(require), module, file, __dirname);
  let done = cache === undefined || (cachedData !== undefined && script.cachedDataRejected === false);
  const store = (): void => {
    if (!done && cache !== undefined) writeCodeCache(cache, script.createCachedData());
    done = true;
  };
  return { bundle: module.exports as Bundle, store };
};

const reportUnexpected = (error: unknown, debug: boolean): void => {
  const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
  const stack = error instanceof Error ? error.stack : undefined;
  writeOut(
    2,
    debug && stack
      ? `orchestrate: unexpected error: ${stack}\n`
      : `orchestrate: unexpected error: ${message} (\`--debug\` shows where)\n`,
  );
  process.exitCode = 1;
};

start();
