import { build } from 'esbuild';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { buildPrompt, type PromptParts } from '../../orchestrator/context/prompt.js';

/** Bundles the worker as the build does, into `folder`. @returns the path of the program */
export const bundleWorker = async (folder: string): Promise<string> => {
  const outfile = join(folder, 'scripted-worker.cjs');
  await build({
    entryPoints: [resolve('workers/scripted/main.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'error',
    outfile,
  });
  return outfile;
};

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'orchestrate-test-'));

/** Writes files below a folder. */
export const writeFiles = (folder: string, files: Readonly<Record<string, string>>): void => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
};

export interface Run {
  readonly program: string;
  readonly tree: string;
  readonly makes: string;
  readonly ticket?: string;
  readonly round?: number;
  readonly attempt?: number;
  readonly prompt?: Partial<PromptParts>;
  /** Changes of the environment of the contract; `undefined` removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Called with each piece of output, and with what sends the process a signal. */
  readonly onOutput?: (piece: string, kill: (signal: NodeJS.Signals) => void) => void;
}

export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly out: string;
  /** The return file as it is; `undefined` when there is none. */
  readonly text: string | undefined;
  /** The same, parsed. */
  readonly returned: Returned;
}

export interface Returned {
  readonly status: string;
  readonly summary: readonly string[];
  readonly usage: unknown;
  readonly verdict?: {
    readonly verdict: string;
    readonly nonce: string;
    readonly blockers: readonly { readonly title: string; readonly path?: string; readonly detail: string }[];
    readonly pillars: Readonly<Record<string, string>>;
    readonly dismissed: readonly string[];
    readonly deadEnds: readonly string[];
    readonly pages: readonly string[];
  };
}

const EMPTY: PromptParts = {
  kernel: '# Kernel',
  manual: '# Manual',
  assignment: {},
  ticket: 'a ticket',
  feedback: [],
  directives: [],
  notes: [],
  scars: [],
  documents: [],
};

const parsed = (text: string | undefined): Returned => {
  try {
    return JSON.parse(text ?? '') as Returned;
  } catch {
    return { status: 'unreadable', summary: [], usage: undefined };
  }
};

const baseEnvironment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  TMPDIR: tmpdir(),
  ORCHESTRATE_CHILD: 'test',
});

const environmentOf = (run: Run, out: string): Record<string, string> => {
  const env: Record<string, string | undefined> = {
    ...baseEnvironment(),
    ORCHESTRATE_TICKET: run.ticket ?? '320',
    ORCHESTRATE_TARGET: `target-${run.makes}`,
    ORCHESTRATE_ATTEMPT: String(run.attempt ?? 1),
    ORCHESTRATE_ROUND: String(run.round ?? 1),
    ORCHESTRATE_MAKES: run.makes,
    ORCHESTRATE_ACCESS: 'write',
    ORCHESTRATE_TREE: run.tree,
    ORCHESTRATE_OUT: out,
    ORCHESTRATE_RETURN: join(out, 'return-5f3a.json'),
    ...run.env,
  };
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
};

/** Runs the worker as the orchestrator would: a process of its own, the prompt on standard input, then EOF. */
export const runWorker = (run: Run): Promise<Ran> => {
  const out = join(mkdtempSync(join(dirname(run.program), 'child-')), 'out');
  mkdirSync(out);
  const child = spawn(process.execPath, [run.program], { cwd: run.tree, env: environmentOf(run, out) });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
    run.onOutput?.(chunk, (signal) => child.kill(signal));
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  // A worker that ends early closes its standard input; that is not this test's business.
  child.stdin.on('error', () => undefined);
  child.stdin.end(buildPrompt({ ...EMPTY, ...run.prompt }));
  return new Promise((resolvePromise) => {
    child.on('close', (code, signal) => {
      const path = join(out, 'return-5f3a.json');
      const text = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
      resolvePromise({ code, signal, stdout, stderr, out, text, returned: parsed(text) });
    });
  });
};
