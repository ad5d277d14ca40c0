import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import { type ConfigEntry, userEnvironment } from './environment.js';
import { type Git, run } from './git.js';
import { checkoutGitDir } from './repository.js';

/** The user's configuration as git sees it in their checkout, in the order in which it was read: the last one wins. */
export interface UserConfig {
  readonly entries: readonly ScopedEntry[];
}

interface ScopedEntry extends ConfigEntry {
  /** `system`, `global`, `local` or `worktree`. */
  readonly scope: string;
}

export interface Identity {
  readonly name: string;
  readonly email: string;
}

/**
 * One process, asked once for a command. Conditional includes count, so a work identity or key is found.
 * @throws `Problem` `git-failed` when the configuration cannot be read
 */
export const readUserConfig = async (git: Git, paths: RepositoryPaths): Promise<UserConfig> => {
  const key = `config:${paths.root}`;
  const known = git.memo.get(key) ?? listConfig(git, paths);
  git.memo.set(key, known);
  return (await known) as UserConfig;
};

const listConfig = async (git: Git, paths: RepositoryPaths): Promise<UserConfig> => {
  const listed = await run(git, {
    args: ['config', '--list', '-z', '--show-scope'],
    gitDir: checkoutGitDir(paths),
    wholeEnv: userEnvironment(git),
  });
  if (!listed.ok) throw new Problem(listed.failure);
  const parts = listed.value.stdout.toString('utf8').split('\0');
  const entries: ScopedEntry[] = [];
  for (let position = 0; position + 1 < parts.length; position += 2) {
    const scope = parts[position] ?? '';
    // Our own pinned settings show up as `command`.
    if (scope !== 'command') entries.push({ scope, ...keyAndValue(parts[position + 1] ?? '') });
  }
  return { entries };
};

const keyAndValue = (text: string): ConfigEntry => {
  const end = text.indexOf('\n');
  // A key without `=` means true. git-config(1), "Syntax".
  return end === -1 ? { key: text, value: 'true' } : { key: text.slice(0, end), value: text.slice(end + 1) };
};

const lastValue = (config: UserConfig, key: string): string | undefined =>
  config.entries.findLast((entry) => entry.key === key)?.value;

/**
 * Who commits. Only configuration counts: `GIT_AUTHOR_NAME` and the like may belong to whatever started us.
 * @throws `Problem` `usage` with the two commands that set it
 */
export const identityOf = (config: UserConfig): Identity => {
  const name = lastValue(config, 'author.name') ?? lastValue(config, 'user.name') ?? '';
  const email = lastValue(config, 'author.email') ?? lastValue(config, 'user.email') ?? '';
  if (name.trim() !== '' && email.trim() !== '') return { name: name.trim(), email: email.trim() };
  throw new Problem({
    kind: 'usage',
    message: 'git does not know who you are, so no commit can be made in your name',
    next: 'run `git config --global user.name "Your Name"` and `git config --global user.email you@example.com`',
  });
};

export interface RemoteUrls {
  /** Where is pushed to and landed on. */
  readonly push: string;
  /** Where is read from; differs from `push` only when the user set a `pushurl` or `pushInsteadOf`. */
  readonly fetch: string;
}

/**
 * The URLs of a remote as git would use them now, `insteadOf` and `pushurl` applied, local paths made absolute. They are
 * frozen here: what the configuration says later changes nothing.
 * @returns `undefined` when there is no such remote
 */
export const remoteUrls = (
  config: UserConfig,
  remote: string,
  paths: RepositoryPaths,
): RemoteUrls | undefined => {
  const url = firstValue(config, `remote.${remote}.url`);
  if (url === undefined) return undefined;
  const fetch = rewrite(config, url, ['.insteadof']) ?? url;
  const pushUrl = firstValue(config, `remote.${remote}.pushurl`);
  const push =
    pushUrl === undefined
      ? (rewrite(config, url, ['.pushinsteadof']) ?? fetch)
      : (rewrite(config, pushUrl, ['.insteadof']) ?? pushUrl);
  return { fetch: absoluteUrl(fetch, paths), push: absoluteUrl(push, paths) };
};

/** A remote may have several URLs; git reads from the first one. */
const firstValue = (config: UserConfig, key: string): string | undefined =>
  config.entries.find((entry) => entry.key === key)?.value;

/** The longest matching prefix wins. git-config(1), `url.<base>.insteadOf`. */
const rewrite = (config: UserConfig, url: string, suffixes: readonly string[]): string | undefined => {
  let best: ConfigEntry | undefined;
  for (const entry of config.entries) {
    const applies = entry.key.startsWith('url.') && suffixes.some((suffix) => entry.key.endsWith(suffix));
    if (applies && url.startsWith(entry.value) && entry.value.length > (best?.value.length ?? -1))
      best = entry;
  }
  if (best === undefined) return undefined;
  return best.key.slice('url.'.length, best.key.lastIndexOf('.')) + url.slice(best.value.length);
};

/** A path, as opposed to `scheme://…` and `host:path`. Source: git's `url_is_local_not_ssh`. */
const isLocalPath = (url: string): boolean => {
  const colon = url.indexOf(':');
  const slash = url.indexOf('/');
  return colon === -1 || (slash !== -1 && slash < colon);
};

const absoluteUrl = (url: string, paths: RepositoryPaths): string => {
  if (!isLocalPath(url) || isAbsolute(url)) return url;
  const candidates = [resolve(paths.root, url), resolve(paths.mainRoot, url)];
  return candidates.find((path) => existsSync(path)) ?? resolve(paths.mainRoot, url);
};

/**
 * Settings that are needed to reach a remote: credentials, transport, ssh. Only the user's own and the system's; a
 * repository's file is writable by a worker of the same user.
 */
export const networkSettings = (config: UserConfig): ConfigEntry[] =>
  config.entries
    .filter(({ scope }) => scope === 'global' || scope === 'system')
    .filter(
      ({ key }) => /^(credential|http)\./.test(key) || key === 'core.sshcommand' || key === 'ssh.variant',
    )
    .map(({ key, value }) => ({ key, value }));

/** Names of the filters that their git runs on files that it takes in. */
export const configuredFilters = (config: UserConfig): ReadonlySet<string> =>
  new Set(
    config.entries
      .filter(({ value }) => value !== '')
      .flatMap(({ key }) => /^filter\.(.+)\.(?:clean|process)$/s.exec(key)?.[1] ?? []),
  );
