import type { ChildEnd, Usage, Verdict } from './child.js';
import type { Digest } from './digest.js';
import type { Ticket } from './ticket.js';

/**
 * The one vocabulary of a run: the journal stores these, the machine consumes them, the reporter prints them and
 * `run --json` emits them. An event carries facts that have happened, and all that a replay or a document needs.
 */
export type RunEvent =
  | RunOpened
  | RunRebuilt
  | PipelineChanged
  | TargetStarted
  | ChildEnded
  | WorkSealed
  | GateAnswered
  | ApprovalAnswered
  | TargetDone
  | TargetFailed
  | TargetInvalidated
  | TargetPaused
  | TargetAbandoned
  | DirectiveRead
  | RunStopped
  | RunFinished;

export interface RunOpened {
  readonly type: 'run.opened';
  readonly ticket: string;
  /** From 1; each `run --rebuild` opens the next one. */
  readonly epoch: number;
  /** The chain that this epoch follows; absent for the first. */
  readonly previous?: PreviousEpoch;
  readonly pipeline: {
    readonly name: string;
    readonly digest: Digest;
    /** `builtin`, or the YAML file: relative inside the repository, else absolute. */
    readonly file: string;
    readonly sources: readonly DocumentPointer[];
  };
  readonly documents: readonly DocumentWrite[];
}

/** Head of the journal that was archived under `epochs/`, so that the chain of a ticket goes through all its epochs. */
export interface PreviousEpoch {
  readonly epoch: number;
  readonly seq: number;
  /** SHA-256 of its last line, hexadecimal. */
  readonly hash: string;
}

/**
 * The second line of an epoch that a rebuild opened: what it takes over besides results. The results follow as the events
 * of the old journal themselves, each with the time at which it happened.
 */
export interface RunRebuilt {
  readonly type: 'run.rebuilt';
  /** The target that was named. */
  readonly asked: string;
  readonly because: string;
  /** It and everything downstream, as never made. */
  readonly targets: readonly string[];
  /** Starts of each target in all epochs so far, so that `ticket.target.generation` never names two forks. */
  readonly attempts: Readonly<Record<string, number>>;
  /** Directives that prompts of earlier epochs carried. */
  readonly delivered: readonly number[];
  readonly left?: LeftBehind;
  /** Earlier rounds of reviews whose last one is carried: their dismissed findings and dead ends stay known. */
  readonly rounds?: readonly ReviewRound[];
  readonly documents?: readonly DocumentWrite[];
}

/** One critic round, as document 30 shows it. */
export interface ReviewRound {
  readonly round: number;
  readonly at: string;
  readonly target: string;
  readonly child?: string;
  readonly outcome: 'APPROVED' | 'REJECTED' | 'REFUSED';
  readonly receipt?: Receipt;
  readonly verdict?: Verdict;
  readonly detail: readonly string[];
}

/**
 * Where earlier epochs left git. Good for one thing: as the old value under which the ticket's branch may be moved. Nothing
 * is made from it and nothing is proved by it.
 */
export interface LeftBehind {
  readonly branch: string;
  readonly remoteUrl?: string;
  /** Head of the branch in the user's repository. */
  readonly commit?: string;
  /** Head of the branch on the remote. */
  readonly pushed?: string;
  /** What landed from the base that this epoch still stands on. */
  readonly landed?: string;
}

/** The pipeline, the kernel or a manual is not what it was. Recorded once a change; the recipes of targets tell what it touches. */
export interface PipelineChanged {
  readonly type: 'pipeline.changed';
  readonly digest: Digest;
  readonly sources: readonly DocumentPointer[];
}

/** A pointer, not a copy: path relative to the repository (or absolute outside it) and the digest of its bytes. */
export interface DocumentPointer {
  readonly path: string;
  readonly digest: Digest;
}

/**
 * What an event writes into the state directory. The text is in the journal, so that a crash between the line and the
 * file costs nothing: the next boot writes the same bytes.
 */
export interface DocumentWrite {
  readonly name: string;
  /** Appended to the document; without it the document is created, once. */
  readonly append?: true;
  readonly text: string;
}

export interface TargetStarted {
  readonly type: 'target.started';
  readonly target: string;
  /** From 1; counts starts over all epochs. Also the generation of the fork, where there is one. */
  readonly attempt: number;
  /** Why it runs, in a sentence: "never made", "input plan changed". */
  readonly reason: string;
  readonly recipe: Digest;
  readonly inputs: Readonly<Record<string, Digest>>;
  /** Folder under `children/`; absent for work in process. */
  readonly child?: string;
  /** Directives that the prompt of this child carries. */
  readonly directives?: readonly number[];
  /** Round of the review loop, from 1. */
  readonly round: number;
  /** For a review: digest of the nonce that its prompt carries, and what is judged. The nonce itself is in no record. */
  readonly nonce?: Digest;
  readonly receipt?: Receipt;
  readonly containment?: ContainmentRecord;
  /** Which agent `auto` took, and why it. */
  readonly agent?: { readonly name: string; readonly why: string };
  /** Digest of the git administration at the fork, see `effects/fingerprint`. */
  readonly administration?: Digest;
}

/** What a child or a check could reach. */
export interface ContainmentRecord {
  /** `sandbox`: only what it was given. `same-user`: whatever the user can; what it does to the record is found, not prevented. */
  readonly tier: 'sandbox' | 'same-user';
  /** Which sandbox, or why there is none. */
  readonly detail: string;
}

