/**
 * The environment of a child is built, not inherited: what is not named here does not reach it. A worker's shell passes
 * everything on (agent-clis.md 0.13), so what it must not have, it must not get.
 */

import type { AgentName } from '../model/pipeline.js';

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

/** How agents log in, where they keep their settings and which endpoint they talk to, by whose models those are. */
const PROVIDERS = {
  anthropic: [
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_BASE_URL',
    'ANTHROPIC_CUSTOM_HEADERS',
    'ANTHROPIC_MODEL',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'CLAUDE_CONFIG_DIR',
  ],
  openai: [
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
    'OPENAI_MODEL',
    'OPENAI_ORGANIZATION',
    'CODEX_API_KEY',
    'CODEX_HOME',
  ],
  google: [
    'GEMINI_API_KEY',
    'GEMINI_MODEL',
    'GOOGLE_API_KEY',
    'GOOGLE_CLOUD_LOCATION',
    'GOOGLE_CLOUD_PROJECT',
    'GOOGLE_GEMINI_BASE_URL',
    'GOOGLE_GENAI_USE_VERTEXAI',
  ],
  // `GH_TOKEN` and `GITHUB_TOKEN` are left out on purpose: they can push.
  copilot: [
    'COPILOT_GITHUB_TOKEN',
    'COPILOT_MODEL',
    'COPILOT_OFFLINE',
    'COPILOT_PROVIDER_API_KEY',
    'COPILOT_PROVIDER_AZURE_API_VERSION',
    'COPILOT_PROVIDER_BASE_URL',
    'COPILOT_PROVIDER_BEARER_TOKEN',
    'COPILOT_PROVIDER_HEADERS',
    'COPILOT_PROVIDER_MAX_OUTPUT_TOKENS',
    'COPILOT_PROVIDER_MAX_PROMPT_TOKENS',
    'COPILOT_PROVIDER_MODEL_ID',
    'COPILOT_PROVIDER_TRANSPORT',
    'COPILOT_PROVIDER_TYPE',
    'COPILOT_PROVIDER_WIRE_API',
    'COPILOT_PROVIDER_WIRE_MODEL',
  ],
  others: ['OPENROUTER_API_KEY', 'OPENCODE_API_KEY', 'OPENCODE_CONFIG', 'OPENCODE_CONFIG_DIR'],
} as const;

const ALL = Object.values(PROVIDERS).flat();

/** An agent gets the keys of its own provider and of no other; one that any provider may serve, and any other program, gets all. */
const KEYS: Readonly<Record<AgentName | 'any', readonly string[]>> = {
  claude: PROVIDERS.anthropic,
  codex: PROVIDERS.openai,
  gemini: PROVIDERS.google,
  qwen: PROVIDERS.openai,
  copilot: PROVIDERS.copilot,
  opencode: ALL,
  pi: ALL,
  any: ALL,
};

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
  /** Keys and settings of this agent too; `any` for a program that may be one. Not for plain commands. */
  readonly keysOf?: AgentName | 'any';
}

/**
 * The whole environment of a child. `SSH_AUTH_SOCK` is left out on purpose: a worker that can use the person's SSH agent can push
 * as the person; a pipeline that wants it names it in `env`. Relative PATH entries are dropped.
 */
export const childEnvironment = (request: EnvironmentRequest): Record<string, string> => {
  const { parent, allow, set, keysOf } = request;
  const allowed = new Set([...allow, ...(keysOf === undefined ? [] : KEYS[keysOf])]);
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
