import type { Pipeline, Settings, SourceFile, Target } from '../model/pipeline.js';
import { createRecipeDigest, pipelineDigest } from './digests.js';
import { mergeChain, placeFinding, readChain, type FileChain, type Places } from './extend.js';
import { readManuals, type ManualRead } from './manuals.js';
import { sortProblems, type PipelineProblem } from './problems.js';
import { resolveMerged, type Draft, type Resolved } from './resolve.js';
import { createSuggest } from '../model/suggest.js';
import { validateResolved } from './validate.js';

export interface Built {
  readonly problems: readonly PipelineProblem[];
  readonly warnings: readonly PipelineProblem[];
  /** Absent when there is a problem. */
  readonly pipeline?: Pipeline;
}

type Manuals = ReadonlyMap<string, ManualRead>;

const manualRef = (manuals: Manuals, path: string | undefined) => {
  const read = path === undefined ? undefined : manuals.get(path);
  return read?.ok === true ? read.ref : undefined;
};

const toTarget = (draft: Draft, manuals: Manuals, digest: ReturnType<typeof createRecipeDigest>): Target => {
  const manual = manualRef(manuals, draft.manualPath);
  return {
    number: draft.number,
    name: draft.name,
    needs: draft.needs,
    recipe: draft.recipe,
    makes: draft.makes,
    access: draft.access,
    ...(manual === undefined ? {} : { manual }),
    inputs: draft.inputs,
    outputs: draft.outputs,
    gates: draft.gates,
    ...(draft.onReject === undefined ? {} : { onReject: draft.onReject }),
    attempts: draft.attempts,
    limits: draft.limits,
    latch: draft.latch,
    ...(draft.whenLabels === undefined ? {} : { whenLabels: draft.whenLabels }),
    recipeDigest: digest(draft, manual),
  };
};

const sourcesOf = (chain: FileChain, manuals: Manuals): readonly SourceFile[] => [
  ...chain.files.flatMap(({ file }) => (file === undefined ? [] : [file])),
  ...[...manuals.values()].flatMap((read) => (read.ok ? [read.source] : [])),
];

const toPipeline = (
  resolved: Resolved,
  order: readonly Draft[],
  manuals: Manuals,
): Omit<Pipeline, 'sources'> => {
  const { kernelPath, ...rest } = resolved.settings;
  const kernel = manualRef(manuals, kernelPath);
  const settings: Settings = { ...rest, ...(kernel === undefined ? {} : { kernel }) };
  const { name, workers } = resolved;
  const digest = createRecipeDigest({ settings, workers });
  const targets = order.map((draft) => toTarget(draft, manuals, digest));
  return { name, digest: pipelineDigest({ name, settings, workers, targets }), settings, workers, targets };
};

/** From files to a pipeline, or to every problem at once. Never throws for what is in the files. */
export const buildPipeline = (places: Places): Built => {
  const suggest = createSuggest();
  const chain = readChain(places, suggest);
  if (chain.broken) return { problems: sortProblems(chain.problems), warnings: [] };
  const { merged, problems: mergeProblems } = mergeChain(chain.files, suggest);
  const resolved = resolveMerged(merged);
  const manuals = readManuals([
    resolved.settings.kernelPath,
    ...resolved.drafts.map(({ manualPath }) => manualPath),
  ]);
  const verdict = validateResolved({ resolved, manuals, merged, suggest });
  const place = (finding: (typeof verdict.problems)[number]) => placeFinding(chain.files, finding);
  const problems = sortProblems([...chain.problems, ...mergeProblems, ...verdict.problems.map(place)]);
  const warnings = sortProblems(verdict.warnings.map(place));
  if (problems.length > 0) return { problems, warnings };
  const pipeline = toPipeline(resolved, verdict.order, manuals);
  return { problems, warnings, pipeline: { ...pipeline, sources: sourcesOf(chain, manuals) } };
};
