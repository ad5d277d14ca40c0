import { accessSync, closeSync, constants, openSync, realpathSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, sep } from 'node:path';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import { fail, ok, type Result } from '../model/result.js';
import { cleanText } from '../model/text.js';
import { isolatedEnvironment, pinnedArguments, type Surroundings } from './environment.js';

/** The git program and what its processes may see. One for a command; holds no open resource. */
export interface Git extends Surroundings {
  /** Absolute path. */
  readonly program: string;
  /** Answers that hold for the life of the command, by question. */
  readonly memo: Map<string, Promise<unknown>>;
}

/**
 * Finds git on PATH. Relative entries, entries inside the repository and `node_modules/.bin` are passed over: a program
 * of that name which a worker or a package put there would see, and could hide, every diff.
 * @throws `Problem` `git-missing`
 */
export const openGit = (paths: RepositoryPaths, env: NodeJS.ProcessEnv = process.env): Git => {
  const inside = [paths.root, paths.mainRoot];
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => isTrusted(folder, inside));
  const program = folders.map((folder) => join(folder, 'git')).find((file) => isProgram(file, inside));
  if (program === undefined) {
    throw new Problem({
      kind: 'git-missing',
      message: '`git` is not on the PATH outside the repository',
      next: 'install git (https://git-scm.com/downloads), 2.38 or newer, and check with `git --version`',
    });
  }
  const path = [...new Set([...folders, dirname(program), '/usr/bin', '/bin'])].join(delimiter);
  return { program, path, env, memo: new Map() };
};

const isTrusted = (folder: string, inside: readonly string[]): boolean => {
  if (!isAbsolute(folder) || /(^|[\\/])node_modules[\\/]\.bin[\\/]?$/.test(folder)) return false;
  const real = realOf(folder);
  return real !== undefined && !inside.some((root) => isInside(real, root));
};

const isProgram = (file: string, inside: readonly string[]): boolean => {
  try {
    accessSync(file, constants.X_OK);
  } catch {
    return false;
  }
  const real = realOf(file);
  return real !== undefined && !inside.some((root) => isInside(real, root));
};

const realOf = (path: string): string | undefined => {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
};

/** True for `folder` itself and everything below it; both absolute and free of links. */
export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);

export interface GitCommand {
  /** Subcommand and arguments. */
  readonly args: readonly string[];
  /** Always explicit: git never goes looking for a repository. */
  readonly gitDir: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  /** Default: `gitDir`. */
  readonly cwd?: string;
  /** Standard input: bytes, or the path of a file. Default: empty. */
  readonly input?: string | Uint8Array | { readonly file: string };
  /** Standard output goes to this new file by descriptor; it never enters our memory. */
  readonly outputFile?: string;
  /** Standard output is handed over piece by piece instead of being collected. */
  readonly onOutput?: (chunk: Buffer) => Promise<void>;
  /** Added to, or replacing, the isolated environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Replaces the isolated environment. */
  readonly wholeEnv?: Readonly<Record<string, string>>;
  /** Exit statuses besides 0 that are answers and not failures. */
  readonly answers?: readonly number[];
  /** For commands that talk to a remote. Default: none. */
  readonly timeoutMs?: number;
}

export interface GitOutput {
  /** Empty when it went to a file or a callback. */
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly code: number;
}

/** Collected output above which a command is ended: lists of paths of a very large repository fit, contents do not. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

/**
 * Runs git once. Every exit status that is not 0 or expected is a failure, as are a signal, a timeout and too much
 * output.
 * @returns `git-failed` with the end of what git said
 */
export const run = async (git: Git, command: GitCommand): Promise<Result<GitOutput>> => {
  const input = openInput(command);
  const output = command.outputFile === undefined ? undefined : openSync(command.outputFile, 'wx', 0o600);
  try {
    return await execute(git, command, { input, output });
  } finally {
    if (input !== undefined) closeSync(input);
    if (output !== undefined) closeSync(output);
  }
};

/** As `run`, for a command whose whole answer is one line of text. */
export const runForText = async (git: Git, command: GitCommand): Promise<Result<string>> => {
  const result = await run(git, command);
  return result.ok ? ok(result.value.stdout.toString('utf8').trim()) : result;
};

interface Descriptors {
  readonly input: number | undefined;
  readonly output: number | undefined;
}

const openInput = ({ input }: GitCommand): number | undefined =>
  typeof input === 'object' && 'file' in input ? openSync(input.file, 'r') : undefined;

