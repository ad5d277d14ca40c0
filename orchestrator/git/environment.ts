/**
 * Settings that decide what git reads and writes, given to every command on its command line, so that no
 * configuration file can change them. Source: EVIDENCE section 3, "immune recipe".
 */
const PINNED: readonly string[] = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.excludesFile=/dev/null',
  'core.attributesFile=/dev/null',
  'core.fileMode=true',
  'core.symlinks=true',
  'core.ignoreCase=false',
  'core.precomposeUnicode=false',
  // Spellings of `.git` that other file systems take for it are refused here too.
  'core.protectHFS=true',
  'core.protectNTFS=true',
  'core.autocrlf=false',
  'core.safecrlf=false',
  'core.sparseCheckout=false',
  'core.splitIndex=false',
  'core.bigFileThreshold=512m',
  'core.trustctime=true',
  'core.checkStat=default',
  'core.quotePath=true',
  // Objects are on disk before the journal says that they exist.
  'core.fsync=committed,reference',
  'core.fsyncMethod=batch',
  'index.version=2',
  'pack.compression=1',
  'gc.auto=0',
  'maintenance.auto=false',
  'fetch.recurseSubmodules=false',
  'push.recurseSubmodules=no',
  'push.followTags=false',
  'push.gpgSign=false',
  'commit.gpgSign=false',
  'merge.renames=false',
  'merge.directoryRenames=false',
  'merge.renormalize=false',
  'advice.graftFileDeprecated=false',
  'protocol.ext.allow=never',
];

export const pinnedArguments = (): string[] => PINNED.flatMap((setting) => ['-c', setting]);

/** What the environment of a git process is made from. */
export interface Surroundings {
  /** PATH of git's own children: absolute folders outside the repository. */
  readonly path: string;
  /** The caller's environment, of which a few names are let through to the network. */
  readonly env: NodeJS.ProcessEnv;
}

/** The whole environment of a git process: nothing of the caller's own gets in, no `GIT_*` above all. */
export const isolatedEnvironment = (git: Surroundings): Record<string, string> => ({
  PATH: git.path,
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_GRAFT_FILE: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
});

/** What reading the user's own configuration needs: their home, so that `~/.gitconfig` is found. */
export const userEnvironment = (git: Surroundings): Record<string, string> => ({
  PATH: git.path,
  LC_ALL: 'C',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  ...pick(git.env, ['HOME', 'XDG_CONFIG_HOME', 'USERPROFILE']),
});

/** Variables that ssh, credential helpers and proxies need. */
const NETWORK_NAMES = [
  'HOME',
  'USER',
  'LOGNAME',
  'XDG_CONFIG_HOME',
  'XDG_RUNTIME_DIR',
  'DBUS_SESSION_BUS_ADDRESS',
  'SSH_AUTH_SOCK',
  'SSH_AGENT_PID',
  'KRB5CCNAME',
  'http_proxy',
  'https_proxy',
  'HTTPS_PROXY',
  'all_proxy',
  'ALL_PROXY',
  'no_proxy',
  'NO_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'GH_TOKEN',
  'GITHUB_TOKEN',
  'GITLAB_TOKEN',
  'USERPROFILE',
];

/**
 * For fetch, push and ls-remote. The user's configuration is still not read; the few settings that reach a remote are
 * handed over as variables, not on the command line, as some hold secrets.
 */
export const networkEnvironment = (
  git: Surroundings,
  settings: readonly ConfigEntry[],
): Record<string, string> => {
  const env: Record<string, string> = { ...pick(git.env, NETWORK_NAMES), GCM_INTERACTIVE: 'never' };
  if (!settings.some(({ key }) => key === 'core.sshcommand')) env['GIT_SSH_COMMAND'] = 'ssh -o BatchMode=yes';
  env['GIT_CONFIG_COUNT'] = String(settings.length);
  for (const [position, { key, value }] of settings.entries()) {
    env[`GIT_CONFIG_KEY_${position}`] = key;
    env[`GIT_CONFIG_VALUE_${position}`] = value;
  }
  return env;
};

export interface ConfigEntry {
  readonly key: string;
  readonly value: string;
}

const pick = (env: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> => {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = env[name];
    if (value !== undefined && value !== '') picked[name] = value;
  }
  return picked;
};
