import type { Pipeline } from '../model/pipeline.js';

/** Targets on a path from `from` (left out) to `to` (included), in topological order. */
export const targetsBetween = (pipeline: Pipeline, from: string, to: string): string[] => {
  const below = new Set([from]);
  for (const { name, needs } of pipeline.targets) if (needs.some((need) => below.has(need))) below.add(name);
  const above = new Set([to]);
  for (const { name, needs } of pipeline.targets.toReversed())
    if (above.has(name)) for (const need of needs) above.add(need);
  return pipeline.targets
    .map(({ name }) => name)
    .filter((name) => name !== from && below.has(name) && above.has(name));
};
