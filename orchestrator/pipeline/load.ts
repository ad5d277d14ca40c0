import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';

import type { Pipeline } from '../model/pipeline.js';
import { cacheSlot, readCache, writeCache, type CacheSlot } from './cache.js';
import { readSmallFile } from './files.js';
import type { PipelineProblem } from './problems.js';

// This file and `cache.ts` are on the path of every command: only `node:` modules and types. YAML, the schemas and the
// rules are loaded when the cache does not answer.

export interface PipelineRequest {
  /** Path of the pipeline, relative to `root`. Absent: `targets.yaml` of the root when there is one, else the built-in one. */
  readonly file?: string;
  /** Root of the repository, absolute. */
  readonly root: string;
  /** Root of this package, which holds the built-in `targets.yaml`; absolute. */
  readonly packageRoot: string;
  /** Where validated pipelines are kept; only this user may be able to write it. Absent: no cache. */
  readonly cacheDir?: string;
}

export interface LoadedPipeline {
  readonly pipeline: Pipeline;
  /** What works, but costs or risks more than it looks; sorted. */
  readonly warnings: readonly PipelineProblem[];
}

export interface ValidatedPipeline {
  /** Sorted by file, line and column; empty when the pipeline can run. */
  readonly problems: readonly PipelineProblem[];
  readonly warnings: readonly PipelineProblem[];
  readonly pipeline?: Pipeline;
}

/** Absolute path of the pipeline that a request means; see `PipelineRequest.file`. */
const pipelineFile = ({ file, root, packageRoot }: PipelineRequest): string => {
  if (file !== undefined) return resolve(root, file);
  const own = join(root, 'targets.yaml');
  return existsSync(own) ? own : join(packageRoot, 'targets.yaml');
};

const placesOf = (request: PipelineRequest) => ({
  file: pipelineFile(request),
  root: resolve(request.root),
  packageRoot: resolve(request.packageRoot),
});

const slotOf = (request: PipelineRequest, dir: string): CacheSlot => {
  const { file, root, packageRoot } = placesOf(request);
  // Another version or another build of this package may read the same YAML differently.
  const version = readSmallFile(join(packageRoot, 'package.json'));
  const program = statSync(join(packageRoot, 'dist', 'orchestrate.cjs'), { throwIfNoEntry: false });
  const build = program === undefined ? '' : `${program.size} ${program.mtimeMs}`;
  return cacheSlot(dir, [version.ok ? version.source.digest : '', build, root, packageRoot, file]);
};

/** Stands for all that a loaded pipeline depends on besides the bytes of its files: the program, the places, the path. */
export const pipelineSalt = (request: PipelineRequest): string => slotOf(request, '').salt;

/** YAML of some 500 targets. */
const LARGE_BYTES = 50_000;

/**
 * A large pipeline leaves much garbage at once, and V8 would triple the space for what is young: 20 MB that are never
 * given back, which every later fork copies the page tables of. Measured at 10,000 targets: 144 MB without, 121 MB with.
 */
const isLarge = (file: string): boolean =>
  (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LARGE_BYTES;

/**
 * The pipeline of a repository, validated. The second load of the same bytes comes from the cache.
 * @throws `Problem` `pipeline-invalid` whose message lists every problem with file:line:column and a fix
 */
export const loadPipeline = async (request: PipelineRequest): Promise<LoadedPipeline> => {
  if (isLarge(pipelineFile(request))) setFlagsFromString('--semi-space-growth-factor=1');
  const { cacheDir } = request;
  const slot = cacheDir === undefined ? undefined : slotOf(request, cacheDir);
  const cached = slot === undefined ? undefined : readCache(slot);
  if (cached !== undefined) return cached;
  const { buildPipeline } = await import('./build.js');
  const { pipeline, problems, warnings } = buildPipeline(placesOf(request));
  if (pipeline === undefined) {
    const { pipelineInvalid } = await import('./problems.js');
    throw pipelineInvalid(problems);
  }
  if (cacheDir !== undefined && slot !== undefined) writeCache(cacheDir, slot, { pipeline, warnings });
  return { pipeline, warnings };
};

/** All that is wrong with a pipeline, for `validate`. Always reads the files; never throws for what is in them. */
export const validatePipeline = async (request: PipelineRequest): Promise<ValidatedPipeline> => {
  const { buildPipeline } = await import('./build.js');
  return buildPipeline(placesOf(request));
};
