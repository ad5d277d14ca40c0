import type { Access, Adapter, WorkerSpec } from '../orchestrator/model/pipeline.js';

/**
 * How one kind of agent program is started: plain data in, plain data out. An adapter never spawns, never touches the
 * disk, and reads no clock and no environment, so that `validate` and the tests can ask it anything.
 */
export interface Worker {
  readonly name: Adapter;
  /** Shown wherever a worker of this kind is named; absent when there is nothing to say beyond the target's own label. */
  readonly label?: string;
  /** What is wrong with the spec: one sentence each, with what to do about it; empty when it can be started. */
  readonly problems: (spec: WorkerSpec) => readonly string[];
  /** Must not throw for a spec without problems. */
  readonly invocation: (request: WorkerRequest) => Invocation;
}

export interface WorkerRequest {
  readonly spec: WorkerSpec;
  readonly ticket: string;
  readonly target: string;
  readonly access: Access;
  readonly paths: WorkerPaths;
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
}

/** What to start. The prompt is always given on standard input, never here. */
export interface Invocation {
  /** Program and arguments, passed to the system as they are: no shell reads them. */
  readonly argv: readonly string[];
  /** Variables on top of the allowlist and the `ORCHESTRATE_*` contract. */
  readonly env: Readonly<Record<string, string>>;
  /** True when the program is an agent that needs the keys and the login of its provider. */
  readonly agentKeys: boolean;
}
