import { join } from 'node:path';
import { writeOut } from './output.js';
import { openScripts } from './scripts.js';

/** Set by .ci/build.mjs. */
declare const VERSION: string;
declare const HELP: string;

/** What main.cjs exports: orchestrator/cli/main.ts. */
interface Program {
  readonly main: (argv: readonly string[], options: { readonly packageRoot: string }) => Promise<number>;
}

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
  // Loads half of Node's module system: only for who asks.
  if (debug) (await import('./stacks.js')).mapStacks(__dirname);
  const fail = (error: unknown): void => reportUnexpected(error, debug);
  process.on('uncaughtException', (error) => {
    fail(error);
    process.exit(1);
  });
  try {
    const scripts = openScripts(__dirname, argv);
    const { main } = scripts.main() as Program;
    const timer = setTimeout(scripts.store, STORE_AFTER_MS).unref();
    process.exitCode = await main(argv, { packageRoot: join(__dirname, '..') });
    clearTimeout(timer);
    scripts.store();
  } catch (error) {
    fail(error);
  }
};

const reportUnexpected = (error: unknown, debug: boolean): void => {
  const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
  const stack = error instanceof Error ? error.stack : undefined;
  // Not by model/text, which is in main.cjs: what went wrong may be that it could not be loaded.
  const plain = (text: string): string => text.replaceAll(/[^\n\u0020-\u007E]/g, '?');
  writeOut(
    2,
    debug && stack
      ? `orchestrate: unexpected error: ${plain(stack)}\n`
      : `orchestrate: unexpected error: ${plain(message)} (\`--debug\` shows where)\n`,
  );
  process.exitCode = 1;
};

start();