/** The end of a child whose work is still to be sealed and judged. */
export interface ChildEnded {
  readonly type: 'child.ended';
  readonly target: string;
  readonly attempt: number;
  readonly end: ChildEnd;
  readonly summary: readonly string[];
  readonly usage: Usage;
  /** `no-change` and `blocked` as the worker said; absent when it returned nothing valid. */
  readonly status?: 'done' | 'no-change' | 'blocked';
  readonly verdict?: Verdict;
  readonly stdoutBytes: number;
  readonly leftovers: number;
}

/** The parent copied or snapshotted what the child made; from here on only these bytes count. */
export interface WorkSealed {
  readonly type: 'work.sealed';
  readonly target: string;
  readonly attempt: number;
  readonly artifacts: readonly DocumentPointer[];
  readonly receipt?: Receipt;
}

/** What a verdict or an approval is bound to. DESIGN section 5. */
export interface Receipt {
  readonly base: string;
  readonly tree: string;
  /** SHA-256 of the bytes of branch.diff, for people. */
  readonly diff: Digest;
  readonly diffBytes: number;
  /** Digest of the raw records; survives a clean merge of a moved base. */
  readonly records: Digest;
  readonly plan?: Digest;
  readonly ignored: Digest;
  readonly files: number;
  readonly addedLines: number;
  readonly removedLines: number;
  readonly pages: readonly Digest[];
}

export type GateOutcome = 'passed' | 'refused' | 'awaiting';

export interface GateAnswered {
  readonly type: 'gate.answered';
  readonly target: string;
  readonly attempt: number;
  /** Position in the target's list, from 0. */
  readonly gate: number;
  readonly kind: string;
  readonly outcome: GateOutcome;
  /** What the answer is bound to. */
  readonly digest: Digest;
  readonly detail: readonly string[];
  /** For checks: what was run. */
  readonly command?: readonly string[];
  readonly exitCode?: number;
  readonly outputDigest?: Digest;
  readonly containment?: ContainmentRecord;
  readonly documents?: readonly DocumentWrite[];
}

export interface ApprovalAnswered {
  readonly type: 'approval.answered';
  readonly target: string;
  readonly digest: Digest;
  readonly answer: 'approved' | 'rejected';
  /** `person` with login name, or `policy` with its rule; a policy is never recorded as a person. */
  readonly by: string;
  readonly how: 'tty' | 'command' | 'policy';
  /** Host and terminal that it came from. Absent in records of earlier versions. */
  readonly from?: string;
  readonly note?: string;
}

export interface TargetDone {
  readonly type: 'target.done';
  readonly target: string;
  readonly attempt: number;
  readonly output: Digest;
  /** At most 15 lines. */
  readonly summary: readonly string[];
  /** For a plain command: its end, so that one line is enough. */
  readonly end?: ChildEnd;
  readonly stdoutBytes?: number;
  /** Facts that later targets use, by builtin. */
  readonly facts?: Facts;
  readonly documents?: readonly DocumentWrite[];
}

/** A file's digest and the stat that it was computed under, so that an unchanged file need not be read again. */
export interface FileStat {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  readonly digest: Digest;
}

/** What a target found out and later targets use. */
export interface Facts {
  readonly ticket?: Ticket;
  readonly ticketDigest?: Digest;
  readonly author?: { readonly name: string; readonly email: string };
  readonly notes?: readonly string[];
  readonly branch?: string;
  readonly base?: string;
  readonly baseBranch?: string;
  readonly tree?: string;
  readonly remoteUrl?: string;
  readonly commit?: string;
  readonly pushed?: string;
  readonly landed?: string;
  readonly plan?: Digest;
  readonly planPaths?: readonly string[];
}

export interface TargetFailed {
  readonly type: 'target.failed';
  readonly target: string;
  readonly attempt: number;
  /** A `FailureKind`; decides the exit status. */
  readonly kind: string;
  readonly message: string;
  readonly next?: string;
  /** True when the policy tries again. */
  readonly retry: boolean;
  /** The provider's fault, which passes: it counts as no failed attempt, and the next one waits. */
  readonly passing?: true;
  readonly end?: ChildEnd;
  readonly summary?: readonly string[];
  readonly documents?: readonly DocumentWrite[];
}

/** A target that was done (or active) is out of date: a verdict, a red check, a rejection, a changed input. */
export interface TargetInvalidated {
  readonly type: 'target.invalidated';
  readonly target: string;
  /** Targets between it and the one that found fault, which are out of date with it. */
  readonly also: readonly string[];
  readonly because: string;
  /** Blockers, notes of a rejection, the tail of a failed check: the next attempt's input. */
  readonly feedback: readonly string[];
  /** A new round of the review loop begins. */
  readonly round?: number;
  readonly documents?: readonly DocumentWrite[];
}

export interface TargetPaused {
  readonly type: 'target.paused';
  readonly target: string;
  readonly attempt: number;
  readonly until: string | null;
  readonly message: string;
}

export interface TargetAbandoned {
  readonly type: 'target.abandoned';
  readonly target: string;
  readonly because: string;
}

export interface DirectiveRead {
  readonly type: 'directive.read';
  readonly id: number;
  readonly digest: Digest;
  /** Its first 200 characters on one line, cleaned, so that 99 can be written from the journal alone. */
  readonly text: string;
}

export interface RunStopped {
  readonly type: 'run.stopped';
  readonly by: string;
  readonly left: number;
}

export interface RunFinished {
  readonly type: 'run.finished';
  readonly documents?: readonly DocumentWrite[];
}

/** A line of journal.jsonl. */
export interface JournalLine {
  readonly v: 1;
  /** From 1. */
  readonly seq: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly event: RunEvent;
}
