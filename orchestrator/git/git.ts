import { accessSync, closeSync, constants, openSync, realpathSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, sep } from 'node:path';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import { fail, ok, type Result } from '../model/result.js';
import { cleanText } from '../model/text.js';
import { isolatedEnvironment, pinnedArguments, type Surroundings } from './environment.js';
import { type Ended, runProcess } from './spawn.js';

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
  const { input } = command;
  const bytes = typeof input === 'string' || input instanceof Uint8Array ? input : undefined;
  const ended = await runProcess({
    program: git.program,
    args: argumentsOf(command),
    cwd: command.cwd ?? command.gitDir,
    env: environmentOf(git, command),
    stdin: files.input ?? bytes,
    stdout: files.output ?? command.onOutput,
    timeoutMs: command.timeoutMs,
    maxBytes: MAX_OUTPUT_BYTES,
  });
  const stderr = redact(cleanText(ended.stderr.toString('utf8')).trim());
  return answerOf(command, ended, stderr);
};

const answerOf = (command: GitCommand, ended: Ended, stderr: string): Result<GitOutput> => {
  const { exitCode: code, stdout } = ended;
  const whole = !ended.timedOut && !ended.tooMuch;
  if (code !== undefined && whole && (code === 0 || command.answers?.includes(code)))
    return ok({ stdout, stderr, code });
  return failure(command, ended, stderr);
};

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

const failure = (command: GitCommand, ended: Ended, stderr: string) => {
  const said = stderr.split('\n').slice(-STDERR_LINES).join('\n');
  return fail({
    kind: 'git-failed',
    message: `\`git ${command.args[0] ?? ''}\` ${reasonOf(command, ended)}${said === '' ? '' : `: ${said}`}`,
    where: command.workTree ?? command.gitDir,
  });
};

const reasonOf = (command: GitCommand, ended: Ended): string => {
  if (ended.timedOut) return `did not answer within ${(command.timeoutMs ?? 0) / 1000} s`;
  if (ended.tooMuch) return `printed more than ${MAX_OUTPUT_BYTES} bytes`;
  if (ended.signal !== undefined) return `was ended by ${ended.signal}`;
  if (ended.exitCode === undefined) return `could not be started (${ended.code ?? 'unknown error'})`;
  return `failed with exit status ${ended.exitCode}`;
};

/** URLs may carry a password; messages are written to files and terminals. */
export const redact = (text: string): string => text.replaceAll(/(\w+:\/\/)[^/@\s]+@/g, '$1***@');
