import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { onTestFinished } from 'vitest';

import type { Pipeline } from '../../orchestrator/model/pipeline.js';
import { loadPipeline, validatePipeline } from '../../orchestrator/pipeline/load.js';
import { describeProblem, type PipelineProblem } from '../../orchestrator/pipeline/problems.js';

/** A repository root and a package root of its own for one test, removed afterwards. */
export interface Scratch {
  readonly root: string;
  readonly packageRoot: string;
  readonly cacheDir: string;
  readonly write: (path: string, text: string | Uint8Array) => string;
  /** Loads `targets.yaml` of the root, or the given file, without a cache. */
  readonly load: (file?: string) => Promise<Pipeline>;
  readonly problems: (file?: string) => Promise<readonly PipelineProblem[]>;
  readonly warnings: (file?: string) => Promise<readonly PipelineProblem[]>;
}

export const createScratch = (): Scratch => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'pipeline-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [root, packageRoot] = [join(folder, 'repo'), join(folder, 'package')];
  for (const path of [root, packageRoot]) mkdirSync(path);
  const write = (path: string, text: string | Uint8Array): string => {
    const absolute = join(folder, path);
    mkdirSync(dirname(absolute), { recursive: true });
    writeFileSync(absolute, text);
    return absolute;
  };
  const request = (file?: string) => ({ root, packageRoot, ...(file === undefined ? {} : { file }) });
  return {
    root,
    packageRoot,
    cacheDir: join(folder, 'cache'),
    write,
    load: async (file) => (await loadPipeline(request(file))).pipeline,
    problems: async (file) => (await validatePipeline(request(file))).problems,
    warnings: async (file) => (await validatePipeline(request(file))).warnings,
  };
};

/** Loads one YAML text as the pipeline of a repository. */
export const loadText = async (text: string): Promise<Pipeline> => {
  const scratch = createScratch();
  scratch.write('repo/targets.yaml', text);
  return scratch.load();
};

/** Problems of one YAML text, as a person reads them. */
export const problemsOf = async (text: string): Promise<readonly string[]> => {
  const scratch = createScratch();
  scratch.write('repo/targets.yaml', text);
  return (await scratch.problems()).map(describeProblem);
};

export const warningsOf = async (text: string): Promise<readonly string[]> => {
  const scratch = createScratch();
  scratch.write('repo/targets.yaml', text);
  return (await scratch.warnings()).map(describeProblem);
};

/** 10,000 targets in 100 layers, each needing three of the layer above. */
export const layeredYaml = (layers: number, width: number): string => {
  const lines = ['name: layered', 'targets:'];
  for (let layer = 0; layer < layers; layer += 1) {
    for (let at = 0; at < width; at += 1) {
      lines.push(`  t-${layer}-${at}:`, '    command: [touch, x]');
      if (layer === 0) continue;
      const needs = [at, (at + 1) % width, (at + 7) % width].map((up) => `t-${layer - 1}-${up}`);
      lines.push(`    needs: [${needs.join(', ')}]`);
    }
  }
  return `${lines.join('\n')}\n`;
};
