/**
 * The environment of a child is built, not inherited: what is not named here does not reach it. A worker's shell passes
 * everything on (agent-clis.md 0.13), so what it must not have, it must not get.
 */

/** What programs need to find themselves, their user, their language and the network. */
const BASE = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'no_proxy',
]);

const BASE_PREFIXES = ['LC_', 'XDG_'];

/**
 * Never taken over, even when a pipeline's `env` names it. With `CLAUDECODE` set a nested agent exits at once or emits nothing
 * (FIELD, spawning); `GIT_*` points git at another repository, index or helper program (EVIDENCE row 39).
 */
const isForbidden = (name: string): boolean =>
  name === 'CLAUDECODE' ||
  (name.startsWith('CLAUDE_CODE_') && name !== 'CLAUDE_CODE_OAUTH_TOKEN') ||
  name.startsWith('GIT_') ||
  name.startsWith('ORCHESTRATE_');

interface EnvironmentRequest {
  readonly parent: Readonly<NodeJS.ProcessEnv>;
  /** Further names that the pipeline lets through. */
  readonly allow: readonly string[];
  /** Set last and as they are: ours, and what the worker's definition sets. */
  readonly set: Readonly<Record<string, string>>;
  /** Names of the keys and settings of an agent. Not for plain commands. */
  readonly keys?: readonly string[];
}

/**
 * The whole environment of a child. `SSH_AUTH_SOCK` is left out on purpose: a worker that can use the person's SSH agent can push
 * as the person; a pipeline that wants it names it in `env`. Relative PATH entries are dropped.
 */
export const childEnvironment = (request: EnvironmentRequest): Record<string, string> => {
  const { parent, allow, set, keys = [] } = request;
  const allowed = new Set([...allow, ...keys]);
  const passes = (name: string): boolean => {
    if (isForbidden(name)) return false;
    if (BASE.has(name) || allowed.has(name)) return true;
    return BASE_PREFIXES.some((prefix) => name.startsWith(prefix));
  };
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(parent)) {
    if (value !== undefined && passes(name)) env[name] = value;
  }
  if (env['PATH'] !== undefined) env['PATH'] = absoluteEntries(env['PATH']);
  return Object.assign(env, set);
};

const absoluteEntries = (path: string): string =>
  path
    .split(':')
    .filter((folder) => folder.startsWith('/'))
    .join(':');
