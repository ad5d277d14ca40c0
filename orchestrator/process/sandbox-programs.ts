/**
 * What a program is made of besides the system: its installation, what interprets it, and what else is on its PATH.
 *
 * A home folder is never shown for it, nor a folder of a home that holds more than programs. Nothing is taken from a folder that the
 * program itself can write: a link there leads where an earlier child wanted.
 */
import { closeSync, existsSync, openSync, readSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { resolveProgram } from './program.js';
import { isWithin, leadsThrough } from './sandbox-paths.js';
import type { Resolve } from './sandbox-paths.js';
import type { Entry } from './sandbox-mounts.js';

export interface Wanted {
  /** The program, absolute, and its arguments. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Of the user, absolute. */
  readonly home: string;
  /** Further files and folders that must run or be loaded. */
  readonly programs: readonly string[];
  /** Folders that the program can write. */
  readonly writable: readonly string[];
}

/** Version managers below a home: programs there are launchers for what lies elsewhere in these folders. */
const MANAGERS: Readonly<Record<string, readonly string[]>> = {
  '.asdf': ['.asdf'],
  '.bun': ['.bun'],
  '.cargo/bin': ['.cargo/bin', '.rustup'],
  '.deno': ['.deno'],
  '.local/share/fnm': ['.local/share/fnm'],
  '.local/share/mise': ['.local/share/mise'],
  '.local/share/pnpm': ['.local/share/pnpm'],
  '.local/share/uv': ['.local/share/uv'],
  '.nodenv': ['.nodenv'],
  '.nvm': ['.nvm'],
  '.pyenv': ['.pyenv'],
  '.rbenv': ['.rbenv'],
  '.sdkman': ['.sdkman'],
  '.volta': ['.volta'],
};

/** Folders of a home that hold more than programs; never shown as a whole. */
const SHARED = [
  '.cache',
  '.config',
  '.local',
  '.local/lib',
  '.local/share',
  '.local/state',
  '.cargo',
  '.npm',
];

/** Of these nothing is shown, whatever lies in them. */
const PRIVATE = [
  '.aws',
  '.azure',
  '.config/gcloud',
  '.config/gh',
  '.docker',
  '.git-credentials',
  '.gnupg',
  '.kube',
  '.local/share/keyrings',
  '.mozilla',
  '.netrc',
  '.npmrc',
  '.password-store',
  '.ssh',
];

/** Variables that name certificates of authorities. */
const CERTIFICATES = [
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
];

/** Too large to look at, and shown already. */
const SYSTEM_PATH = new Set(['/usr/bin', '/bin', '/usr/sbin', '/sbin']);

const KERNEL = /^\/+(?:proc|sys|dev)\//;
const PROGRAM_FOLDERS = new Set(['bin', 'sbin', 'libexec', 'shims']);
const MODULES = '/node_modules/';
const HEAD_BYTES = 256;
/** A script's interpreter may be a script itself. Source: execve(2). */
const MOST_INTERPRETERS = 4;

/** The folders of one home, by their real paths. */
interface Home {
  readonly path: string;
  readonly shared: ReadonlySet<string>;
  readonly closed: readonly string[];
  readonly managers: readonly (readonly [string, readonly string[]])[];
}

const homeAt = (path: string): Home => {
  const inHome = (name: string): string => join(path, name);
  return {
    path,
    shared: new Set(SHARED.map(inHome)),
    closed: PRIVATE.map(inHome),
    managers: Object.entries(MANAGERS).map(([name, all]) => [inHome(name), all.map(inHome)]),
  };
};

/** Whether a real path may be shown without being asked for. */
const isProper = (real: string, home: Home): boolean =>
  !isWithin(home.path, real) &&
  !home.shared.has(real) &&
  !home.closed.some((folder) => isWithin(real, folder));

/** A folder with `bin` and what belongs to it, and not somebody's working copy. */
const isPrefix = (folder: string): boolean =>
  !existsSync(join(folder, '.git')) &&
  ['lib', 'libexec', 'share', 'pyvenv.cfg'].some((name) => existsSync(join(folder, name)));

/** What is installed together with a program or a folder of programs, by its real path. */
const installationOf = (real: string, home: Home): readonly string[] => {
  const modules = `${real}/`.indexOf(MODULES);
  if (modules >= 0) return [real.slice(0, modules + MODULES.length - 1)];
  const folder = PROGRAM_FOLDERS.has(basename(real)) ? real : dirname(real);
  const prefix = dirname(folder);
  if (PROGRAM_FOLDERS.has(basename(folder)) && isProper(prefix, home) && isPrefix(prefix)) return [prefix];
  return home.managers.find(([name]) => isWithin(real, name))?.[1] ?? [real];
};

/** The beginning of a file, as far as the kernel looks at it. */
const headOf = (path: string): string => {
  try {
    const fd = openSync(path, 'r');
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      return head.toString('latin1', 0, readSync(fd, head, 0, HEAD_BYTES, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return '';
  }
};

const SHEBANG = /^#![ \t]*(\S+)(?:[ \t]+(\S[^\n]*))?/;

/** What runs a script, absolute; `#!/usr/bin/env NAME` is looked up as `env` does. */
const interpreterOf = (path: string, { env, cwd }: Wanted): string | undefined => {
  const [, program, rest = ''] = SHEBANG.exec(headOf(path)) ?? [];
  if (program === undefined || !isAbsolute(program)) return undefined;
  if (basename(program) !== 'env') return program;
  const name = rest.split(/\s+/).find((word) => !word.startsWith('-') && !word.includes('='));
  return name === undefined ? undefined : resolveProgram(name, { path: env['PATH'], cwd });
};

const withInterpreters = (program: string, wanted: Wanted): readonly string[] => {
  const found = [program];
  let next = interpreterOf(program, wanted);
  while (next !== undefined && found.length <= MOST_INTERPRETERS) {
    found.push(next);
    next = interpreterOf(next, wanted);
  }
  return found;
};

/** A script or a file that is named in full is meant to be read: `node /path/of/agent.js`. */
const namedFiles = (args: readonly string[]): readonly string[] =>
  args.filter((text) => {
    if (!isAbsolute(text) || text.includes('\0') || KERNEL.test(text)) return false;
    try {
      return statSync(text, { throwIfNoEntry: false })?.isFile() ?? false;
    } catch {
      return false;
    }
  });

/** A folder of PATH and where its links lead. Those of the system are shown as they are. */
const onPath = (folder: string): readonly string[] => {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return [
      folder,
      ...entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(folder, name)),
    ];
  } catch {
    return [];
  }
};

const pathFolders = (path: string | undefined): readonly string[] =>
  [...new Set((path ?? '').split(':'))].filter((folder) => isAbsolute(folder) && !SYSTEM_PATH.has(folder));

const candidates = (wanted: Wanted): ReadonlySet<string> => {
  const { argv, env, programs } = wanted;
  const [program = '', ...args] = argv;
  const certificates = CERTIFICATES.flatMap((name) => env[name] ?? []).filter((path) => isAbsolute(path));
  return new Set([
    ...withInterpreters(program, wanted),
    ...namedFiles(args),
    ...programs,
    ...certificates,
    ...pathFolders(env['PATH']).flatMap(onPath),
  ]);
};

/** Read-only entries; those that are shown already have no effect. */
export const programEntries = (wanted: Wanted, resolvePath: Resolve): readonly Entry[] => {
  const home = homeAt(resolvePath(wanted.home)?.real ?? wanted.home);
  const writable = wanted.writable.flatMap((path) => resolvePath(path)?.real ?? []);
  const paths = new Set<string>();
  for (const path of candidates(wanted)) {
    const found = resolvePath(path);
    if (found === undefined || !isProper(found.real, home) || leadsThrough(found, writable)) continue;
    for (const part of installationOf(found.real, home)) if (isProper(part, home)) paths.add(part);
    // By its own name too, so that the links on the way are made.
    paths.add(path);
  }
  return [...paths].map((path) => ({ path, kind: 'program' }));
};
