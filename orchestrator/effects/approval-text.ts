import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Target } from '../model/pipeline.js';
import type { RunDirectory } from '../state/run-dir.js';

/** Name of the artifact that an approval of this target is about. */
export const approvalArtifact = (target: Target): string => (target.makes === 'plan' ? 'plan.md' : 'branch.diff');

/** The bytes that a person is asked to approve. */
export const approvalText = (directory: RunDirectory, target: Target): string =>
  readFileSync(join(directory.artifacts, approvalArtifact(target)), 'utf8');
