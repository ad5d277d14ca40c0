import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import { type Git, type GitCommand, redact, run, runForText } from './git.js';
import { isBranchName, type ObjectFormat } from './layout.js';
import { lazyFetching } from './partial.js';
import { fetchHead, lookAtRemote, type Remote, type RemoteState } from './remote.js';
import { checkoutGitDir } from './repository.js';
import type { Store } from './store.js';
import { type Identity, identityOf, readUserConfig, type RemoteUrls, remoteUrls } from './user-config.js';

export interface BaseRequest {
  readonly git: Git;
  readonly paths: RepositoryPaths;
  readonly store: Store;
  /** Branch that the ticket starts from and lands on. Default: the one that is checked out. */
  readonly baseBranch?: string | undefined;
  /** Name of the remote, e.g. `origin`; it need not exist. */
  readonly remote: string;
}

/** Where a ticket starts. Frozen: nothing that happens to the repository later changes it. */
export interface Base {
  /** `undefined` on a detached HEAD that belongs to no branch: there is nothing to land on then. */
  readonly branch?: string;
  /** Full id; the commit is in the user's object database. */
  readonly commit: string;
  /** Where is pushed to and landed on; absolute or with a scheme. `undefined`: there is no such remote. */
  readonly remoteUrl?: string;
  /** The remote has not got the base commit, as far as is known: what it lacks must be pushed along. */
  readonly unpublished: boolean;
  readonly author: Identity;
  readonly objectFormat: ObjectFormat;
  /** Sentences for the person who starts the run. */
  readonly notes: readonly string[];
}

/**
 * Finds the base branch and commit, the remote's URL and the author.
 *
 * A local branch that is merely behind its remote is not used: work cut from it would be reviewed against files that have
 * changed since. The remote's head is fetched (no ref is touched) and a note says so. A local branch with commits of its
 * own is used as it is. When the remote cannot be reached, its last known head counts.
 * @throws `Problem` `no-commits`, `usage` (no such branch, no identity) or `git-failed`
 */
export const resolveBase = async (request: BaseRequest): Promise<Base> => {
  const { git, paths, store } = request;
  if (request.baseBranch !== undefined && !isBranchName(request.baseBranch))
    throw noBranch(request.baseBranch);
  const config = await readUserConfig(git, paths);
  const author = identityOf(config);
  const urls = remoteUrls(config, request.remote, paths);
  const notes: string[] = [];
  const wanted = request.baseBranch ?? (await checkedOutBranch(request));
  const look = urls === undefined ? undefined : await askRemote(request, { urls, wanted, notes });
  const branch = wanted ?? look?.defaultBranch ?? (await branchOffline(request));
  const found = await compare(request, { branch, look, urls, notes });
  return {
    ...(branch === undefined ? {} : { branch }),
    commit: found.commit,
    ...(urls === undefined ? {} : { remoteUrl: urls.push }),
    unpublished: urls !== undefined && found.unpublished,
    author,
    objectFormat: store.format,
    notes,
  };
};

/** Plain reads of the user's repository. */
const read = (request: BaseRequest, args: readonly string[]): GitCommand => ({
  args,
  gitDir: checkoutGitDir(request.paths),
});

/** `undefined` on a detached HEAD, in the middle of a rebase above all. */
const checkedOutBranch = async (request: BaseRequest): Promise<string | undefined> => {
  const ref = unwrap(
    await runForText(request.git, { ...read(request, ['symbolic-ref', '--quiet', 'HEAD']), answers: [1] }),
  );
  return ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : undefined;
};

interface LookContext {
  readonly urls: RemoteUrls;
  readonly wanted: string | undefined;
  readonly notes: string[];
}

/** A start must not hang on a network that is down. */
const START_TIMEOUT_MS = 20_000;

const askRemote = async (request: BaseRequest, context: LookContext): Promise<RemoteState | undefined> => {
  const remote: Remote = { ...request, url: context.urls.fetch };
  const branches = context.wanted === undefined ? [] : [context.wanted];
  const look = await lookAtRemote(remote, branches, START_TIMEOUT_MS);
  if (look.ok) return look.value;
  context.notes.push(
    `remote \`${request.remote}\` (${redact(remote.url)}) could not be reached; what is known locally is used`,
  );
  return undefined;
};

/** For a detached HEAD without the remote's word: its default branch as last fetched, else a branch with this commit. */
const branchOffline = async (request: BaseRequest): Promise<string | undefined> => {
  const prefix = `refs/remotes/${request.remote}/`;
  const target = unwrap(
    await runForText(request.git, {
      ...read(request, ['symbolic-ref', '--quiet', `${prefix}HEAD`]),
      answers: [1],
    }),
  );
  if (target.startsWith(prefix)) return target.slice(prefix.length);
  const name = unwrap(
    await runForText(
      request.git,
      read(request, [
        'for-each-ref',
        '--contains=HEAD',
        '--count=1',
        '--format=%(refname:lstrip=2)',
        'refs/heads/',
      ]),
    ),
  );
  return name === '' ? undefined : name;
};

