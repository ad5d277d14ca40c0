/** Whether this machine can hold a child in a sandbox. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { promisify } from 'node:util';
import { resolveProgram } from './program.js';

export interface Bubblewrap {
  readonly kind: 'bubblewrap';
  /** Absolute path. */
  readonly program: string;
  readonly version: string;
  /** The options for user namespaces that this machine allows. */
  readonly userOptions: readonly string[];
}

export interface NoSandbox {
  readonly kind: 'none';
  /** Lower case, without a full stop. */
  readonly why: string;
  /** What a person can do about it. */
  readonly fix: string;
}

export type Found = Bubblewrap | NoSandbox;

/** Looked through before PATH. */
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin', '/run/current-system/sw/bin', '/run/wrappers/bin'];
const PROBE_MS = 10_000;
const LINE_CHARACTERS = 200;

/**
 * Namespaces of its own, no capabilities, and an end with its parent. A session of its own although its parent leads one already: a
 * signal to the own process group would reach the parent. `--as-pid-1` leaves no process of bwrap inside, which would hold a
 * program of the outside open.
 */
export const HELD = [
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--new-session',
  '--die-with-parent',
  '--cap-drop',
  'ALL',
  '--as-pid-1',
] as const;

/**
 * Best first. A child that can make user namespaces can mount in them, and reaches parts of the kernel that only they open;
 * bubblewrap can forbid them since 0.8.0. The last one is for a system where only root may have namespaces.
 */
const USER_OPTIONS: readonly (readonly string[])[] = [
  ['--unshare-user', '--disable-userns'],
  ['--unshare-user'],
  [],
];

const run = promisify(execFile);

/** @returns what the program printed, or what it complained about */
const ask = async (
  program: string,
  args: readonly string[],
): Promise<{ readonly ok: boolean; readonly text: string }> => {
  try {
    const { stdout } = await run(program, [...args], { env: {}, timeout: PROBE_MS, encoding: 'utf8' });
    return { ok: true, text: stdout };
  } catch (error) {
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    return { ok: false, text: stderr === '' ? String(error) : stderr };
  }
};

const EVERYTHING = ['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--', '/bin/sh', '-c', ':'];

const tryOut = (program: string, userOptions: readonly string[]) =>
  ask(program, [...userOptions, ...HELD, ...EVERYTHING]);

const lookUp = (path: string | undefined): string | undefined => {
  // A folder of a project's packages is filled by whoever wrote the packages.
  const own = (path ?? '')
    .split(':')
    .filter((entry) => isAbsolute(entry) && !`${entry}/`.includes('/node_modules/'));
  return resolveProgram('bwrap', { path: [...FOLDERS, ...own].join(':'), cwd: '/' });
};

const setting = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
};

const isInContainer = (): boolean =>
  existsSync('/.dockerenv') ||
  existsSync('/run/.containerenv') ||
  setting('/proc/1/cgroup')?.includes('kubepods') === true;

/** The settings that forbid user namespaces, and how each is changed. Sources: user_namespaces(7), Debian's and Ubuntu's kernels. */
const SYSTEM_REASONS = [
  {
    path: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    value: '1',
    why: 'AppArmor forbids it to make namespaces',
    fix: 'allow it: an AppArmor profile for bwrap with the rule `userns,` (on Ubuntu `bwrap-userns-restrict` in the package `apparmor-profiles`), or `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`',
  },
  {
    path: '/proc/sys/kernel/unprivileged_userns_clone',
    value: '0',
    why: 'this system forbids user namespaces',
    fix: 'allow them: `sudo sysctl -w kernel.unprivileged_userns_clone=1`',
  },
] as const;

/** What a limit that is reached is called by the kernel: `ENOSPC`. */
const LIMIT = {
  why: 'this system forbids user namespaces, or there are too many',
  fix: 'allow more: `sudo sysctl -w user.max_user_namespaces=15000`',
};

const CONTAINER = {
  why: 'this container forbids it to make namespaces',
  fix: 'start the container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined` (podman: `--security-opt unmask=ALL`), or let the container be the sandbox: `sandbox: off`',
};

const PROC = {
  why: 'this container hides parts of /proc, so that no new one can be mounted',
  fix: 'start the container with `--security-opt systempaths=unconfined` (podman: `--security-opt unmask=ALL`), or let the container be the sandbox: `sandbox: off`',
};

const OTHER = {
  why: 'it cannot make the namespaces that it needs',
  fix: 'run the `bwrap` of the message by hand to see more, or go without: `sandbox: off`',
};

const reasonFor = (complaint: string): { readonly why: string; readonly fix: string } => {
  if (/mount proc/i.test(complaint)) return PROC;
  const setBy = SYSTEM_REASONS.find(({ path, value }) => setting(path) === value);
  if (setBy !== undefined) return setBy;
  if (/ENOSPC|No space left/.test(complaint)) return LIMIT;
  return isInContainer() ? CONTAINER : OTHER;
};

const whyNot = (program: string, complaint: string): NoSandbox => {
  const { why, fix } = reasonFor(complaint);
  const line = (complaint.trim().split('\n')[0] ?? '')
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, LINE_CHARACTERS);
  return { kind: 'none', why: `\`${program}\` does not work here: ${why} (${line})`, fix };
};

const look = async (path: string | undefined): Promise<Found> => {
  if (process.platform !== 'linux') {
    return {
      kind: 'none',
      why: 'bubblewrap is for Linux only',
      fix: 'run in a Linux container or machine, or go without: `sandbox: off`',
    };
  }
  const program = lookUp(path);
  if (program === undefined) {
    return {
      kind: 'none',
      why: 'bubblewrap is not installed',
      fix: 'install the package `bubblewrap`, e.g. `sudo apt install bubblewrap` or `sudo dnf install bubblewrap`',
    };
  }
  const version = ask(program, ['--version']);
  let complaint = '';
  for (const userOptions of USER_OPTIONS) {
    const answer = await tryOut(program, userOptions);
    if (answer.ok) {
      return { kind: 'bubblewrap', program, version: versionOf((await version).text), userOptions };
    }
    complaint = complaint === '' || /unknown option/i.test(complaint) ? answer.text : complaint;
  }
  return whyNot(program, complaint);
};

const versionOf = (text: string): string => /\d+(?:\.\d+)+/.exec(text)?.[0] ?? 'of an unknown version';

const answers = new Map<string, Promise<Found>>();

/**
 * Looks for bubblewrap in the folders of the system and on the PATH of `env`, which is the orchestrator's own, and tries it out
 * once a process. Never rejects. A `bwrap` that works takes some 10 ms.
 */
export const findSandbox = (env: Readonly<NodeJS.ProcessEnv>): Promise<Found> => {
  const path = env['PATH'] ?? '';
  const known = answers.get(path) ?? look(path);
  answers.set(path, known);
  return known;
};
