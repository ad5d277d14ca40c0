/**
 * The sandbox of a worker or a check: bubblewrap, called without any dependency. Source: bwrap(1).
 *
 * X1  What a child can see is a list (M1); what it can write is named by the caller. Its home, `/tmp` and `/` are new and empty.
 * X2  It has process ids of its own: it sees, signals and traces nothing outside, and whatever it started ends with it. When its
 *     end can be seen from outside, everything inside is gone.
 * X3  Its exit status, files and signals are as without a sandbox: the program is the child of a shell, not process 1.
 * X4  It has no capabilities and gets none; as root it can change no setting of the kernel either.
 *
 * Not closed: with the network it reaches what listens on the machine's own addresses, and abstract Unix sockets. It can
 * reopen the files that are its standard input and outputs. Its scratch folders are memory.
 */
import { isAbsolute } from 'node:path';
import { Problem } from '../model/failure.js';
import type { Failure } from '../model/failure.js';
import type { SandboxRule } from '../model/pipeline.js';
import { resolveProgram } from './program.js';
import { isScratch, isVisible, mountOptions, planMounts } from './sandbox-mounts.js';
import type { Entry, MountPlan } from './sandbox-mounts.js';
import { isWithin, leadsThrough, pathResolver } from './sandbox-paths.js';
import type { Resolve } from './sandbox-paths.js';
import { HELD } from './sandbox-probe.js';
import type { Bubblewrap, Found } from './sandbox-probe.js';
import { programEntries } from './sandbox-programs.js';
import { systemEntries } from './sandbox-system.js';

export { findSandbox } from './sandbox-probe.js';
export type { Found } from './sandbox-probe.js';

export interface SandboxRequest {
  /** The program is absolute, relative to `cwd` with a slash, or looked up on the PATH of `env`. */
  readonly argv: readonly string[];
  /** Absolute; must be visible inside. */
  readonly cwd: string;
  /** The whole environment, which is passed on by whoever starts the result: nothing of it is in the arguments. */
  readonly env: Readonly<Record<string, string>>;
  /** Of the user, absolute. It is empty inside, but for what else is listed here. */
  readonly home: string;
  /** Absolute paths. What does not exist is left out. */
  readonly read: readonly string[];
  /** Absolute paths that exist. */
  readonly write: readonly string[];
  /** Further files and folders that the program is made of, read-only. */
  readonly programs?: readonly string[];
  /** Folders and files that stay hidden when something around them is visible; what is listed below them is not. */
  readonly hidden: readonly string[];
  /** Without it there is a loopback of its own and nothing else. */
  readonly network: boolean;
}

/**
 * Process 1 inside. Its own remarks ("Killed") do not get into the log, and what a shell exports by itself is taken back. It stays,
 * so that the program is an ordinary process, and orphans are waited for.
 */
const INIT = `unset OLDPWD SHLVL
exec 3>&2 2>/dev/null
( exec "$@" ) 2>&3 3>&-
exit $?
`;

/** Written to by root without any capability. Those of `/proc` that bwrap takes for writable it closes by itself. */
const KERNEL_SETTINGS = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi', 'mtrr'];

const KERNEL = ['--proc', '/proc', '--dev', '/dev'].concat(
  KERNEL_SETTINGS.flatMap((name) => ['--ro-bind-try', `/proc/${name}`, `/proc/${name}`]),
);

const refusal = (message: string, next: string): Problem => new Problem({ kind: 'usage', message, next });

/** A path below a folder that children write: a link in there could lead anywhere by now. */
const requireHonest = ({ read, write }: SandboxRequest, resolvePath: Resolve): void => {
  if ([...read, ...write].some((path) => resolvePath(path)?.real === '/'))
    throw refusal(
      '`/` cannot be listed for a sandbox: nothing would be left outside',
      'list the folders that are needed',
    );
  for (const path of write) {
    if (resolvePath(path) !== undefined) continue;
    throw refusal(
      `\`${path}\` is to be writable in the sandbox, and it does not exist`,
      'make it, or take it out of `sandbox.write`',
    );
  }
  const folders = write.flatMap((path) => resolvePath(path)?.real ?? []);
  for (const path of [...read, ...write]) {
    const found = resolvePath(path);
    if (found === undefined || found.links.length === 0) continue;
    const outer = folders.find((folder) => leadsThrough({ ...found, real: '/' }, [folder]));
    if (outer === undefined || isWithin(found.real, outer)) continue;
    throw refusal(
      `\`${path}\` leads out of \`${outer}\`, which children can write, to \`${found.real}\``,
      'list the path that is meant, without that link',
    );
  }
};

const planOf = (request: SandboxRequest, program: string, resolvePath: Resolve): MountPlan => {
  const { argv, cwd, env, home, read, write, programs = [], hidden } = request;
  const wanted = { argv: [program, ...argv.slice(1)], cwd, env, home, programs, writable: write };
  const as = (kind: Entry['kind'], paths: readonly string[]): readonly Entry[] =>
    paths.map((path) => ({ path, kind }));
  const plan = planMounts(
    [
      ...systemEntries(home, env),
      ...programEntries(wanted, resolvePath),
      ...as('hidden', hidden),
      ...as('read', read),
      ...as('write', write),
    ],
    resolvePath,
  );
  const next = 'list it, or a folder around it, in `sandbox.read`';
  const isSeen = (path: string): boolean => isVisible(plan, resolvePath(path)?.real ?? '/');
  if (!isSeen(program)) throw refusal(`the sandbox hides the program \`${program}\``, next);
  if (!isSeen(cwd) && !isScratch(plan, resolvePath(cwd)?.real ?? '/'))
    throw refusal(`the sandbox hides the working directory \`${cwd}\``, next);
  return plan;
};

/**
 * The command that runs another one in a sandbox. Reads the disk, changes nothing, starts nothing. Whoever starts it leads a session
 * without a terminal, and should be there as long as the sandbox: it ends with its parent.
 * @throws Problem `program-missing`, or `usage` when a writable path does not exist or what must be visible is not
 */
export const sandboxArgv = (found: Bubblewrap, request: SandboxRequest): readonly string[] => {
  const { argv, cwd, env, network } = request;
  const [name = '', ...args] = argv;
  const program = resolveProgram(name, { path: env['PATH'], cwd });
  if (program === undefined) {
    throw new Problem({
      kind: 'program-missing',
      message: `program \`${name}\` was not found in \`${cwd}\` or on its PATH`,
      next: 'install it, or correct the command',
    });
  }
  if (!isAbsolute(cwd)) throw refusal(`the working directory \`${cwd}\` is not absolute`, 'name it in full');
  const resolvePath = pathResolver();
  requireHonest(request, resolvePath);
  const plan = planOf(request, program, resolvePath);
  return [
    found.program,
    ...found.userOptions,
    ...HELD,
    ...(network ? [] : ['--unshare-net']),
    ...KERNEL,
    ...mountOptions(plan),
    '--chdir',
    cwd,
    '--',
    '/bin/sh',
    '-c',
    INIT,
    'sh',
    program,
    ...args,
  ];
};

/** Why nothing may be started under a rule; `undefined` when it may. */
export const sandboxProblem = (rule: SandboxRule, found: Found): Failure | undefined => {
  if (rule.mode !== 'required' || found.kind === 'bubblewrap') return undefined;
  return {
    kind: 'sandbox-missing',
    message: `a sandbox is required, and there is none: ${found.why}`,
    next: found.fix,
  };
};
