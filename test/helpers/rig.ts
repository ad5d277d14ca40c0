/**
 * The built binary as a user or a script meets it: a temporary folder, a home of its own, a clean environment, real git.
 * The tests of `test/e2e/` assume that `npm test` has built `dist/`.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

export const CLI = resolve(import.meta.dirname, '../../dist/orchestrate.cjs');

export type Files = Readonly<Record<string, string>>;

export interface RunOptions {
  /** Folder to stand in; default the repository. */
  readonly cwd?: string;
  /** Changes of the environment; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
  /** On a pseudo terminal, see `TERMINAL`; what it shows comes as `stdout`. */
  readonly terminal?: boolean;
  /** A program that runs it, with that program's arguments, e.g. as another user. */
  readonly under?: readonly string[];
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The binary in the background. */
export interface Running {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly type: (text: string) => void;
  readonly ended: Promise<Ended>;
}

export interface Rig {
  /** The temporary folder; everything of the test is in it. */
  readonly dir: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  /** The user's checkout, `DIR/repo`; it is there after `init`, `demo` or `clone`. */
  readonly repo: string;
  /** Starts and waits for the end. */
  readonly run: (args: readonly string[], options?: RunOptions) => Promise<Ended>;
  readonly start: (args: readonly string[], options?: RunOptions) => Running;
  /** Runs git as the user, in the repository; trimmed output. */
  readonly git: (...args: string[]) => string;
  readonly gitIn: (folder: string, ...args: string[]) => string;
  /** Writes files relative to the repository. */
  readonly write: (files: Files) => void;
  /** An executable on the PATH of every run of this rig. */
  readonly program: (name: string, text: string) => void;
  readonly read: (path: string) => string;
  readonly has: (path: string) => boolean;
  /** Events of a ticket's journal, in order. */
  readonly events: (ticket?: string) => readonly Event[];
  /** Processes that were started from here and are still there; zombies are not. */
  readonly processes: () => readonly number[];
}

export interface Event {
  readonly type: string;
  readonly target?: string;
  readonly [key: string]: unknown;
}

let cache: string | undefined;

/** What V8 compiled and what the loader validated: names are digests, so tests may share it, and each need not make it again. */
const sharedCache = (): string => {
  if (cache !== undefined) return cache;
  cache = mkdtempSync(join(tmpdir(), 'orchestrate-e2e-cache-'));
  return cache;
};

afterAll(() => {
  if (cache !== undefined) rmSync(cache, { recursive: true, force: true });
  cache = undefined;
});

/** A test folder; after the test (or when `onEnd` says so) its processes are ended and it is removed. */
export const createRig = (onEnd: (clean: () => void) => void = onTestFinished): Rig => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'orchestrate-e2e-')));
  const [home, repo, bin, tmp] = ['home', 'repo', 'bin', 'tmp'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const folder of [home, bin, tmp]) mkdirSync(folder);
  mkdirSync(join(home, 'orchestrate'), { mode: 0o700 });
  symlinkSync(sharedCache(), join(home, 'orchestrate', 'cache'));
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada Lovelace\n\temail = ada@example.com\n');
  const env = {
    PATH: `${bin}:${process.env['PATH'] ?? '/usr/bin:/bin'}`,
    HOME: home,
    XDG_STATE_HOME: join(home, 'state'),
    ORCHESTRATE_HOME: join(home, 'orchestrate'),
    TMPDIR: tmp,
    USER: 'ada',
    LC_ALL: 'C.UTF-8',
    GIT_CONFIG_NOSYSTEM: '1',
  };
  const start = starter(repo, env);
  const gitIn = (folder: string, ...args: string[]): string =>
    execFileSync('git', args, {
      cwd: folder,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const processes = (): readonly number[] => pidsWith(`HOME=${home}`);
  onEnd(() => {
    for (const pid of processes()) endProcess(pid);
    removeFolder(dir);
  });
  const read = (path: string): string => readFileSync(resolve(repo, path), 'utf8');
  return {
    dir,
    home,
    env,
    repo,
    start,
    run: (args, options) => start(args, options).ended,
    git: (...args) => gitIn(repo, ...args),
    gitIn,
    write: (files) => writeFiles(repo, files),
    program: (name, text) => {
      writeFileSync(join(bin, name), text);
      chmodSync(join(bin, name), 0o755);
    },
    read,
    has: (path) => existsSync(resolve(repo, path)),
    events: (ticket = '320') =>
      read(`.orchestrate/${ticket}/journal.jsonl`)
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { readonly event: Event }).event),
    processes,
  };
};

