/**
 * The programs of the workers, as they were before the first worker of this process was started. A folder of the PATH that comes
 * first, or the file itself, may be the worker's own by the time at which the next one is started.
 */
import { statSync } from 'node:fs';
import { workerFor } from '../../workers/registry.js';
import { AGENTS, type WorkerSpec } from '../model/pipeline.js';
import { childEnvironment } from '../process/child-env.js';
import { resolveProgram } from '../process/program.js';
import type { FailureFacts, TicketRun } from './ticket-run.js';

/** Path, and what changes with every write to the file; by PATH and name. */
const known = new Map<string, string>();

const ABSENT = 'none';

const stampOf = (run: TicketRun, path: string | undefined, name: string): string => {
  const program = resolveProgram(name, { path, cwd: run.paths.mainRoot });
  if (program === undefined) return ABSENT;
  const { ino, size, ctimeNs } = statSync(program, { bigint: true });
  return `${program} ${ino}:${size}:${ctimeNs}`;
};

const programsOf = (spec: WorkerSpec): readonly string[] => {
  if (spec.adapter === 'command') return spec.command.slice(0, 1);
  const names = spec.adapter === 'auto' ? AGENTS : [spec.adapter];
  return names.flatMap((adapter) => workerFor({ ...spec, adapter }).agent?.program ?? []);
};

/** Asked before every fork. The first time it notes what the programs of all workers are. */
export const changedProgram = (run: TicketRun, spec: WorkerSpec): FailureFacts | undefined => {
  const path = childEnvironment({ parent: run.env, allow: run.pipeline.settings.env, set: {} })['PATH'];
  const keyOf = (name: string): string => `${path ?? ''}\0${name}`;
  for (const name of Object.values(run.pipeline.workers).flatMap(programsOf))
    if (!known.has(keyOf(name))) known.set(keyOf(name), stampOf(run, path, name));
  const changed = programsOf(spec).find((name) => known.get(keyOf(name)) !== stampOf(run, path, name));
  if (changed === undefined) return undefined;
  const now = resolveProgram(changed, { path, cwd: run.paths.mainRoot }) ?? changed;
  return {
    kind: 'record-refused',
    message: `the program \`${changed}\` of worker \`${spec.name}\` is another one than when the run began: \`${now}\``,
    next: 'look at it: an update, or something that a worker put there; `orchestrate run` again takes what is there then',
    canRetry: false,
  };
};
