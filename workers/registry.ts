import type { Adapter, WorkerSpec } from '../orchestrator/model/pipeline.js';
import { commandWorker } from './command.js';
import { scriptedWorker } from './scripted.js';
import type { Worker } from './worker.js';

/** Every adapter by the name that `adapter:` in targets.yaml uses. */
const WORKERS = {
  command: commandWorker,
  scripted: scriptedWorker,
} satisfies Record<Adapter, Worker>;

export const workerFor = (spec: WorkerSpec): Worker => WORKERS[spec.adapter];

/**
 * What to show beside the name of a worker: its own label, and always the label of its adapter, so that a scripted
 * worker cannot be labelled as something else.
 */
export const labelOf = (spec: WorkerSpec): string | undefined => {
  const labels = [spec.label, workerFor(spec).label].filter((label) => label !== undefined);
  return labels.length === 0 ? undefined : labels.join('; ');
};
