import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import type { Readable } from 'node:stream';

/** What is started. */
export interface Start {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Bytes, or a descriptor of an open file; `undefined`: nothing. */
  readonly stdin: string | Uint8Array | number | undefined;
  /** A descriptor of an open file, a consumer that is waited for, or `undefined`: collected. */
  readonly stdout: number | ((chunk: Buffer) => Promise<void>) | undefined;
  /** Ends the whole group when it is over. */
  readonly timeoutMs: number | undefined;
  /** Collected output above which the process is ended. */
  readonly maxBytes: number;
}

/** How a process ended; one of `exitCode`, `signal` and `code` is there. */
export interface Ended {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** Of the system error, when it could not be started. */
  readonly code: string | undefined;
  readonly timedOut: boolean;
  readonly tooMuch: boolean;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** Of what is said on standard error the end is kept. */
const MOST_STDERR_BYTES = 256 * 1024;

const NOTHING = Buffer.alloc(0);

/**
 * Starts a process and waits for its end and for the end of its output. Nothing is thrown but what a consumer throws: then
 * the process is ended first.
 */
export const runProcess = async (start: Start): Promise<Ended> => {
  const child = startProcess(start);
  if (typeof child === 'string') return neverStarted(child);
  const ending = endOf(child);
  const deadline = startDeadline(child, start.timeoutMs);
  // A process that reads no input may be gone before it got all.
  child.stdin?.on('error', () => undefined);
  if (typeof start.stdin !== 'number') child.stdin?.end(start.stdin);
  const stderr = collectEnd(child.stderr);
  try {
    const stdout = await takeOutput(child, start);
    const end = await ending;
    const timedOut = deadline.end();
    return { ...end, timedOut, tooMuch: stdout === undefined, stdout: stdout ?? NOTHING, stderr: stderr() };
  } catch (error) {
    child.kill('SIGKILL');
    const end = await ending;
    // The output was cut off when time was up.
    if (!deadline.end()) throw error;
    return { ...end, timedOut: true, tooMuch: false, stdout: NOTHING, stderr: stderr() };
  }
};

const neverStarted = (code: string): Ended => ({
  exitCode: undefined,
  signal: undefined,
  code,
  timedOut: false,
  tooMuch: false,
  stdout: NOTHING,
  stderr: NOTHING,
});

const startProcess = (start: Start): ChildProcess | string => {
  const { program, args, cwd, env, stdin, stdout, timeoutMs } = start;
  const input = typeof stdin === 'number' ? stdin : 'pipe';
  const stdio: StdioOptions = [
    stdin === undefined ? 'ignore' : input,
    typeof stdout === 'number' ? stdout : 'pipe',
    'pipe',
  ];
  try {
    // A session of its own has no terminal that ssh could ask on, and can be ended with all that it started.
    return spawn(program, args, { cwd, env, stdio, detached: timeoutMs !== undefined, windowsHide: true });
  } catch (error) {
    // Too long a command line, above all.
    return (error as NodeJS.ErrnoException).code ?? 'unknown error';
  }
};

type Ending = Pick<Ended, 'exitCode' | 'signal' | 'code'>;

const endOf = (child: ChildProcess): Promise<Ending> =>
  new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ exitCode: undefined, signal: undefined, code: error.code ?? 'unknown error' }),
    );
    child.once('close', (exitCode, signal) =>
      resolve({ exitCode: exitCode ?? undefined, signal: signal ?? undefined, code: undefined }),
    );
  });

/** Output that is collected; `undefined` when it was too much. */
const takeOutput = async (child: ChildProcess, { stdout, maxBytes }: Start): Promise<Buffer | undefined> => {
  if (child.stdout === null) return NOTHING;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    if (typeof stdout === 'function') await stdout(chunk);
    else chunks.push(chunk);
    bytes += chunk.length;
    if (typeof stdout !== 'function' && bytes > maxBytes) {
      child.kill('SIGKILL');
      return undefined;
    }
  }
  return Buffer.concat(chunks);
};

const collectEnd = (stream: Readable | null): (() => Buffer) => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    while (bytes - (chunks[0]?.length ?? 0) > MOST_STDERR_BYTES) bytes -= chunks.shift()?.length ?? 0;
  });
  return () => Buffer.concat(chunks);
};

/** Between TERM, on which git removes its lock files, and KILL. */
const GRACE_MS = 2_000;

/** Ends the whole group when time is up: a helper that outlives git would hold our pipes open for ever. */
const startDeadline = (
  child: ChildProcess,
  timeoutMs: number | undefined,
): { readonly end: () => boolean } => {
  if (timeoutMs === undefined) return { end: () => false };
  let timedOut = false;
  let timer = setTimeout(() => {
    timedOut = true;
    signalGroup(child.pid, 'SIGTERM');
    timer = setTimeout(() => {
      signalGroup(child.pid, 'SIGKILL');
      child.stdout?.destroy();
      child.stderr?.destroy();
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
