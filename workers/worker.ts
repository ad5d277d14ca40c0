import type { Trouble, Usage } from '../orchestrator/model/child.js';
import type { Access, Adapter, WorkerSpec } from '../orchestrator/model/pipeline.js';

/**
 * How one kind of agent program is started and read: plain data in, plain data out. An adapter never spawns, never touches
 * the disk, and reads no clock and no environment, so that `validate` and the tests can ask it anything.
 */
export interface Worker {
  readonly name: Adapter;
  /** Shown wherever a worker of this kind is named; absent when there is nothing to say beyond the target's own label. */
  readonly label?: string;
  /** What is wrong with the spec: one sentence each, with what to do about it; empty when it can be started. */
  readonly problems: (spec: WorkerSpec) => readonly string[];
  /** Must not throw for a spec without problems. */
  readonly invocation: (request: WorkerRequest) => Invocation;
  /** What is known of the program when it is an agent with an output that can be read. */
  readonly agent?: Agent;
}

export interface WorkerRequest {
  readonly spec: WorkerSpec;
  readonly ticket: string;
  readonly target: string;
  readonly access: Access;
  readonly paths: WorkerPaths;
  /** JSON Schema of the return, as one line of text. It is also the file `paths.schema`. */
  readonly schema: string;
  /** The user's home folder, absolute. */
  readonly home: string;
  /** Names of the variables that the child will have from the user: which key is there, never its value. */
  readonly variables: ReadonlySet<string>;
  /** Values of the variables that move an agent's folder (`Login.files[].folder.variable`), where the user has set one. */
  readonly folders?: Readonly<Record<string, string>>;
  /** A sandbox of ours is around it, so the agent's own may be left out where the two do not go together. */
  readonly sandboxed: boolean;
  /** Root of the installed package, absolute: where `dist/` lies. */
  readonly packageRoot: string;
  /** The Node program that runs the orchestrator, absolute. */
  readonly nodePath: string;
}

/** Absolute paths that a worker may be told. */
export interface WorkerPaths {
  /** Its working copy; for a review the frozen checkout. Also its current folder. */
  readonly tree: string;
  readonly out: string;
  /** The prompt as a file; the same bytes arrive on standard input. */
  readonly prompt: string;
  readonly returnPath: string;
  /** A folder of this child alone for the agent's configuration and session; outside the tree, not below a temporary folder. */
  readonly config: string;
  /** File with the JSON Schema of the return; inside `config`. */
  readonly schema: string;
}

/** What to start. The prompt is always given on standard input, never here. */
export interface Invocation {
  /** Program and arguments, passed to the system as they are: no shell reads them. */
  readonly argv: readonly string[];
  /** Variables on top of the allowlist and the `ORCHESTRATE_*` contract. */
  readonly env: Readonly<Record<string, string>>;
  /** True when the program is an agent that needs the keys and the login of its provider. */
  readonly agentKeys: boolean;
  /** Written before the start; `path` is relative to `paths.config`. */
  readonly files?: readonly { readonly path: string; readonly text: string }[];
  /**
   * Files of the user, linked into `paths.config` when they are there: the login. `from` is absolute. What the agent writes to
   * them (a refreshed token) reaches the user's file.
   */
  readonly links?: readonly { readonly path: string; readonly from: string }[];
  /**
   * How the return comes back. `file`: the agent writes `paths.returnPath`. `structured`: the program was given the schema and its
   * output has the value. Default `file`.
   */
  readonly returns?: 'file' | 'structured';
}

/** One agent program, for choosing, checking and reading it. */
export interface Agent {
  /** Its name on the PATH. */
  readonly program: string;
  /** Who makes the models that it uses by default; `any` when the user configures one. */
  readonly family: 'anthropic' | 'openai' | 'google' | 'qwen' | 'any';
  /**
   * Variables with its keys, its endpoint and the place of its settings (`provider-keys.ts`): it gets those and no other agent's.
   */
  readonly keys: readonly string[];
  /** Command that installs it. */
  readonly install: string;
  readonly login: Login;
  /** Text that the output of `helpArgs` has in a version that runs headless the way this adapter runs it. */
  readonly helpArgs: readonly string[];
  readonly helpHas: readonly string[];
  /** Variables that keep it from updating, reporting or asking while it is only asked for its version and help. */
  readonly quiet?: Readonly<Record<string, string>>;
  /**
   * One line of the program's standard output as what it means. Must not throw whatever the line is: not JSON, a warning,
   * cut off, of any length. Text inside an answer, a diff or a tool's output is never a control event.
   */
  readonly readLine: (line: string) => readonly AgentEvent[];
  /**
   * What its standard error says, if anything, once it has ended without a result.
   * @param stderr the last 16,384 bytes at most
   */
  readonly readError?: (stderr: string, exitCode: number | undefined) => Trouble | undefined;
}

/** How it can be seen, without spending a token, that somebody is logged in: one of the two is enough. */
export interface Login {
  /** Variables that hold a key. */
  readonly variables: readonly string[];
  /** Files that a login leaves, relative to the home folder, with the variable that moves their folder, if there is one. */
  readonly files: readonly {
    readonly path: string;
    readonly folder?: { readonly variable: string; readonly path: string };
  }[];
  /** Name of the item in the macOS keychain, where the login is there instead of in a file. */
  readonly keychain?: string;
  /** The command that logs in. */
  readonly command: string;
}

/** What a line of an agent's output means to us. */
export type AgentEvent =
  /** The model said something; the last one before the end is the answer. With `part` it goes on with what was said. */
  | { readonly kind: 'text'; readonly text: string; readonly part?: true }
  /** A tool was called: what was said so far is not the answer. */
  | { readonly kind: 'call' }
  /** The model begins another turn. `id`: names the turn where several lines are of one; the same one again is no other. */
  | { readonly kind: 'turn'; readonly id?: string }
  /** `sum`: of one turn, to be added up; `total`: of the whole session, replacing what was known. */
  | { readonly kind: 'usage'; readonly usage: Usage; readonly counts: 'sum' | 'total' }
  /** The structured output that `returns: 'structured'` asked for. */
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'denied'; readonly tool: string }
  /** What the program itself reports, not what a model wrote. A later success outranks one that is not final. */
  | { readonly kind: 'trouble'; readonly trouble: Trouble; readonly final: boolean }
  /** The program has nothing more to say and should exit. */
  | { readonly kind: 'final'; readonly ok: boolean };
