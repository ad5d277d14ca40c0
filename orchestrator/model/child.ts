import { digestOf, type Digest } from './digest.js';
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
  /** `socket`: standard output is held by this process and the child alone, and ends with this process. Default `log`. */
  readonly output?: 'log' | 'socket';
  /** How the return comes back, for whoever waits for the child again. */
  readonly returns?: 'file' | 'value' | 'answer' | 'last-line';
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
  /** What an agent itself said went wrong, by its structured output or its standard error. */
  | TroubleEnd
  /** It had said its last word, stayed alive for its grace, and was ended. Not a failure. */
  | { readonly kind: 'finished' }
  /** Exit status 0, but what it returned is not valid. */
  | { readonly kind: 'contract'; readonly problems: readonly string[] }
  /** Exit status 0, but nothing was produced. */
  | { readonly kind: 'empty' };

/** Why an agent could not do its work, by name. Each has one policy. */
export const TROUBLES = [
  /** The account's limit; it resets at a time that may be known. */
  'usage-limit',
  /** The provider is busy or broken for the moment. */
  'overloaded',
  /** The provider cannot be reached. */
  'network',
  /** Not logged in, or the key is refused. */
  'auth',
  /** The prompt, or what the session grew to, is longer than the model's window. */
  'context-overflow',
  'max-turns',
  /** The agent's own limit on money. */
  'max-budget',
  'permission-denied',
  'refusal',
  /** The answer was cut off. */
  'truncated',
  /** Something else that the agent reports as its failure, e.g. an unknown model. */
  'agent-failed',
] as const;

export interface Trouble {
  readonly kind: (typeof TROUBLES)[number];
  /** In the agent's words, one cleaned line of at most 200 characters. */
  readonly detail: string;
  /** For `usage-limit`, ISO 8601, UTC: when it resets, where the agent said so. */
  readonly resetAt?: string;
}

/** One member a kind, so that each can have its own policy. */
type TroubleEnd = {
  readonly [Kind in Trouble['kind']]: { readonly kind: Kind } & Omit<Trouble, 'kind'>;
}[Trouble['kind']];

/** Tokens and money, as the agent itself recorded them; unknown is `null`, never 0. */
export interface Usage {
  /** Without those that came from the provider's cache. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
  /** Read from, and written to, the provider's cache. Absent in records of earlier versions. */
  readonly cacheReadTokens?: number | null;
  readonly cacheWriteTokens?: number | null;
}

export const UNKNOWN_USAGE: Usage = {
  inputTokens: null,
  outputTokens: null,
  costUsd: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
};

const addKnown = (a: number | null | undefined, b: number | null | undefined): number | null =>
  b === null || b === undefined ? (a ?? null) : (a ?? 0) + b;

/** What is known of the sum: unknown parts add nothing. */
export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: addKnown(a.inputTokens, b.inputTokens),
  outputTokens: addKnown(a.outputTokens, b.outputTokens),
  costUsd: addKnown(a.costUsd, b.costUsd),
  cacheReadTokens: addKnown(a.cacheReadTokens, b.cacheReadTokens),
  cacheWriteTokens: addKnown(a.cacheWriteTokens, b.cacheWriteTokens),
});

/**
 * What the markers of all children of one target begin with; the attempt and the orchestrator's pid follow. Repositories have tickets
 * of the same name.
 * @param root of the repository, absolute
 */
export const childMarker = (root: string, ticket: string, target: string): string =>
  `${digestOf(root).slice('sha256:'.length, 'sha256:'.length + 12)}.${ticket}.${target}.`;

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
