import { exitCodeOf, Problem, type Failure } from '../model/failure.js';
import { systemClock } from '../model/clock.js';
import { jsonText } from '../model/text.js';
import { writeProblem } from '../state/files.js';
import { failureFromHere } from '../commands/from-here.js';
import { failureText, type Io } from '../commands/io.js';
import { openSession, type Session } from '../commands/session.js';
import { parseCommandLine, type Invocation } from './args.js';
import type { CommandName } from './commands.js';
import { processIo } from './process-io.js';

/** A command is loaded when it is called: `--version` must not pay for `graph`. */
const RUN: Readonly<Record<CommandName, (session: Session) => Promise<number> | number>> = {
  run: async (session) => (await import('../commands/run.js')).run(session),
  status: async (session) => (await import('../commands/status.js')).status(session),
  approve: async (session) => (await import('../commands/decide.js')).decide(session, 'approved'),
  reject: async (session) => (await import('../commands/decide.js')).decide(session, 'rejected'),
  tell: async (session) => (await import('../commands/tell.js')).tell(session),
  boot: async (session) => (await import('../commands/boot.js')).bootCommand(session),
  logs: async (session) => (await import('../commands/logs.js')).logs(session),
  explain: async (session) => (await import('../commands/explain.js')).explain(session),
  graph: async (session) => (await import('../commands/graph.js')).graph(session),
  validate: async (session) => (await import('../commands/validate.js')).validate(session),
  verify: async (session) => (await import('../commands/verify.js')).verify(session),
  stop: async (session) => (await import('../commands/stop.js')).stop(session),
  abandon: async (session) => (await import('../commands/abandon.js')).abandon(session),
  clean: async (session) => (await import('../commands/clean.js')).clean(session),
  doctor: async (session) => (await import('../commands/doctor.js')).doctor(session),
  attack: async (session) => (await import('../commands/attack.js')).attack(session),
  demo: async (session) => (await import('../commands/demo.js')).demo(session),
};

export interface MainOptions {
  /** Root of the installed package: where `targets.yaml` and `references/` lie. */
  readonly packageRoot: string;
  readonly io?: Io;
}

/** The command line, to its exit status. Prints errors; throws nothing. */
export const main = async (argv: readonly string[], options: MainOptions): Promise<number> => {
  const io = options.io ?? processIo();
  let debug = argv.includes('--debug');
  let directories: readonly string[] = [];
  try {
    const invocation = parseCommandLine(argv);
    debug = invocation.debug;
    directories = invocation.directories;
    if (invocation.help) return await help(io, invocation.name);
    const session = openSession(io, requestOf(invocation), {
      packageRoot: options.packageRoot,
      clock: systemClock,
    });
    return await RUN[invocation.name](session);
  } catch (error) {
    return fail(io, error, { debug, json: argv.includes('--json'), directories });
  }
};

const requestOf = ({ directories, json, tickets, target, text, flags }: Invocation) => ({
  directories,
  json,
  tickets,
  flags,
  ...(target === undefined ? {} : { target }),
  ...(text === undefined ? {} : { text }),
});

const help = async (io: Io, name: CommandName): Promise<number> => {
  const { commandHelp } = await import('./help.js');
  io.stdout(commandHelp(name));
  return 0;
};

const failureOf = (error: unknown): Failure => {
  if (error instanceof Problem) return error.failure;
  const written = writeProblem(error);
  if (written !== undefined) return written.failure;
  return {
    kind: 'internal',
    message: error instanceof Error ? error.message : String(error),
    next: 'this is a fault of orchestrate: run again with `--debug` and report it; what was recorded is kept',
  };
};

interface FailOptions {
  readonly debug: boolean;
  readonly json: boolean;
  readonly directories: readonly string[];
}

const fail = (io: Io, error: unknown, { debug, json, directories }: FailOptions): number => {
  const failure = failureFromHere(directories, failureOf(error));
  io.stderr(`error: ${failureText(failure)}\n`);
  if (json) io.stdout(`${jsonText({ error: failure })}\n`);
  if (debug && error instanceof Error) io.stderr(`${error.stack ?? ''}\n`);
  return exitCodeOf(failure);
};
