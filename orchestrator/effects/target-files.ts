import type { FileStat } from '../model/event.js';
import type { Pipeline, Target } from '../model/pipeline.js';
import type { TargetFiles } from '../scheduler/freshness.js';
import { fileDigests, type FileDigests } from '../state/file-digests.js';

const isGlob = (path: string): boolean => /[*?[\]{}]/.test(path);

interface TargetFilesOptions {
  readonly pipeline: Pipeline;
  /** Folder that paths are relative to; it changes once, when the ticket gets its tree. */
  readonly root: () => string;
  readonly memory: Record<string, FileStat>;
  readonly now: () => number;
}

/** The files of every target; the matcher of globs is loaded only where the pipeline has one. */
export const openTargetFiles = async (
  options: TargetFilesOptions,
): Promise<TargetFiles & { readonly learned: () => boolean }> => {
  const hasGlobs = options.pipeline.targets.some(({ inputs }) => inputs.some(isGlob));
  const expand = hasGlobs ? (await import('./glob.js')).expandGlob : undefined;
  const byRoot = new Map<string, FileDigests>();
  const current = (): FileDigests => {
    const root = options.root();
    let digests = byRoot.get(root);
    if (digests === undefined) {
      digests = fileDigests(root, options.memory, options.now);
      byRoot.set(root, digests);
    }
    return digests;
  };
  const inputs = (target: Target): readonly string[] => {
    if (expand === undefined || !target.inputs.some(isGlob)) return target.inputs;
    return target.inputs.flatMap((path) => (isGlob(path) ? expand(options.root(), path) : [path]));
  };
  return {
    inputs,
    digest: (path) => current().digest(path),
    learned: () => [...byRoot.values()].some((digests) => digests.learned()),
  };
};
