import { resolve } from 'node:path';
import { exitCodeOf } from '../model/failure.js';
import { workerFor } from '../../workers/registry.js';
import { validatePipeline } from '../pipeline/load.js';
import { describeProblem } from '../pipeline/problems.js';
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
  const workers = Object.values(pipeline?.workers ?? {}).flatMap((spec) =>
    workerFor(spec).problems(spec).map((message) => `workers.${spec.name}: ${message}`),
  );
  const isValid = problems.length === 0 && workers.length === 0;
  if (session.request.json) {
    printJson(session.io, { valid: isValid, problems, workerProblems: workers, warnings, targets: pipeline?.targets.length ?? null });
  } else {
    for (const problem of problems) session.io.stderr(`${describeProblem(problem)}\n`);
    for (const message of workers) session.io.stderr(`${message}\n`);
    for (const warning of warnings) session.io.stderr(`warning: ${describeProblem(warning)}\n`);
    if (isValid) session.io.stdout(`${pipeline?.name ?? ''}: ${pipeline?.targets.length ?? 0} targets, valid\n`);
  }
  return isValid ? 0 : exitCodeOf({ kind: 'pipeline-invalid', message: '' });
};
