import type { Digest } from './digest.js';
import type { Limits } from './pipeline.js';

/** A request to fork, as plain data: it can be written to disk, logged, or sent to another machine. */
export interface ForkRequest {
  readonly ticket: string;
  readonly target: string;
  /** Number of the target, for the folder's name. */
  readonly number: number;
  /** Counts every fork of this target in this epoch, from 1. `ticket.target.generation` forks at most once. */
  readonly generation: number;
  /** The child's folder, absolute: `children/03-implementation-diff.2`. */
  readonly dir: string;
  /** Program and arguments; the program is an absolute path or is looked up on the child's PATH. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment of the child: nothing is added. */
  readonly env: Readonly<Record<string, string>>;
  /** Written to `prompt.md` and given as standard input, then EOF. Without it standard input is empty. */
  readonly prompt?: string;
  /** Unguessable path in `out/` that the child writes its return to; `undefined` for a plain command. */
  readonly returnPath?: string;
  readonly limits: Limits;
}

/** A process is an identity, not a number: a pid alone may belong to someone else by now. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, as text, from `/proc/PID/stat` field 22; on systems without procfs `ps -o lstart=`. */
  readonly startTime: string;
  readonly bootId: string;
}

/** How a child ended. Each has one policy (`scheduler/policy.ts`). A signal is never success. */
export type ChildEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'idle-timeout'; readonly idleMs: number }
  | { readonly kind: 'timeout'; readonly timeoutMs: number }
  /** The orchestrator ended it on request of a person. */
  | { readonly kind: 'stopped'; readonly by: string }
  /** Its end can no longer be known: reboot, reaper killed, record incomplete. */
  | { readonly kind: 'lost'; readonly detail: string }
  /** It could not be started: no such program, argument list too long, no such directory. */
  | { readonly kind: 'not-started'; readonly detail: string }
  | { readonly kind: 'usage-limit'; readonly resetAt?: string }
  | { readonly kind: 'auth'; readonly detail: string }
  | { readonly kind: 'overloaded'; readonly detail: string }
  /** Exit status 0, but what it returned is not valid. */
  | { readonly kind: 'contract'; readonly problems: readonly string[] }
  /** Exit status 0, but nothing was produced. */
  | { readonly kind: 'empty' };

/** Tokens and money, as the agent itself recorded them; unknown is `null`, never 0. */
export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
}

export const UNKNOWN_USAGE: Usage = { inputTokens: null, outputTokens: null, costUsd: null };

/** What the parent keeps of a child: nothing else of it stays in memory. */
export interface WaitStatus {
  readonly end: ChildEnd;
  readonly identity?: ProcessIdentity;
  readonly startedAt: string;
  readonly endedAt: string;
  /** Bytes on disk. */
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** Processes of its session or with its marker that were still there after the end and had to be ended. */
  readonly leftovers: number;
}

/** The return file of a worker after its schema was checked. */
export interface WorkerReturn {
  readonly status: 'done' | 'no-change' | 'blocked';
  /** At most 15 lines of 200 characters, controls removed. */
  readonly summary: readonly string[];
  readonly verdict?: Verdict;
  readonly usage?: Usage;
}

export interface Verdict {
  readonly verdict: 'APPROVED' | 'REJECTED';
  /** The round's nonce, repeated. */
  readonly nonce: string;
  readonly blockers: readonly Finding[];
  /** One entry a pillar: a finding or an explicit "none". */
  readonly pillars: Readonly<Record<string, string>>;
  readonly dismissed: readonly string[];
  readonly deadEnds: readonly string[];
  /** Digests of the pages of branch.diff that were read. */
  readonly pages: readonly Digest[];
}

export interface Finding {
  readonly title: string;
  readonly path?: string;
  readonly detail: string;
}
