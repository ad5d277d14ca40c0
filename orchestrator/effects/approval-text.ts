import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Makes, Target } from '../model/pipeline.js';
import type { TargetContext } from '../machine/target-context.js';
import type { RunDirectory } from '../state/run-dir.js';

const ARTIFACT: Readonly<Record<Makes, string | undefined>> = {
  plan: 'plan.md',
  diff: 'branch.diff',
  review: 'branch.diff',
  notes: undefined,
  files: undefined,
};

/** Name of the artifact that an approval of this target is about; `undefined` where it is about files with their digests. */
export const approvalArtifact = (target: Target): string | undefined => ARTIFACT[target.makes];

/** What a person is asked to approve: the artifact's bytes; else each file that was made, by digest, and the last output. */
export const approvalText = (directory: RunDirectory, target: Target, context: TargetContext): string => {
  const name = approvalArtifact(target);
  if (name !== undefined) return readFileSync(join(directory.artifacts, name), 'utf8');
  const made = (context.artifacts ?? []).map(({ path, digest }) => `${path} ${digest}`);
  return [...(made.length === 0 ? ['(no files)'] : made), '', ...(context.summary ?? [])].join('\n');
};
