export const MAKES = ['plan', 'diff', 'review', 'notes', 'files'] as const;
export type Makes = (typeof MAKES)[number];

/** A validated `tickets/<ticket>.script.yaml`. Each phase is a list: one entry, or one entry a round. */
export interface Script {
  readonly plan: readonly Part<PlanScript>[];
  readonly diff: readonly Part<DiffScript>[];
  readonly files: readonly Part<DiffScript>[];
  readonly review: readonly Part<ReviewScript>[];
  readonly notes: readonly Part<NotesScript>[];
  readonly misbehave: readonly Misbehaviour[];
}

/** What to do in a round: the work, or an answer without work. `round` absent: every round without its own entry. */
export interface Part<T> {
  readonly round?: number;
  readonly answer?: { readonly status: 'no-change' | 'blocked'; readonly because: string };
  readonly work?: T;
}

export type Edit =
  | { readonly kind: 'write'; readonly path: string; readonly text: string }
  | { readonly kind: 'replace'; readonly path: string; readonly old: string; readonly new: string }
  | { readonly kind: 'delete'; readonly path: string };

export interface PlanScript {
  /** Files that are really read before the plan is written. */
  readonly reads: readonly string[];
  /** Globs: the blast radius. */
  readonly paths: readonly string[];
  readonly files?: number;
  readonly lines?: number;
  readonly text: string;
}

/** Test first: the test is written and seen to fail, then the change, then everything is seen to pass. */
export interface Step {
  readonly test?: { readonly edits: readonly Edit[]; readonly run: readonly string[] };
  readonly change: readonly Edit[];
  readonly run?: readonly string[];
}

export interface DiffScript {
  /** Done in the first round, or in the round that the entry names. */
  readonly work?: Step;
  /** Done when the feedback contains the blocker's title. */
  readonly fixes: readonly (Step & { readonly blocker: string })[];
}

/** A claim about the frozen bytes that a command proves or refutes, on a writable copy. */
export interface Probe {
  /** What should hold, as a sentence. */
  readonly claim: string;
  /** The blocker's title when it does not: the wrong behaviour. */
  readonly blocker: string;
  readonly pillar: string;
  readonly path?: string;
  readonly edits: readonly Edit[];
  readonly run: readonly string[];
  readonly expect: 'pass' | 'fail';
  /** Added to the dismissed findings when the claim holds. */
  readonly dismissed?: string;
  /** Added to the dead ends when it does not. */
  readonly deadEnd?: string;
}

export interface ReviewScript {
  readonly probes: readonly Probe[];
}

export interface Scar {
  readonly blocker: string;
  readonly name: string;
  readonly title: string;
  /** Where it happened: later tickets that touch it get the scar. */
  readonly path: string;
  readonly wound: string;
  readonly trap: string;
  readonly reflex: string;
}

export interface NotesScript {
  readonly scars: readonly Scar[];
}

/** A hostile or odd step, for tests of the engine: performed on top of, or in place of, the honest work. */
export interface Misbehaviour {
  readonly makes: Makes;
  /** Absent: in every round, in every attempt. */
  readonly round?: number;
  readonly attempt?: number;
  readonly action: MisbehaveAction;
}

export type MisbehaveAction =
  /** End at once with this status, returning nothing. */
  | { readonly kind: 'exit'; readonly code: number }
  /** Send itself a signal. */
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  /** Print so many bytes on standard output, then work honestly. */
  | { readonly kind: 'print'; readonly bytes: number }
  /** Write a file anywhere, then work honestly. `{tree}` and `{out}` in the path are replaced. */
  | { readonly kind: 'write'; readonly path: string; readonly text: string }
  /** Work honestly, then return these bytes instead of the return file. */
  | { readonly kind: 'return'; readonly text: string }
  | { readonly kind: 'do'; readonly what: Oddity };

export const ODDITIES = [
  /** Print a line and wait until ended. */
  'hang',
  /** The same, without heed to TERM and INT. */
  'hang-ignoring-term',
  /** APPROVED with the right nonce, without reading a page or running a probe. */
  'approve-unread',
  /** APPROVED with every page and a nonce that was made up. */
  'wrong-nonce',
  /** Work honestly, exit 0, return nothing. */
  'no-return',
] as const;
export type Oddity = (typeof ODDITIES)[number];

/** The entry for this round, else the entry for every round. */
export const partFor = <T>(parts: readonly Part<T>[], round: number): Part<T> | undefined =>
  parts.find((part) => part.round === round) ?? parts.find((part) => part.round === undefined);