interface CompareContext {
  readonly branch: string | undefined;
  readonly look: RemoteState | undefined;
  readonly urls: RemoteUrls | undefined;
  readonly notes: string[];
}

interface Found {
  readonly commit: string;
  readonly unpublished: boolean;
}

const compare = async (request: BaseRequest, context: CompareContext): Promise<Found> => {
  const { branch, look } = context;
  if (branch === undefined) {
    const [head] = await knownCommits(request, ['HEAD']);
    return onlyLocal(request, context, head);
  }
  const seen = look?.heads.get(branch) ?? defaultHead(look, branch);
  const names = [`refs/heads/${branch}`, `refs/remotes/${request.remote}/${branch}`, seen ?? 'HEAD'];
  const [local, tracked, seenHere] = await knownCommits(request, names);
  const published = seen ?? (look === undefined ? tracked : undefined);
  if (published === undefined) return onlyLocal(request, context, local);
  if (published === local) return { commit: published, unpublished: false };
  const haves = [local, tracked].filter((id) => id !== undefined);
  const missing = seen !== undefined && seenHere === undefined;
  const newest = missing ? await fetchNewer(request, context, haves) : published;
  if (local === undefined) return { commit: newest, unpublished: false };
  return choose(request, context, { local, published: newest });
};

/** The remote was asked for no branch when HEAD is detached, but it said where its own HEAD is. */
const defaultHead = (look: RemoteState | undefined, branch: string): string | undefined =>
  look?.defaultBranch === branch ? look.head : undefined;

const onlyLocal = (request: BaseRequest, context: CompareContext, commit: string | undefined): Found => {
  const { branch, look, notes } = context;
  if (commit !== undefined) {
    if (look !== undefined && branch !== undefined) {
      notes.push(`remote \`${request.remote}\` has no branch \`${branch}\` yet; the local one is used`);
    }
    return { commit, unpublished: true };
  }
  if (request.baseBranch !== undefined) throw noBranch(request.baseBranch);
  throw new Problem({
    kind: 'no-commits',
    message: 'the repository has no commits, so there is nothing to start from',
    where: request.paths.root,
    next: 'make a first commit: `git add -A && git commit -m "Start"`',
  });
};

const fetchNewer = async (
  request: BaseRequest,
  context: CompareContext,
  haves: readonly string[],
): Promise<string> => {
  const { branch = '', urls } = context;
  const remote: Remote = { ...request, url: urls?.fetch ?? '' };
  return unwrap(await fetchHead(remote, { branch, haves }));
};

const choose = async (
  request: BaseRequest,
  context: CompareContext,
  ids: { readonly local: string; readonly published: string },
): Promise<Found> => {
  const { notes } = context;
  const name = `\`${context.branch ?? ''}\``;
  const counts = unwrap(
    await runForText(
      request.git,
      read(request, ['rev-list', '--left-right', '--count', `${ids.local}...${ids.published}`]),
    ),
  );
  const [ahead = 0, behind = 0] = counts.split('\t').map(Number);
  if (ahead === 0) {
    const where = context.look === undefined ? 'as it was last fetched' : 'as it is now';
    notes.push(
      `local ${name} is ${commits(behind)} behind remote \`${request.remote}\`; the ticket starts from the remote's ${name} ${where}`,
    );
    return { commit: ids.published, unpublished: false };
  }
  const also = behind === 0 ? '' : ` and lacks ${commits(behind)} of it`;
  notes.push(
    `local ${name} has ${commits(ahead)} that remote \`${request.remote}\` has not${also}; the ticket starts from the local one, and pushing its branch publishes them`,
  );
  return { commit: ids.local, unpublished: true };
};

const commits = (count: number): string => (count === 1 ? '1 commit' : `${count} commits`);

/** Full commit ids by name, `undefined` for what does not exist. One process. */
const knownCommits = async (
  request: BaseRequest,
  names: readonly string[],
): Promise<(string | undefined)[]> => {
  const answered = unwrap(
    await run(request.git, {
      ...read(request, ['cat-file', '--batch-check=%(objectname) %(objecttype)']),
      // A partial clone asks its remote about a commit that is not there.
      ...(await lazyFetching(request.git, request.paths)),
      input: names.map((name) => `${name}^{commit}\n`).join(''),
    }),
  );
  const lines = answered.stdout.toString('utf8').split('\n');
  return names.map((_, position) => /^([0-9a-f]{40,64}) commit$/.exec(lines[position] ?? '')?.[1]);
};

const unwrap = <T>(result: { readonly ok: true; readonly value: T } | Failed): T => {
  if (result.ok) return result.value;
  throw new Problem(result.failure);
};

interface Failed {
  readonly ok: false;
  readonly failure: ConstructorParameters<typeof Problem>[0];
}

const noBranch = (branch: string): Problem =>
  new Problem({
    kind: 'usage',
    message: `the base branch ${JSON.stringify(branch)} exists neither here nor on the remote`,
    next: 'correct `base` in targets.yaml, or create the branch',
  });
