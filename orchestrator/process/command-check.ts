/** A check, run by the orchestrator itself: "tests pass" in a summary is prose. DESIGN section 5.5. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, read, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { ChildEnd, ProcessIdentity } from '../model/child.js';
import { digestOf } from '../model/digest.js';
import type { Digest } from '../model/digest.js';
import { Problem } from '../model/failure.js';
import { bootId, identityOf } from '../state/identity.js';
import { codeOf } from './child-folder.js';
import { watchDeadlines } from './deadlines.js';
import { MARKER } from './process-table.js';
import { resolveProgram } from './program.js';
import { noFurtherDescriptors } from './sandbox-descriptors.js';
import { endSession } from './stop.js';
import type { Session, StopReport } from './stop.js';
import { cutSummary } from './summary.js';
import { tailOf } from './tail.js';
import { endOfStatus } from './wait.js';

export interface CheckRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Gets standard output and standard error in the order in which they were written. Replaced. */
  readonly outputFile: string;
  /** Between TERM and KILL; 5,000 ms unless given. */
  readonly graceMs?: number;
  /** Ends it and everything it started; its end is then `stopped`. */
  readonly signal?: AbortSignal;
}

export interface CheckResult {
  readonly end: ChildEnd;
  /** Of the whole output on disk. */
  readonly outputDigest: Digest;
  readonly outputBytes: number;
  /** The last 15 lines, cut and cleaned as a summary. */
  readonly tail: readonly string[];
  /** Processes that were still there after the end and had to be ended. */
  readonly leftovers: number;
}

const GRACE_MS = 5_000;
const READ_BYTES = 1_048_576;
const NO_OUTPUT = { outputDigest: digestOf(''), outputBytes: 0, tail: [], leftovers: 0 };

/**
 * Runs a command to its end in a session of its own. A check does not outlive the orchestrator's interest: it is repeated, not
 * re-attached. Never rejects for what the command did; the digest is of the bytes that it wrote, even if it removed the file.
 * @throws Problem `not-writable` if the output file cannot be written
 */
export const runCheck = async (request: CheckRequest): Promise<CheckResult> => {
  const [name = '', ...args] = request.argv;
  const program = resolveProgram(name, { path: request.env['PATH'], cwd: request.cwd });
  if (program === undefined)
    return notStarted(`program \`${name}\` was not found in \`${request.cwd}\` or on its PATH`);
  const output = openOutput(request.outputFile);
  try {
    const child = start(request, { program, args, output });
    if (typeof child === 'string') return notStarted(child);
    const ended = await waitFor(request, child);
    return { ...ended, ...(await outputOf(output)) };
  } finally {
    closeSync(output);
  }
};

const notStarted = (detail: string): CheckResult => ({ end: { kind: 'not-started', detail }, ...NO_OUTPUT });

/** A new file, never one that a link points at. */
const openOutput = (path: string): number => {
  try {
    mkdirSync(dirname(path), { recursive: true });
    rmSync(path, { force: true });
    return openSync(path, 'wx+', 0o644);
  } catch (error) {
    throw new Problem(
      {
        kind: 'not-writable',
        message: `cannot write \`${path}\`: ${codeOf(error)}`,
        next: 'check free space and permissions',
      },
      { cause: error },
    );
  }
};

interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly output: number;
}

/** @returns the child, or why there is none */
const start = ({ argv, cwd, env }: CheckRequest, { program, args, output }: Program): Running | string => {
  try {
    const child = spawn(program, args, {
      argv0: argv[0],
      cwd,
      env,
      detached: true,
      stdio: ['ignore', output, output, ...noFurtherDescriptors()],
    });
    child.on('error', () => undefined);
    if (child.pid === undefined) return `it could not be started in \`${cwd}\``;
    return {
      child,
      leader: identityOf(child.pid) ?? { pid: child.pid, startTime: 'unknown', bootId: bootId() },
    };
  } catch (error) {
    return `it could not be started (${codeOf(error)})`;
  }
};

interface Running {
  readonly child: ChildProcess;
  readonly leader: ProcessIdentity;
}

const waitFor = async (
  request: CheckRequest,
  { child, leader }: Running,
): Promise<Pick<CheckResult, 'end' | 'leftovers'>> => {
  const { graceMs = GRACE_MS, timeoutMs, signal } = request;
  const marker = request.env[MARKER];
  const session: Session = {
    leader,
    known: new Map(),
    ours: true,
    ...(marker === undefined ? {} : { marker }),
  };
  let cause: ChildEnd | undefined;
  let ending: Promise<StopReport> | undefined;
  const end = (reason: ChildEnd): void => {
    cause ??= reason;
    ending ??= endSession(session, graceMs);
  };
  const onAbort = (): void => end({ kind: 'stopped', by: 'the orchestrator' });
  const cancel = watchDeadlines({
    limits: { timeoutMs, idleMs: Number.POSITIVE_INFINITY, graceMs },
    ageMs: 0,
    sample: () => ({ bytes: 0, mtimeMs: 0 }),
    onExpiry: end,
  });
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted === true) onAbort();
  const last = await endOf(child);
  signal?.removeEventListener('abort', onAbort);
  cancel();
  await ending;
  const left = await endSession(session, graceMs);
  return { end: cause ?? last, leftovers: left.ended + left.left.length };
};

const endOf = async (child: ChildProcess): Promise<ChildEnd> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(code === null ? { kind: 'signalled', signal: signal ?? 'unknown' } : endOfStatus(code));
    });
  });

const readAt = promisify(read);

/** Streamed: the size of the output does not matter to our memory. */
const outputOf = async (
  output: number,
): Promise<Pick<CheckResult, 'outputDigest' | 'outputBytes' | 'tail'>> => {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  let outputBytes = 0;
  for (;;) {
    const { bytesRead } = await readAt(output, buffer, 0, buffer.length, outputBytes);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    outputBytes += bytesRead;
  }
  return {
    outputDigest: `sha256:${hash.digest('hex')}`,
    outputBytes,
    tail: cutSummary(tailOf(output).lines),
  };
};
