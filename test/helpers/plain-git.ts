import { execFile } from 'node:child_process';

interface GitOptions {
  readonly cwd: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the machine's git with no configuration but the repository's own; rejects with its message. */
export const plainGit = (args: readonly string[], { cwd, input, env }: GitOptions): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = execFile(
      'git',
      [...args],
      {
        cwd,
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: '/nonexistent',
          GIT_CONFIG_NOSYSTEM: '1',
          GIT_CONFIG_GLOBAL: '/dev/null',
          GIT_TERMINAL_PROMPT: '0',
          ...env,
        },
        maxBuffer: 16 * 1024 * 1024,
      },
      (error, stdout, stderr) =>
        error === null ? resolve(stdout) : reject(new Error(`git ${args[0]}: ${stderr}`)),
    );
    // A git that reads no input may be gone before it could be closed.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input ?? '');
  });
