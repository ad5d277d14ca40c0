/** Children for tests: requests, gates that a test opens by hand, and looks at the process table. */
import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, afterEach } from 'vitest';
import type { ForkRequest, ProcessIdentity } from '../../orchestrator/model/child.js';
import type { Limits } from '../../orchestrator/model/pipeline.js';
import { identityOf, liveness } from '../../orchestrator/state/identity.js';

const folders: string[] = [];
const markers = new Set<string>();

/** A folder of this test, removed after it; whatever carries one of its markers is ended. */
export const temporaryFolder = (): string => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'forkwait-')));
  folders.push(folder);
  return folder;
};

afterEach(() => {
  for (const marker of markers) for (const pid of pidsWithMarker(marker)) process.kill(pid, 'SIGKILL');
  markers.clear();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const LIMITS: Limits = { idleMs: 60_000, timeoutMs: 60_000, graceMs: 2_000 };

export const PATH = process.env['PATH'] ?? '/usr/bin:/bin';

let counter = 0;

type Wanted = Partial<Omit<ForkRequest, 'limits'>> & { readonly limits?: Partial<Limits> };

/** A plain command in a folder of its own. */
export const requestFor = (folder: string, wanted: Wanted): ForkRequest => {
  counter += 1;
  const marker = `test-${process.pid}-${counter}`;
  markers.add(marker);
  return {
    ticket: '320',
    target: 'build',
    number: 1,
    generation: counter,
    dir: join(folder, 'children', `01-build.${counter}`),
    argv: ['/bin/sh', '-c', 'true'],
    cwd: folder,
    env: { PATH, ORCHESTRATE_CHILD: marker },
    ...wanted,
    limits: { ...LIMITS, ...wanted.limits },
  };
};

export const shell = (folder: string, text: string, wanted: Wanted = {}): ForkRequest =>
  requestFor(folder, { argv: ['/bin/sh', '-c', text], ...wanted });

/** The same as a worker: with a prompt and a return path. */
export const worker = (folder: string, text: string, wanted: Wanted = {}): ForkRequest => {
  const request = shell(folder, text, { prompt: 'do it\n', ...wanted });
  return { returnPath: join(request.dir, 'out', 'return.json'), ...request };
};

/** Holds a child at `read line < PATH` until the test lets it go. */
export const makeGate = (folder: string): { readonly path: string; readonly open: () => Promise<void> } => {
  counter += 1;
  const path = join(folder, `gate-${counter}`);
  execFileSync('mkfifo', [path]);
  return {
    path,
    open: async () => {
      const file = await open(path, 'w');
      await file.write('go\n');
      await file.close();
    },
  };
};

/** Waits for a condition; the limit is only there so that a failing test ends. */
export const until = async (condition: () => boolean, what = 'the condition'): Promise<void> => {
  const deadline = performance.now() + 15_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

export const textOf = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** The pid that a child wrote into a file, once it is there. */
export const pidFrom = async (path: string): Promise<number> => {
  await until(() => textOf(path).endsWith('\n'), path);
  return Number(textOf(path));
};

export const isAlive = (pid: number): boolean => {
  const identity = identityOf(pid);
  return identity !== undefined && liveness(identity) === 'alive';
};

const pidsWithMarker = (marker: string): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && environmentOf(pid).includes(`ORCHESTRATE_CHILD=${marker}`));

const environmentOf = (pid: number): readonly string[] => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
};

let driverFolder: string | undefined;

/** `test/fixtures/agents/driver.ts` as one file that plain node runs; built once a test file. */
const builtDriver = (): string => {
  const existing = driverFolder !== undefined;
  driverFolder ??= mkdtempSync(join(tmpdir(), 'forkwait-driver-'));
  const outfile = join(driverFolder, 'driver.cjs');
  if (existing) return outfile;
  buildSync({
    entryPoints: [join(import.meta.dirname, '..', 'fixtures', 'agents', 'driver.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile,
    logLevel: 'error',
  });
  return outfile;
};

afterAll(() => {
  if (driverFolder !== undefined) rmSync(driverFolder, { recursive: true, force: true });
});

export interface Orchestrator {
  readonly reaper: ProcessIdentity;
  /** Ends it with -9 and waits until it is gone. */
  readonly kill: () => Promise<void>;
  /** What it says about the end of its child. */
  readonly end: () => Promise<unknown>;
}

/** Another orchestrator process that forks `request` and waits for it. */
export const startOrchestrator = async (folder: string, request: ForkRequest): Promise<Orchestrator> => {
  counter += 1;
  const job = join(folder, `request-${counter}.json`);
  writeFileSync(job, JSON.stringify(request));
  const child = spawn(process.execPath, [builtDriver(), job], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const line = async (number: number): Promise<unknown> => {
    await until(() => text.split('\n').length > number, 'the other orchestrator');
    return JSON.parse(text.split('\n')[number - 1] ?? 'null') as unknown;
  };
  return {
    reaper: (await line(1)) as ProcessIdentity,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    end: async () => line(2),
  };
};
