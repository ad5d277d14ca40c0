import type { Digest } from './digest.js';

/** A validated `targets.yaml`: plain data, defaults filled in, `extends` and `foreach` resolved. */
export interface Pipeline {
  readonly name: string;
  /** Digest of everything in this object but `sources` and `digest` itself. */
  readonly digest: Digest;
  /** Every file that it was read from: the YAML files, the kernel, the manuals. Absolute paths. */
  readonly sources: readonly SourceFile[];
  readonly settings: Settings;
  readonly workers: Readonly<Record<string, WorkerSpec>>;
  /** Topological order; ties by number. */
  readonly targets: readonly Target[];
}

export interface SourceFile {
  readonly path: string;
  readonly digest: Digest;
  readonly bytes: number;
  readonly mtimeMs: number;
}

export interface Settings {
  /** Ticket source. `path` is relative to the repository root and contains `{ticket}`. */
  readonly tickets: { readonly source: 'file'; readonly path: string };
  /** Name of the git remote that is pushed to and landed on; without it commit is the last git step. */
  readonly remote: string;
  /** Base branch; without it the branch that is checked out, or the remote's default branch on a detached HEAD. */
  readonly base?: string;
  /** Branch of a ticket; contains `{ticket}`. */
  readonly branch: string;
  /** Children at the same time, over all tickets of one `run`. */
  readonly jobs: number;
  /** Critic rounds of one ticket. */
  readonly rounds: number;
  readonly pillars: readonly string[];
  /** The resident instructions of every worker. */
  readonly kernel?: ManualRef;
  /** Names of environment variables that children may see besides the built-in allowlist. */
  readonly env: readonly string[];
  /** Of checks, and of workers that have none of their own. */
  readonly sandbox: SandboxRule;
  /** Ignored files and folders of the user's checkout (dependencies) that trees and clean checkouts are given. */
  readonly ignored: readonly string[];
  readonly budget?: Budget;
}

export interface ManualRef {
  /** Absolute path. */
  readonly path: string;
  readonly digest: Digest;
  readonly bytes: number;
}

/** Adapters of real agents, in the order in which `auto` looks for one. */
export const AGENTS = ['claude', 'codex', 'gemini', 'opencode', 'pi', 'qwen', 'copilot'] as const;
export type AgentName = (typeof AGENTS)[number];
export type Adapter = 'command' | 'scripted' | 'auto' | AgentName;
export type Access = 'none' | 'read-only' | 'write';

/** How much of the machine a worker or a check can reach. */
export interface SandboxRule {
  /** `auto`: a sandbox where there is one, else a warning; `required`: nothing is started without; `off`: none. */
  readonly mode: 'auto' | 'required' | 'off';
  /** Without it only a loopback of its own. */
  readonly network: boolean;
  /** More paths that can be read or written inside; absolute, `~/…`, or relative to the repository. */
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/** Where a run stops before its next fork; unknown use counts as nothing, and that is said. */
export interface Budget {
  readonly costUsd?: number;
  /** Input (cached ones too) and output together. */
  readonly tokens?: number;
}

export interface WorkerSpec {
  readonly name: string;
  readonly adapter: Adapter;
  /** Program and arguments for `command`. `{tree}`, `{out}`, `{prompt}`, `{return}`, `{ticket}`, `{target}` are replaced. */
  readonly command: readonly string[];
  /** For `auto`: which agents may be taken, in this order, each one when those before it cannot go on. Empty: any, once. */
  readonly agents: readonly AgentName[];
  /** For `auto`: name of a worker; an agent of another model family than that worker's is taken where there is one. */
  readonly unlike?: string;
  readonly model?: string;
  /** Further arguments for the agent's program, behind those of the adapter. */
  readonly args: readonly string[];
  /** Turns of the model after which an agent is ended. */
  readonly maxTurns?: number;
  readonly sandbox: SandboxRule;
  /** Variables set for this worker only. */
  readonly env: Readonly<Record<string, string>>;
  /** Shown wherever the worker is named, e.g. "scripted worker, not a model". */
  readonly label?: string;
}

export const BUILTINS = ['read-init-d', 'ticket', 'commit', 'push', 'land'] as const;
export type Builtin = (typeof BUILTINS)[number];

export type Recipe =
  | { readonly kind: 'builtin'; readonly builtin: Builtin }
  /** `argv` is run as it is; a string in YAML becomes `['/bin/sh', '-c', text]`. */
  | { readonly kind: 'command'; readonly argv: readonly string[] }
  | { readonly kind: 'worker'; readonly worker: string };

/** What a worker target brings back, and so how its work is sealed. */
export type Makes = 'plan' | 'diff' | 'review' | 'notes' | 'files';

export type Gate =
  | { readonly kind: 'approval'; readonly by: 'person' }
  | { readonly kind: 'approval'; readonly by: 'policy'; readonly policy: ApprovalPolicy }
  | {
      readonly kind: 'check';
      readonly name: string;
      readonly argv: readonly string[];
      readonly timeoutMs: number;
    }
  | { readonly kind: 'blast-radius' }
  | { readonly kind: 'not-empty' }
  | { readonly kind: 'verdict' };

export interface ApprovalPolicy {
  /** Globs; every path of the plan or diff must match one. */
  readonly paths: readonly string[];
  readonly maxFiles: number;
  /** Added plus removed lines. */
  readonly maxLines: number;
}

export interface Limits {
  /** No new output for so long ends the child. */
  readonly idleMs: number;
  /** The whole run of a child. */
  readonly timeoutMs: number;
  /** Between TERM and KILL. */
  readonly graceMs: number;
}

export interface Target {
  readonly number: number;
  readonly name: string;
  /** Names of prerequisites. */
  readonly needs: readonly string[];
  readonly recipe: Recipe;
  readonly makes: Makes;
  readonly access: Access;
  readonly manual?: ManualRef;
  /** Paths or globs, relative to the tree (or the repository where there is no tree), whose bytes decide freshness. */
  readonly inputs: readonly string[];
  /** Paths that must exist after the recipe; their bytes are the target's output. Relative as `inputs`. */
  readonly outputs: readonly string[];
  readonly gates: readonly Gate[];
  /** Target that is made again when this one's verdict is REJECTED. */
  readonly onReject?: string;
  /** Failed attempts of one round before the target fails. */
  readonly attempts: number;
  readonly limits: Limits;
  /** Once done it is never made again in this epoch; a change is reported and held. */
  readonly latch: boolean;
  /** Runs only when the ticket has one of these labels; otherwise it is done at once, with that reason. */
  readonly whenLabels?: readonly string[];
  /** Digest of the definition, its worker, kernel and manual: the recipe part of freshness. */
  readonly recipeDigest: Digest;
}