const execute = async (git: Git, command: GitCommand, files: Descriptors): Promise<Result<GitOutput>> => {
  const { execa } = await import('execa');
  const subprocess = execa(git.program, argumentsOf(command), {
    cwd: command.cwd ?? command.gitDir,
    env: environmentOf(git, command),
    extendEnv: false,
    reject: false,
    encoding: 'buffer',
    stripFinalNewline: false,
    maxBuffer: MAX_OUTPUT_BYTES,
    buffer: { stdout: command.onOutput === undefined && files.output === undefined, stderr: true },
    // A session of its own has no terminal that ssh could ask on, and can be ended with all that it started.
    detached: command.timeoutMs !== undefined,
    ...standardInput(command, files),
    stdout: files.output === undefined ? 'pipe' : descriptor(files.output),
  });
  const deadline = startDeadline(command, subprocess);
  if (command.onOutput !== undefined) {
    for await (const chunk of subprocess.stdout as AsyncIterable<Buffer>) await command.onOutput(chunk);
  }
  const { exitCode, signal, isMaxBuffer, code, stdout, stderr } = await subprocess;
  const timedOut = deadline.end();
  const said = redact(cleanText(bytesOf(stderr).toString('utf8')).trim());
  return answerOf(command, { exitCode, signal, timedOut, isMaxBuffer, code, stdout, stderr: said });
};

interface Killable {
  readonly pid?: number | undefined;
  readonly stdout: { destroy(): void } | null | undefined;
  readonly stderr: { destroy(): void } | null | undefined;
}

/** Between TERM, on which git removes its lock files, and KILL. */
const GRACE_MS = 2_000;

/** Ends the whole group when time is up: a helper that outlives git would hold our pipes open for ever. */
const startDeadline = (command: GitCommand, subprocess: Killable): { readonly end: () => boolean } => {
  const { timeoutMs } = command;
  if (timeoutMs === undefined) return { end: () => false };
  let timedOut = false;
  let timer = setTimeout(() => {
    timedOut = true;
    signalGroup(subprocess.pid, 'SIGTERM');
    timer = setTimeout(() => {
      signalGroup(subprocess.pid, 'SIGKILL');
      subprocess.stdout?.destroy();
      subprocess.stderr?.destroy();
    }, GRACE_MS);
  }, timeoutMs);
  return {
    end: () => {
      clearTimeout(timer);
      return timedOut;
    },
  };
};

const signalGroup = (pid: number | undefined, signal: NodeJS.Signals): void => {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // It is gone already.
  }
};

interface Ended {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  readonly isMaxBuffer: boolean;
  /** Of the system error, when git could not be started. */
  readonly code: string | undefined;
  readonly stdout: unknown;
  readonly stderr: string;
}

const answerOf = (command: GitCommand, ended: Ended): Result<GitOutput> => {
  const { exitCode: code, stderr } = ended;
  const whole = !ended.timedOut && !ended.isMaxBuffer;
  if (code !== undefined && whole && (code === 0 || command.answers?.includes(code))) {
    return ok({ stdout: bytesOf(ended.stdout), stderr, code });
  }
  return failure(command, ended);
};

const bytesOf = (output: unknown): Buffer =>
  output instanceof Uint8Array
    ? Buffer.from(output.buffer, output.byteOffset, output.byteLength)
    : Buffer.alloc(0);

const standardInput = ({ input }: GitCommand, files: Descriptors) => {
  if (files.input !== undefined) return { stdin: descriptor(files.input) };
  if (typeof input === 'string' || input instanceof Uint8Array) return { input };
  return { stdin: 'ignore' as const };
};

/** execa hands any descriptor to the child as it is; its types name only these. */
const descriptor = (fd: number) => fd as 3 | 4 | 5 | 6 | 7 | 8 | 9;

const argumentsOf = (command: GitCommand): string[] => [
  ...pinnedArguments(),
  `--git-dir=${command.gitDir}`,
  ...(command.workTree === undefined ? [] : ['-c', 'core.bare=false', `--work-tree=${command.workTree}`]),
  ...command.args,
];

const environmentOf = (git: Git, command: GitCommand): Record<string, string> => ({
  ...(command.wholeEnv ?? isolatedEnvironment(git)),
  ...command.env,
  ...(command.indexFile === undefined ? {} : { GIT_INDEX_FILE: command.indexFile }),
});

const STDERR_LINES = 8;

const failure = (command: GitCommand, ended: Ended) => {
  const said = ended.stderr.split('\n').slice(-STDERR_LINES).join('\n');
  return fail({
    kind: 'git-failed',
    message: `\`git ${command.args[0] ?? ''}\` ${reasonOf(command, ended)}${said === '' ? '' : `: ${said}`}`,
    where: command.workTree ?? command.gitDir,
  });
};

const reasonOf = (command: GitCommand, ended: Ended): string => {
  if (ended.timedOut) return `did not answer within ${(command.timeoutMs ?? 0) / 1000} s`;
  if (ended.isMaxBuffer) return `printed more than ${MAX_OUTPUT_BYTES} bytes`;
  if (ended.signal !== undefined) return `was ended by ${ended.signal}`;
  if (ended.exitCode === undefined) return `could not be started (${ended.code ?? 'unknown error'})`;
  return `failed with exit status ${ended.exitCode}`;
};

/** URLs may carry a password; messages are written to files and terminals. */
export const redact = (text: string): string => text.replaceAll(/(\w+:\/\/)[^/@\s]+@/g, '$1***@');
