/** A small machine in a folder, as a sandboxed child finds it: a home, a repository with a run, trees, sockets. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'vitest';
import { findSandbox, sandboxArgv } from '../../orchestrator/process/sandbox.js';
import type { SandboxRequest } from '../../orchestrator/process/sandbox.js';
import { temporaryFolder } from './child.js';

export const found = await findSandbox(process.env);

/** Tests that need a sandbox; where there is none they are skipped, and `sandbox-probe.test.ts` says why there is none. */
export const boxed: typeof test = found.kind === 'bubblewrap' ? test : (test.skip as typeof test);

/** The system's programs and the Node that runs the tests. */
export const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin', dirname(process.execPath)].join(':');

export interface World {
  readonly folder: string;
  readonly home: string;
  readonly repository: string;
  readonly state: string;
  readonly tree: string;
  readonly out: string;
  readonly frozen: string;
  readonly manual: string;
  readonly key: string;
}

const write = (path: string, text: string, mode = 0o644): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
};

export const makeWorld = (): World => {
  const folder = temporaryFolder();
  const home = join(folder, 'home');
  const repository = join(folder, 'repository');
  const state = join(repository, '.orchestrate');
  const own = join(home, '.local/state/orchestrate');
  const run = join(state, '320');
  write(join(home, '.ssh/id'), 'secret\n', 0o600);
  write(join(own, 'key'), 'secret\n', 0o600);
  write(join(own, 'trees/r/320/file'), 'tree\n');
  write(join(own, 'trees/r/321/file'), 'secret\n');
  write(join(repository, 'source'), 'secret\n');
  write(join(state, 'store.git/HEAD'), 'secret\n');
  write(join(run, 'journal.jsonl'), 'secret\n');
  write(join(run, 'state/00_governance.md'), 'secret\n');
  write(join(run, 'children/02-plan.1/out/return.json'), 'secret\n');
  write(join(run, 'children/03-diff.1/stdout.log'), 'secret\n');
  mkdirSync(join(run, 'children/03-diff.1/out'));
  write(join(run, 'checkouts/1/file'), 'frozen\n', 0o444);
  write(join(folder, 'manuals/manual.md'), 'manual\n');
  return {
    folder,
    home,
    repository,
    state,
    tree: join(own, 'trees/r/320'),
    out: join(run, 'children/03-diff.1/out'),
    frozen: join(run, 'checkouts/1'),
    manual: join(folder, 'manuals/manual.md'),
    key: join(own, 'key'),
  };
};

/** Gives everything in a folder to another user. */
export const giveAway = (folder: string, uid: number): void => {
  chownSync(folder, uid, uid);
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    chownSync(join(folder, entry), uid, uid);
};

export const environmentOf = (world: World): Record<string, string> => ({
  PATH: SYSTEM_PATH,
  HOME: world.home,
});

/** What a worker of this world is given. */
const requestIn = (
  world: World,
  argv: readonly string[],
  more: Partial<SandboxRequest> = {},
): SandboxRequest => ({
  argv,
  cwd: world.tree,
  env: environmentOf(world),
  home: world.home,
  read: [world.frozen, world.manual],
  write: [world.tree, world.out],
  hidden: [world.state, join(world.home, '.local/state/orchestrate')],
  network: true,
  ...more,
});

export const argvIn = (
  world: World,
  argv: readonly string[],
  more: Partial<SandboxRequest> = {},
): readonly string[] => {
  if (found.kind === 'none') throw new Error(found.why);
  return sandboxArgv(found, requestIn(world, argv, more));
};

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface How {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly uid?: number;
  readonly stdin?: number;
}

export const start = ([program = '', ...args]: readonly string[], how: How): ChildProcess =>
  spawn(program, args, {
    cwd: how.cwd,
    env: how.env,
    detached: true,
    stdio: [how.stdin ?? 'ignore', 'pipe', 'pipe'],
    ...(how.uid === undefined ? {} : { uid: how.uid, gid: how.uid }),
  });

export const run = async (argv: readonly string[], how: How): Promise<Ended> => {
  const child = start(argv, how);
  const read = async (stream: NodeJS.ReadableStream | null): Promise<string> => {
    let text = '';
    for await (const chunk of stream ?? []) text += String(chunk);
    return text;
  };
  const ended = new Promise<number | null>((settle) => {
    child.once('close', settle);
  });
  const [stdout, stderr, code] = await Promise.all([read(child.stdout), read(child.stderr), ended]);
  return { code, stdout, stderr };
};

/** Runs a shell text in a sandbox of this world. */
export const inside = async (
  world: World,
  text: string,
  more: Partial<SandboxRequest> & { readonly uid?: number; readonly stdin?: number } = {},
): Promise<Ended> => {
  const { uid, stdin, ...request } = more;
  const argv = argvIn(world, ['/bin/sh', '-c', text], request);
  return run(argv, {
    cwd: request.cwd ?? world.tree,
    env: request.env ?? environmentOf(world),
    ...(uid === undefined ? {} : { uid }),
    ...(stdin === undefined ? {} : { stdin }),
  });
};
