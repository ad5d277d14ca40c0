import { spawnSync } from 'node:child_process';

/** What a command of the script did, as this process saw it. */
export interface CommandResult {
  readonly outcome: 'passed' | 'failed' | 'not-started';
  /** "exit 1", "signal SIGKILL", "not started: …". */
  readonly how: string;
  /** Last lines of its output, controls removed, folder names shortened. */
  readonly tail: readonly string[];
  /** "9 tests, 8 pass, 1 fail" where the output is that of `node --test`, else undefined. */
  readonly counts?: string;
}

const TAIL_LINES = 10;
const LINE_CHARACTERS = 180;
const TIMEOUT_MS = 120_000;
const OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * The project's own code learns nothing of the contract with the parent. The marker stays: with it the parent finds
 * processes that are left over.
 */
const childEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) =>
        name === 'ORCHESTRATE_CHILD' || (!name.startsWith('ORCHESTRATE_') && name !== 'NODE_TEST_CONTEXT'),
    ),
  );

type Ended = Pick<CommandResult, 'outcome' | 'how'>;

const howItEnded = (result: ReturnType<typeof spawnSync>): Ended => {
  const { status, signal, error } = result;
  if (status === null && signal === null) {
    return { outcome: 'not-started', how: `not started: ${error?.message ?? 'unknown reason'}` };
  }
  if (signal !== null) return { outcome: 'failed', how: `signal ${signal}` };
  return { outcome: status === 0 && error === undefined ? 'passed' : 'failed', how: `exit ${status}` };
};

const countsIn = (output: string): string | undefined => {
  const count = (name: string): string | undefined =>
    new RegExp(`^\\W+${name} (\\d+)$`, 'm').exec(output)?.[1];
  const tests = count('tests');
  return tests === undefined ? undefined : `${tests} tests, ${count('pass')} pass, ${count('fail')} fail`;
};

const tailOf = (output: string, cwd: string): readonly string[] =>
  output
    .replaceAll(cwd, '.')
    // Colours and other controls, but not the newline.
    .replaceAll(/\u001b\[[0-9;]*m/g, '')
    .replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, ' ')
    .split('\n')
    .map((line) => line.trimEnd().slice(0, LINE_CHARACTERS))
    .filter((line) => line !== '')
    .slice(-TAIL_LINES);

/** Runs a command to its end; the program `node` is the Node of this process. Never throws for what it did. */
export const runCommand = (argv: readonly string[], cwd: string): CommandResult => {
  const [program = '', ...args] = argv;
  const result = spawnSync(program === 'node' ? process.execPath : program, args, {
    cwd,
    env: childEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
    maxBuffer: OUTPUT_BYTES,
  });
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}`;
  const counts = countsIn(output);
  return {
    ...howItEnded(result),
    tail: tailOf(output, cwd),
    ...(counts === undefined ? {} : { counts }),
  };
};
