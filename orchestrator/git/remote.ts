import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RepositoryPaths } from '../model/git.js';
import { fail, ok, type Result } from '../model/result.js';
import { networkEnvironment } from './environment.js';
import { type Git, redact, run } from './git.js';
import { makeGitDir } from './layout.js';
import type { Store } from './store.js';
import { networkSettings, readUserConfig } from './user-config.js';
import { crossing } from '../state/crossing.js';

/** A remote as a frozen URL: no name of a remote and no setting of a repository is consulted. */
export interface Remote {
  readonly git: Git;
  readonly store: Store;
  readonly paths: RepositoryPaths;
  readonly url: string;
}

export interface RemoteState {
  /** Commit by branch, of the branches that were asked for and exist. */
  readonly heads: ReadonlyMap<string, string>;
  /** Branch that the remote's HEAD names. */
  readonly defaultBranch?: string;
  /** Commit of the remote's HEAD. */
  readonly head?: string;
}

const LOOK_TIMEOUT_MS = 60_000;
const TRANSFER_TIMEOUT_MS = 30 * 60_000;

/** Asks the remote where its HEAD and the named branches are now. One process. */
export const lookAtRemote = async (
  remote: Remote,
  branches: readonly string[],
  timeoutMs = LOOK_TIMEOUT_MS,
): Promise<Result<RemoteState>> => {
  const listed = await run(remote.git, {
    args: [
      'ls-remote',
      '--symref',
      '--',
      remote.url,
      'HEAD',
      ...branches.map((name) => `refs/heads/${name}`),
    ],
    gitDir: remote.store.path,
    env: await networkOf(remote),
    timeoutMs,
  });
  if (!listed.ok) return unreachable(remote, listed.failure.message);
  return ok(parseLook(listed.value.stdout.toString('utf8'), branches));
};

const DEFAULT_BRANCH = /^ref: refs\/heads\/(.+)\tHEAD$/m;

const parseLook = (text: string, branches: readonly string[]): RemoteState => {
  // `--symref` adds a line for HEAD that is not an id.
  const lines = text.split('\n').filter((line) => !line.startsWith('ref: '));
  const ids = new Map(lines.map((line) => line.split('\t')).map(([id = '', name = '']) => [name, id]));
  const heads = branches.flatMap((branch): [string, string][] => {
    const id = ids.get(`refs/heads/${branch}`);
    return id === undefined ? [] : [[branch, id]];
  });
  const defaultBranch = DEFAULT_BRANCH.exec(text)?.[1];
  const head = ids.get('HEAD');
  return {
    heads: new Map(heads),
    ...(defaultBranch === undefined ? {} : { defaultBranch }),
    ...(head === undefined ? {} : { head }),
  };
};

export interface PushRequest {
  readonly commit: string;
  readonly branch: string;
  /** What the branch must be now; `undefined`: it must not exist. */
  readonly expected: string | undefined;
}

/** `moved`: the branch was not where it was expected; nothing was changed. */
export type PushOutcome = 'pushed' | 'moved';

const MOVED =
  /\(stale info\)|cannot lock ref|failed to update ref|reference already exists|incorrect old value|fetch first|non-fast-forward/;

/**
 * Pushes one commit to one full ref, under a lease with an explicit value. Nothing happens when it is there already.
 * @returns `git-failed` when the remote refuses, with its reason, or cannot be reached
 */
export const pushRef = async (remote: Remote, request: PushRequest): Promise<Result<PushOutcome>> => {
  const ref = `refs/heads/${request.branch}`;
  const pushed = await run(remote.git, {
    args: [
      // Finds out what the remote has although we do not know its other branches.
      '-c',
      'push.negotiate=true',
      'push',
      '--porcelain',
      '--no-verify',
      `--force-with-lease=${ref}:${request.expected ?? ''}`,
      '--',
      remote.url,
      `${request.commit}:${ref}`,
    ],
    gitDir: remote.store.path,
    env: await networkOf(remote),
    answers: [1],
    timeoutMs: TRANSFER_TIMEOUT_MS,
  });
  // The remote has it, and nobody has written that down yet.
  crossing('git pushed, not looked at');
  if (!pushed.ok) return unreachable(remote, pushed.failure.message);
  if (pushed.value.code === 0) return ok('pushed');
  const said = redact(pushed.value.stdout.toString('utf8'));
  const line = said.split('\n').find((text) => text.startsWith('!')) ?? '';
  if (MOVED.test(line) || MOVED.test(pushed.value.stderr)) return ok('moved');
  return fail({
    kind: 'git-failed',
    message:
      `the remote refused \`${request.branch}\`: ${line.split('\t').at(-1) ?? ''}\n${pushed.value.stderr}`.trim(),
    where: redact(remote.url),
    next: 'look at the rules of the remote (protected branches, hooks, permissions), then run again',
  });
};

