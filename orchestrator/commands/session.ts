import { existsSync, lstatSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Clock } from '../model/clock.js';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline } from '../model/pipeline.js';
import { requireTicketId } from '../model/ticket.js';
import { findRepository } from '../git/repository.js';
import { loadPipeline, type PipelineRequest } from '../pipeline/load.js';
import type { PipelineProblem } from '../pipeline/problems.js';
import { cacheFolder, orchestrateHome } from '../state/home.js';
import { runDirectory, stateFolder, ticketsWithRuns, type RunDirectory } from '../state/run-dir.js';
import type { Io } from './io.js';

/** What a command line says that the commands need; parsed by `cli`. */
export interface Request {
  readonly directories: readonly string[];
  readonly json: boolean;
  readonly tickets: readonly string[];
  readonly target?: string;
  readonly text?: string;
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
}

/** One command's surroundings: everything that it knows of the world comes through here. */
export interface Session {
  readonly io: Io;
  readonly request: Request;
  readonly cwd: string;
  readonly packageRoot: string;
  readonly home: string;
  readonly clock: Clock;
}

export interface Loaded {
  readonly pipeline: Pipeline;
  readonly warnings: readonly PipelineProblem[];
}

export const openSession = (
  io: Io,
  request: Request,
  world: { readonly packageRoot: string; readonly clock: Clock },
): Session => {
  let cwd = io.cwd;
  for (const directory of request.directories) {
    cwd = resolve(cwd, directory);
    if (!existsSync(cwd)) {
      throw new Problem({
        kind: 'usage',
        message: `\`-C ${directory}\`: there is no such folder`,
        where: cwd,
        next: 'name a folder of the repository',
      });
    }
  }
  return { io, request, cwd, home: orchestrateHome(io.env), ...world };
};

export const flagText = (session: Session, name: string): string | undefined => {
  const value = session.request.flags[name];
  return typeof value === 'string' ? value : undefined;
};

export const flagSet = (session: Session, name: string): boolean => session.request.flags[name] === true;

/** @throws `Problem` `usage` unless exactly one ticket was named, with an allowed id */
export const oneTicket = (session: Session): string => {
  const [first, second] = session.request.tickets;
  if (first === undefined)
    throw new Problem({ kind: 'usage', message: 'no ticket was named', next: 'add `--ticket ID`' });
  if (second !== undefined)
    throw new Problem({
      kind: 'usage',
      message: 'only one ticket can be named here',
      next: 'call the command once for each',
    });
  return requireTicketId(first);
};

export const repositoryOf = (session: Session): RepositoryPaths => findRepository(session.cwd);

/**
 * The run directory of a ticket that has been run.
 * @throws `Problem` `no-such-run`, naming the runs that there are
 */
export const existingRun = (session: Session, paths: RepositoryPaths, ticket: string): RunDirectory => {
  const directory = runDirectory(paths.mainRoot, ticket);
  if (existsSync(directory.journal)) {
    refuseLinks(paths, directory);
    return directory;
  }
  const known = ticketsWithRuns(paths.mainRoot);
  throw new Problem({
    kind: 'no-such-run',
    message: `ticket \`${ticket}\` has no run here${known.length === 0 ? '' : ` (there are: ${known.slice(0, 10).join(', ')})`}`,
    next: `start it with \`orchestrate run --ticket ${ticket}\``,
  });
};

/**
 * State that leads elsewhere by a link is somebody's trap, and a file in the place of a folder stops every write: both are
 * refused before anything is read or written through them.
 */
export const refuseLinks = (paths: RepositoryPaths, directory: RunDirectory): void => {
  // From the outside in, so that each is looked at through folders only.
  const folders = [
    stateFolder(paths.mainRoot),
    directory.path,
    directory.state,
    directory.children,
    directory.artifacts,
    directory.inbox,
  ];
  for (const path of [...folders, directory.journal]) {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink() === true) {
      throw new Problem({
        kind: 'record-refused',
        message: 'the state directory must not contain symbolic links',
        where: path,
        next: 'replace the link by the folder itself',
      });
    }
    if (stat === undefined || path === directory.journal || stat.isDirectory()) continue;
    throw new Problem({
      kind: 'not-writable',
      message: 'something that is no folder is in the way of the state directory',
      where: path,
      next: 'move it away',
    });
  }
};

/** How a pipeline file is named in the record: relative inside the repository, so that a moved checkout still finds it. */
export const recordedPath = (paths: RepositoryPaths, packageRoot: string, file: string): string => {
  if (file === join(packageRoot, 'targets.yaml')) return 'builtin';
  return file.startsWith(paths.mainRoot + sep) ? relative(paths.mainRoot, file) : file;
};

/** The pipeline that was asked for, else the one that the run was started with, else the repository's, else the built-in one. */
export const pipelineRequest = (
  session: Session,
  paths: RepositoryPaths,
  recorded?: string,
): PipelineRequest => {
  const asked = flagText(session, 'file');
  const file =
    asked === undefined ? fromRecord(paths, session.packageRoot, recorded) : resolve(session.cwd, asked);
  return {
    root: paths.mainRoot,
    packageRoot: session.packageRoot,
    cacheDir: cacheFolder(session.home),
    ...(file === undefined ? {} : { file }),
  };
};

export const pipelineFor = async (
  session: Session,
  paths: RepositoryPaths,
  recorded?: string,
): Promise<Loaded> => loadPipeline(pipelineRequest(session, paths, recorded));

const fromRecord = (
  paths: RepositoryPaths,
  packageRoot: string,
  recorded: string | undefined,
): string | undefined => {
  if (recorded === undefined) return undefined;
  if (recorded === 'builtin') return join(packageRoot, 'targets.yaml');
  return isAbsolute(recorded) ? recorded : join(paths.mainRoot, recorded);
};
