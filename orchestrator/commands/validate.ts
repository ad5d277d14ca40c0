import { resolve } from 'node:path';
import { EXIT_CODE } from '../model/failure.js';
import type { Pipeline } from '../model/pipeline.js';
import { workerFor } from '../../workers/registry.js';
import { validatePipeline } from '../pipeline/load.js';
import { describeProblem, type PipelineProblem } from '../pipeline/problems.js';
import { printJson } from './io.js';
import { flagText, repositoryOf, type Session } from './session.js';

/** `validate`: all problems at once, each with its place and a fix; warnings do not fail. */
export const validate = async (session: Session): Promise<number> => {
  const paths = repositoryOf(session);
  const file = flagText(session, 'file');
  const { problems, warnings, pipeline } = await validatePipeline({
    root: paths.mainRoot,
    packageRoot: session.packageRoot,
    ...(file === undefined ? {} : { file: resolve(session.cwd, file) }),
  });
  const found = {
    problems,
    warnings,
    workerProblems: workerProblems(pipeline),
    targets: pipeline?.targets.length ?? null,
  };
  const isValid = problems.length === 0 && found.workerProblems.length === 0;
  if (session.request.json) printJson(session.io, { valid: isValid, ...found });
  else {
    for (const line of linesOf(found)) session.io.stderr(`${line}\n`);
    if (isValid) session.io.stdout(`${pipeline?.name ?? ''}: ${found.targets ?? 0} targets, valid\n`);
  }
  return isValid ? 0 : EXIT_CODE['pipeline-invalid'];
};

/** What only an adapter knows to be wrong. */
const workerProblems = (pipeline: Pipeline | undefined): string[] =>
  Object.values(pipeline?.workers ?? {}).flatMap((spec) =>
    workerFor(spec)
      .problems(spec)
      .map((message) => `workers.${spec.name}: ${message}`),
  );

interface Found {
  readonly problems: readonly PipelineProblem[];
  readonly warnings: readonly PipelineProblem[];
  readonly workerProblems: readonly string[];
}

const linesOf = ({ problems, warnings, workerProblems: others }: Found): string[] => [
  ...problems.map(describeProblem),
  ...others,
  ...warnings.map((warning) => `warning: ${describeProblem(warning)}`),
];