export interface FetchRequest {
  readonly branch: string;
  /** Commits that the user's repository has; the more recent the better. */
  readonly haves: readonly string[];
  readonly timeoutMs?: number;
}

let counter = 0;

/**
 * Fetches the head of a branch into the user's object database and nowhere else: no ref, no FETCH_HEAD and no setting of
 * theirs is read or written. A short-lived git directory of our own gives git its configuration.
 * @returns the full id of the head; `git-failed` when the remote has no such branch or cannot be reached
 */
export const fetchHead = async (remote: Remote, request: FetchRequest): Promise<Result<string>> => {
  counter += 1;
  const { store, paths } = remote;
  const courier = join(store.path, `tmp-fetch-${process.pid}-${counter}.git`);
  rmSync(courier, { recursive: true, force: true });
  try {
    makeGitDir({ path: courier, format: store.format, head: 'refs/heads/none', config: '', bare: true });
    for (const [position, have] of request.haves.entries()) {
      writeFileSync(join(courier, 'refs', 'heads', `have-${position}`), `${have}\n`);
    }
    const shallow = join(paths.gitDir, 'shallow');
    if (existsSync(shallow)) copyFileSync(shallow, join(courier, 'shallow'));
    mkdirSync(join(courier, 'refs', 'incoming'), { recursive: true });
    return await fetchInto(remote, request, courier);
  } finally {
    rmSync(courier, { recursive: true, force: true });
  }
};

/** A fetch of named branches and of nothing else; the URL and the refspecs follow. */
const FETCH = [
  'fetch',
  '--quiet',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-auto-maintenance',
  '--no-recurse-submodules',
  '--',
] as const;

const fetchInto = async (remote: Remote, request: FetchRequest, courier: string): Promise<Result<string>> => {
  const fetched = await run(remote.git, {
    args: [...FETCH, remote.url, `+refs/heads/${request.branch}:refs/incoming/head`],
    gitDir: courier,
    env: { ...(await networkOf(remote)), GIT_OBJECT_DIRECTORY: join(remote.paths.gitDir, 'objects') },
    timeoutMs: request.timeoutMs ?? TRANSFER_TIMEOUT_MS,
  });
  if (!fetched.ok) return unreachable(remote, fetched.failure.message);
  return ok(readFileSync(join(courier, 'refs', 'incoming', 'head'), 'latin1').trim());
};

/**
 * Fetches branches into a git directory of our own, which keeps their heads below `refs/incoming/`.
 * @returns the full id of each head; `git-failed` when the remote lacks one of them or cannot be reached
 */
export const fetchBranches = async (
  remote: Remote,
  gitDir: string,
  branches: readonly string[],
): Promise<Result<ReadonlyMap<string, string>>> => {
  const fetched = await run(remote.git, {
    args: [
      ...FETCH,
      remote.url,
      ...branches.map((branch, position) => `+refs/heads/${branch}:refs/incoming/${position}`),
    ],
    gitDir,
    env: await networkOf(remote),
    timeoutMs: TRANSFER_TIMEOUT_MS,
  });
  if (!fetched.ok) return unreachable(remote, fetched.failure.message);
  const headAt = (position: number): string =>
    readFileSync(join(gitDir, 'refs', 'incoming', String(position)), 'latin1').trim();
  return ok(new Map(branches.map((branch, position) => [branch, headAt(position)])));
};

const networkOf = async (remote: Remote): Promise<Record<string, string>> =>
  networkEnvironment(remote.git, networkSettings(await readUserConfig(remote.git, remote.paths)));

const unreachable = (remote: Remote, message: string) =>
  fail({
    kind: 'git-failed',
    message,
    where: redact(remote.url),
    next: `check that \`git ls-remote ${redact(remote.url)}\` works without asking for anything, then run again`,
  });
