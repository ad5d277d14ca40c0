import { digestOf, digestOfValue, type Digest } from '../model/digest.js';
import type { ManualRef, Pipeline, Settings, Target, WorkerSpec } from '../model/pipeline.js';
import type { Draft } from './resolve.js';

/** What a recipe depends on besides its own definition. */
interface Surroundings {
  readonly settings: Settings;
  readonly workers: Readonly<Record<string, WorkerSpec>>;
}

/** The settings that change what a recipe does; the others (jobs, rounds …) only change when and how often. */
const settingsOf = (draft: Draft, settings: Settings): unknown => {
  const { recipe, makes } = draft;
  if (makes === 'review') return { pillars: settings.pillars };
  if (recipe.kind !== 'builtin') return undefined;
  const { tickets, base, branch, remote } = settings;
  switch (recipe.builtin) {
    case 'ticket':
      return { tickets, base, branch, remote };
    case 'push':
      return { branch, remote };
    case 'land':
      return { base, remote };
    case 'read-init-d':
    case 'commit':
      return undefined;
  }
};

/** A sandbox decides what a worker can reach, not what it is asked to make. */
const recipeOf = ({ sandbox: _, ...recipe }: WorkerSpec): unknown => recipe;

/**
 * Digests of recipes: the normalised definition, its worker, kernel and manual. Left out is what a person changes
 * without meaning "make it again": number and name order, comments, attempts and limits. Bytes of manuals count, their
 * paths do not, so that another checkout of the same pipeline has the same digests.
 */
export const createRecipeDigest = ({ settings, workers }: Surroundings) => {
  const workerDigests = new Map(
    Object.values(workers).map((worker) => [worker.name, digestOfValue(recipeOf(worker))]),
  );
  return (draft: Draft, manual: ManualRef | undefined): Digest => {
    const { recipe } = draft;
    const byWorker = recipe.kind === 'worker';
    // All of it was built by `resolve.ts`, whose literals fix the order of keys: no need to sort ten thousand times.
    const definition = {
      name: draft.name,
      needs: draft.needs,
      recipe,
      makes: draft.makes,
      access: draft.access,
      inputs: draft.inputs,
      outputs: draft.outputs,
      gates: draft.gates,
      onReject: draft.onReject,
      latch: draft.latch,
      whenLabels: draft.whenLabels,
      settings: settingsOf(draft, settings),
      worker: byWorker ? workerDigests.get(recipe.worker) : undefined,
      kernel: byWorker ? settings.kernel?.digest : undefined,
      manual: manual?.digest,
    };
    return digestOf(JSON.stringify(definition));
  };
};

/** A recipe digest stands for all parts of its target but these. */
const rowOf = ({ number, attempts, limits, recipeDigest }: Target): readonly unknown[] => {
  const { idleMs, timeoutMs, graceMs } = limits;
  return [number, attempts, idleMs, timeoutMs, graceMs, recipeDigest];
};

/** Digest of a whole pipeline: every setting, worker and target; of kernel and manuals the bytes, not the paths. */
export const pipelineDigest = (pipeline: Omit<Pipeline, 'sources' | 'digest'>): Digest => {
  const { kernel, ...settings } = pipeline.settings;
  return digestOfValue({
    name: pipeline.name,
    settings: { ...settings, kernel: kernel?.digest },
    workers: pipeline.workers,
    targets: digestOf(JSON.stringify(pipeline.targets.map(rowOf))),
  });
};