const starter =
  (repo: string, base: Readonly<Record<string, string>>) =>
  (args: readonly string[], options: RunOptions = {}): Running => {
    const [file = '', ...words] = commandOf(args, options);
    const child = spawn(file, words, {
      cwd: options.cwd ?? repo,
      env: definedOf({ ...base, ...options.env }),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    // It may have ended before it could be told anything.
    child.stdin.on('error', () => undefined);
    if (options.stdin !== undefined) child.stdin.end(options.stdin);
    else if (options.terminal !== true) child.stdin.end();
    const ended = new Promise<Ended>((settle, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => settle({ code, signal, stdout, stderr }));
    });
    return {
      pid: child.pid ?? -1,
      stdout: () => stdout,
      stderr: () => stderr,
      kill: (signal) => void child.kill(signal),
      type: (text) => void child.stdin.write(text),
      ended,
    };
  };

const commandOf = (args: readonly string[], { terminal, under = [] }: RunOptions): readonly string[] => {
  const command = [...under, process.execPath, CLI, ...args];
  return terminal === true ? (TERMINAL?.(command) ?? command) : command;
};

const answers = (file: string, args: readonly string[], expected: RegExp): boolean => {
  try {
    return expected.test(execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  } catch {
    return false;
  }
};

const shellWord = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

const findTerminal = (): ((command: readonly string[]) => readonly string[]) | undefined => {
  if (answers('script', ['--version'], /util-linux/)) {
    return (command) => ['script', '-qefc', `exec ${command.map(shellWord).join(' ')}`, '/dev/null'];
  }
  if (!answers('python3', ['-c', 'import pty; print(pty.spawn)'], /spawn/)) return undefined;
  const program = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
  return (command) => ['python3', '-c', program, ...command];
};

/** Runs a command on a pseudo terminal of its own; `undefined` where there is neither util-linux nor Python. */
export const TERMINAL = findTerminal();

const definedOf = (env: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

export const writeFiles = (folder: string, files: Files): void => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
};

const readProc = (pid: number, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
};

/** Only where there is procfs. */
const pidsWith = (variable: string): readonly number[] =>
  (existsSync('/proc/self') ? readdirSync('/proc') : [])
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && readProc(pid, 'environ').split('\0').includes(variable));

const endProcess = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone by itself.
  }
};

/** Also what is read-only. */
const removeFolder = (path: string): void => {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    execFileSync('chmod', ['-R', 'u+rwX', path], { stdio: 'ignore' });
    rmSync(path, { recursive: true, force: true });
  }
};

/** Empty repositories, made once for a file and copied. */
let templates: string | undefined;

afterAll(() => {
  if (templates !== undefined) removeFolder(templates);
  templates = undefined;
});

const makeTemplates = (rig: Rig): string => {
  const dir = mkdtempSync(join(tmpdir(), 'orchestrate-e2e-templates-'));
  rig.gitIn(dir, 'init', '--quiet', '--template=', '--initial-branch=main', 'repo');
  rig.gitIn(dir, 'init', '--quiet', '--template=', '--bare', '--initial-branch=main', 'origin.git');
  // Of what git has for a new repository the folders alone: its samples would be most of what is copied.
  for (const path of ['repo/.git', 'origin.git'])
    for (const name of ['hooks', 'info']) mkdirSync(join(dir, path, name));
  return dir;
};

/** A repository with a first commit of `files` and, unless it is not wanted, the bare remote `DIR/origin.git`. */
export const initRepository = (rig: Rig, files: Files, { remote = true } = {}): void => {
  templates ??= makeTemplates(rig);
  cpSync(join(templates, 'repo'), rig.repo, { recursive: true });
  rig.write(files);
  rig.git('add', '--all');
  rig.git('commit', '--quiet', '--message=Start');
  if (remote) pushStart(rig, templates);
};

/** As `remote add` and `push --set-upstream` leave it, without their seven processes. */
const pushStart = (rig: Rig, from: string): void => {
  const [git, origin] = [join(rig.repo, '.git'), join(rig.dir, 'origin.git')];
  cpSync(join(from, 'origin.git'), origin, { recursive: true });
  for (const path of ['objects', 'refs/heads'])
    cpSync(join(git, path), join(origin, path), { recursive: true });
  cpSync(join(git, 'refs/heads/main'), join(git, 'refs/remotes/origin/main'));
  appendFileSync(
    join(git, 'config'),
    `[remote "origin"]\n\turl = ${origin}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n`,
  );
};

/** The sample repository of `demo --prepare`. */
export const prepareDemo = async (rig: Rig): Promise<void> => {
  const { code, stderr } = await rig.run(['demo', '--dir', rig.repo, '--prepare'], { cwd: rig.dir });
  if (code !== 0) throw new Error(stderr);
};

/** Waits for a condition; the limit is only there so that a failing test ends. */
export const until = async (condition: () => boolean, what: string): Promise<void> => {
  const deadline = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((next) => setTimeout(next, 5));
  }
};

/** Holds a shell child at `read line < PATH` until the test lets it go. */
export const makeGate = (
  rig: Rig,
  name = 'gate',
): { readonly path: string; readonly open: () => Promise<void> } => {
  const path = join(rig.dir, name);
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

/** Every path below a folder with its kind and content: what must be the same when nothing may have been written. */
export const contents = (folder: string, skip: readonly string[] = []): Record<string, string> => {
  const found: Record<string, string> = {};
  const walk = (path: string, name: string): void => {
    if (skip.includes(name)) return;
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) found[name] = `-> ${readlinkSync(path)}`;
    else if (stat.isFile()) found[name] = readFileSync(path, 'base64');
    if (!stat.isDirectory()) return;
    if (name !== '') found[name] = 'folder';
    for (const entry of readdirSync(path)) walk(join(path, entry), name === '' ? entry : `${name}/${entry}`);
  };
  walk(folder, '');
  return found;
};
