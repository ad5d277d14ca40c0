import { existsSync } from 'node:fs';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline, WorkerSpec } from '../model/pipeline.js';
import { runDirectory } from '../state/run-dir.js';
import type { Session } from './session.js';

/**
 * What must hold before anything is started or created: the ticket exists and says something, git and a base commit are
 * there, every program that a worker needs is on the PATH.
 * @throws `Problem` with exit status 2
 */
export const preflight = async (
  session: Session,
  paths: RepositoryPaths,
  ticket: string,
  pipeline: Pipeline,
): Promise<void> => {
  const workers = workersOf(pipeline);
  if (workers.length > 0) await requirePrograms(session, paths, workers);
  await requireSandbox(session, pipeline, workers);
  const isNew = !existsSync(runDirectory(paths.mainRoot, ticket).journal);
  const hasTicketTarget = pipeline.targets.some(
    ({ recipe }) => recipe.kind === 'builtin' && recipe.builtin === 'ticket',
  );
  if (!isNew || !hasTicketTarget) return;
  const { readTicketFile } = await import('../builtins/ticket-file.js');
  readTicketFile(paths.root, pipeline.settings.tickets.path, ticket);
  const { branchHead, requireBase } = await import('../effects/repository-facts.js');
  await requireBase(session.io.env, paths, pipeline);
  const branch = pipeline.settings.branch.replaceAll('{ticket}', ticket);
  const head = await branchHead(session.io.env, paths, branch);
  if (head !== undefined) throw takenBranch(branch, head);
};

/** Said before the work, and not when it is to be committed. */
const takenBranch = (branch: string, head: string): Problem =>
  new Problem({
    kind: 'usage',
    message: `branch \`${branch}\` exists already, at ${head.slice(0, 12)}, and no run of this ticket made it`,
    next: `rename it (\`git branch -m ${branch} NAME\`) or delete it (\`git branch -D ${branch}\`), or set another \`branch:\` in targets.yaml`,
  });

const workersOf = (pipeline: Pipeline): WorkerSpec[] => {
  const names = new Set(
    pipeline.targets.flatMap(({ recipe }) => (recipe.kind === 'worker' ? [recipe.worker] : [])),
  );
  return [...names].map((name) => pipeline.workers[name]).filter((spec) => spec !== undefined);
};

/** Only looked for when something cannot do without: a run that finds everything up to date starts nothing. */
const requireSandbox = async (
  session: Session,
  { settings }: Pipeline,
  workers: readonly WorkerSpec[],
): Promise<void> => {
  const rules = [settings.sandbox, ...workers.map(({ sandbox }) => sandbox)];
  const required = rules.find(({ mode }) => mode === 'required');
  if (required === undefined) return;
  const [{ sandboxProblem }, { sandboxHere }] = await Promise.all([
    import('../process/sandbox.js'),
    import('../effects/containment.js'),
  ]);
  const problem = sandboxProblem(required, await sandboxHere(session.io.env));
  if (problem !== undefined) throw new Problem(problem);
};

const requirePrograms = async (
  session: Session,
  paths: RepositoryPaths,
  workers: readonly WorkerSpec[],
): Promise<void> => {
  const [{ workerFor }, { resolveProgram }, { agentProblem }] = await Promise.all([
    import('../../workers/registry.js'),
    import('../process/program.js'),
    import('../effects/agent.js'),
  ]);
  for (const spec of workers) {
    const problem = workerFor(spec).problems(spec)[0];
    if (problem !== undefined)
      throw new Problem({ kind: 'pipeline-invalid', message: problem, where: `workers.${spec.name}` });
    const missing = agentProblem({ env: session.io.env, cwd: paths.mainRoot }, spec);
    if (missing !== undefined) throw new Problem(missing);
    const program = spec.adapter === 'command' ? spec.command[0] : undefined;
    if (program === undefined) continue;
    if (resolveProgram(program, { path: session.io.env['PATH'], cwd: paths.mainRoot }) !== undefined)
      continue;
    throw new Problem({
      kind: 'program-missing',
      message: `worker \`${spec.name}\` needs the program \`${program}\`, which is not on your PATH`,
      next: `install it, or name another one under \`workers: { ${spec.name}: { command: […] } }\` in a targets.yaml that says \`extends: builtin\`; \`orchestrate demo\` runs without any agent`,
    });
  }
};
