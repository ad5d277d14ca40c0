export interface Probe {
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Default 15,000 ms. */
  readonly timeoutMs?: number;
}

export interface Probed {
  /** `undefined` when it was ended by a signal, ours included, or could not be started. */
  readonly code: number | undefined;
  /** Both outputs, at most 1,000,000 characters each. */
  readonly stdout: string;
  readonly stderr: string;
}

const TIMEOUT_MS = 15_000;
const MOST_CHARACTERS = 1_000_000;

/** Runs a program that is to say something about itself and end. Never rejects. */
export const probe = async (program: string, args: readonly string[], options: Probe): Promise<Probed> => {
  const { execa } = await import('execa');
  const child = execa(program, [...args], {
    cwd: options.cwd,
    env: options.env,
    extendEnv: false,
    reject: false,
    // What asks a question gets no answer.
    stdin: 'ignore',
    maxBuffer: MOST_CHARACTERS,
    // A group of its own, so that what it started and left on its output ends with it.
    detached: true,
  });
  const timer = setTimeout(() => endGroup(child.pid), options.timeoutMs ?? TIMEOUT_MS);
  const { exitCode, stdout, stderr } = await child;
  clearTimeout(timer);
  return { code: exitCode, stdout, stderr };
};

const endGroup = (pid: number | undefined): void => {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
};
