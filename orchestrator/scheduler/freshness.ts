/**
 * Make's question, with digests for mtimes: is this target up to date, and if not, why? The answer is recorded with the
 * start of the target, and printed by `explain` and `--dry-run`; nobody computes it twice.
 */
import { digestOfValue, type Digest } from '../model/digest.js';
import type { Target } from '../model/pipeline.js';
import { targetState, type RunState } from '../machine/run-state.js';
import type { TargetContext } from '../machine/target-context.js';
import type { TargetValue } from '../machine/target-machine.js';

/** The files that a target names; paths as they stand in the pipeline, globs expanded. */
export interface TargetFiles {
  readonly inputs: (target: Target) => readonly string[];
  readonly digest: (path: string) => Digest | undefined;
  /** The folder that they lie in was cleaned away when nothing was to be made any more. */
  readonly isGone: () => boolean;
}

export type Freshness =
  | { readonly kind: 'fresh' }
  /** Out of date, but a latch, or without the tree that it was made in: reported, not made again. */
  | { readonly kind: 'held'; readonly reason: string }
  | { readonly kind: 'stale'; readonly reason: string }
  /** At rest until something outside happens. */
  | { readonly kind: 'resting'; readonly reason: string };

/** What stands for the digest of an input that is not there. */
export const ABSENT: Digest = `sha256:${'0'.repeat(64)}`;

/** Key of a file among a target's inputs; a prerequisite's key is its name, which has no colon. */
const fileKey = (path: string): string => `file:${path}`;

/** Digest of the output files; of recipe and inputs where a target declares no output. */
export const outputDigest = (
  target: Target,
  files: TargetFiles,
  inputs: Readonly<Record<string, Digest>>,
): Digest =>
  target.outputs.length === 0
    ? digestOfValue([target.recipeDigest, inputs])
    : digestOfValue(target.outputs.map((path) => [path, files.digest(path) ?? ABSENT]));

export const currentInputs = (target: Target, run: RunState, files: TargetFiles): Record<string, Digest> => {
  const inputs: Record<string, Digest> = {};
  for (const need of target.needs) inputs[need] = targetState(run, need).context.output ?? ABSENT;
  for (const path of files.inputs(target)) inputs[fileKey(path)] = files.digest(path) ?? ABSENT;
  return inputs;
};

/** The first thing that changed since the target was made; `undefined` when nothing did. */
const changeOf = (
  target: Target,
  run: RunState,
  files: TargetFiles,
  context: TargetContext,
): string | undefined => {
  if (context.recipe !== target.recipeDigest)
    return 'its recipe changed (definition, worker, kernel or manual)';
  const recorded = context.inputs ?? {};
  for (const need of target.needs) {
    if (recorded[need] !== targetState(run, need).context.output) return changeText(need, recorded[need]);
  }
  if (files.isGone()) return undefined;
  const paths = files.inputs(target);
  for (const path of paths) {
    const key = fileKey(path);
    if (recorded[key] !== (files.digest(path) ?? ABSENT)) return changeText(path, recorded[key]);
  }
  const keys = Object.keys(recorded);
  // All that is named was found above: only a longer record holds something that is no longer named.
  if (keys.length > target.needs.length + paths.length) return goneInput(target, paths, keys);
  return outputChange(target, files, context);
};

const goneInput = (target: Target, paths: readonly string[], keys: readonly string[]): string => {
  const kept = new Set([...target.needs, ...paths.map(fileKey)]);
  return `input ${keys.find((key) => !kept.has(key))?.replace(/^file:/, '') ?? ''} is gone`;
};

const changeText = (name: string, recorded: Digest | undefined): string =>
  `input ${name.replace(/^ticket:/, '')} ${recorded === undefined ? 'is new' : 'changed'}`;

const outputChange = (target: Target, files: TargetFiles, context: TargetContext): string | undefined => {
  // Without a child it was left out (`when:`), and made nothing.
  if (target.makes !== 'files' || target.outputs.length === 0 || context.child === undefined)
    return undefined;
  const missing = target.outputs.find((path) => files.digest(path) === undefined);
  if (missing !== undefined) return `output ${missing} is missing`;
  return outputDigest(target, files, {}) === context.output
    ? undefined
    : 'an output was changed by someone else';
};

export const freshnessOf = (target: Target, run: RunState, files: TargetFiles, now: number): Freshness => {
  const { value, context } = targetState(run, target.name);
  if (value === 'done') return freshnessOfDone(target, run, files, context);
  return value === 'paused' ? freshnessOfPaused(context, now) : UNDONE[value](context);
};

const UNDONE: Readonly<
  Record<Exclude<TargetValue, 'done' | 'paused'>, (context: TargetContext) => Freshness>
> = {
  pending: ({ reason }) => ({ kind: 'stale', reason: reason ?? 'it was never made' }),
  running: () => ({ kind: 'stale', reason: 'its child was left running or its end was not recorded' }),
  gating: () => ({ kind: 'stale', reason: 'its work is there and its gates are still to be asked' }),
  failed: ({ failure }) => ({
    kind: 'stale',
    reason: `it failed: ${failure?.message ?? 'no reason recorded'}`,
  }),
  waiting: () => ({ kind: 'resting', reason: 'it waits for a person' }),
  abandoned: ({ reason }) => ({ kind: 'resting', reason: `it was abandoned: ${reason ?? ''}` }),
};

const freshnessOfPaused = ({ until }: TargetContext, now: number): Freshness =>
  until !== undefined && Date.parse(until) > now
    ? { kind: 'resting', reason: `it is paused until ${until}` }
    : { kind: 'stale', reason: 'its pause is over' };

const freshnessOfDone = (
  target: Target,
  run: RunState,
  files: TargetFiles,
  context: TargetContext,
): Freshness => {
  const reason = changeOf(target, run, files, context);
  if (reason === undefined) return { kind: 'fresh' };
  if (files.isGone()) return { kind: 'held', reason: `${reason}, but the tree was cleaned away` };
  return target.latch ? { kind: 'held', reason } : { kind: 'stale', reason };
};
