/** What the hostile worker is told: plain data, written by `orchestrate attack` into the throw-away folder. */

/** A process that is left behind, and what it does when its parent is gone. */
export type Late =
  /** Waits for the next child, then says in the log of the worker that it is still there. */
  | { readonly do: 'speak'; readonly child: string }
  /** Appends to a file as fast as it can, from the moment at which `after` is there until it is ended. */
  | { readonly do: 'scribble'; readonly path: string; readonly text: string; readonly after: string }
  /** Waits for the critic, then tries to put a verdict into what the critic says. */
  | { readonly do: 'speak-for-critic'; readonly child: string }
  /** Waits for the critic, kills the orchestrator, and rewrites the records so that the next one takes a forged return. */
  | { readonly do: 'usurp'; readonly child: string }
  /** Approves as a person would, as soon as it is asked for. */
  | { readonly do: 'approve'; readonly ticket: string; readonly target: string }
  /** Keeps standard output open. */
  | { readonly do: 'hold'; readonly forMs: number };

/** A record of a child that never ran. `ended`: with an exit status; `gone`: with a pid that is nobody's; `reused`: of somebody else. */
export type ForgedChild = 'ended' | 'gone' | 'reused';

export type Deed =
  | { readonly do: 'write'; readonly path: string; readonly text: string; readonly append?: true }
  | { readonly do: 'remove'; readonly path: string }
  | { readonly do: 'move'; readonly path: string; readonly to: string }
  | { readonly do: 'link'; readonly path: string; readonly to: string }
  | { readonly do: 'chmod'; readonly path: string; readonly mode: number }
  | { readonly do: 'fifo'; readonly path: string }
  /** In the tree, as the worker's own git. */
  | { readonly do: 'git'; readonly args: readonly string[]; readonly input?: string }
  /** Tells git to show a file as it was for the file as it is now. */
  | { readonly do: 'replace-object'; readonly path: string }
  /** A file in the index that is nowhere else. */
  | { readonly do: 'stage-ghost'; readonly path: string; readonly text: string }
  /** Writes `text` into the tree, and `lie` into the private store under the name of that text. */
  | { readonly do: 'poison'; readonly path: string; readonly text: string; readonly lie: string }
  | {
      readonly do: 'approve';
      readonly ticket: string;
      readonly target: string;
      /** With the marker of a worker in the environment, without it, or as a process that has left its ancestors. */
      readonly as: 'worker' | 'unmarked' | 'orphan';
    }
  /** `hidden`: in a session of its own, without the marker, and with nobody as its parent. */
  | { readonly do: 'leave'; readonly hidden: boolean; readonly late: Late }
  /** Until the process that was left behind has done its part, where there is one. */
  | { readonly do: 'wait-for-late' }
  | { readonly do: 'look'; readonly at: Sight; readonly name?: string }
  | { readonly do: 'forge-line'; readonly ticket: string; readonly event: unknown }
  | { readonly do: 'forge-child'; readonly child: string; readonly as: ForgedChild }
  | { readonly do: 'plant-return'; readonly child: string }
  /** Takes a target out; what needed it needs what it needed. */
  | { readonly do: 'edit-pipeline'; readonly target: string };

/** What a worker may want to see of the orchestrator. */
export type Sight = 'own-environment' | 'parent-environment' | 'parent-memory' | 'seal-key';

/** One hostile step, and the attack that it belongs to. */
export type Step = Deed & { readonly row: string };

/** How a critic answers; every part that is left out is honest. */
export interface Forgery {
  readonly row: string;
  readonly verdict: 'APPROVED' | 'none';
  /** `earlier`: of another child's prompt, where that can be read. `quoted`: found in a file of the tree. */
  readonly nonce?: 'earlier' | 'quoted';
  readonly pages?: 'first';
  readonly pillars?: 'none';
  readonly blockers?: true;
  readonly form?: 'plain' | 'fence' | 'look-alike' | 'same-key-twice' | 'second-verdict';
  /** How it ends after its answer; default 0. */
  readonly exit?: number;
  readonly signal?: 'SIGKILL';
}

/** What one attempt of one target does: steps, honest work unless `idle`, steps, then the return. */
export interface Act {
  readonly before?: readonly Step[];
  readonly after?: readonly Step[];
  readonly idle?: true;
  /** Default `done`. */
  readonly status?: 'blocked' | 'done';
  readonly forgery?: Forgery;
}

/** By ticket and target: the acts of its attempts, the first one first. Behind the last one it is honest. */
export type Acts = Readonly<Record<string, Readonly<Record<string, readonly Act[]>>>>;

/** The file that the worker is started with. */
export interface Orders {
  /** Must be in the environment as well: nobody starts this program by mistake. */
  readonly token: string;
  /** The throw-away folder: nothing outside of it is touched. */
  readonly dir: string;
  readonly places: Readonly<Record<'repo' | 'home' | 'own' | 'bin', string>>;
  /** The shipped binary, as program and arguments. */
  readonly orchestrate: readonly string[];
  readonly pillars: readonly string[];
  /** Files that a target must make, by its name. */
  readonly outputs: Readonly<Record<string, readonly string[]>>;
  readonly acts: Acts;
}

/** One line of `out/steps.jsonl`: what was really done. */
export interface Deeds {
  readonly row: string;
  readonly do: string;
  readonly outcome: 'done' | 'failed';
  readonly detail: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export const ORDERS_FILE = 'attack.json';
export const TOKEN_VARIABLE = 'ATTACK_TOKEN';
export const LOG_FILE = 'steps.jsonl';
/** What a hostile change carries, so that it can be found wherever it gets to: `evil-28`. */
export const MARK = /evil-([0-9A-Za-z]+)/g;
