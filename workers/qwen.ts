import { oneLine } from '../orchestrator/model/text.js';
import { agentProblems, option } from './agent-spec.js';
import { countAt, fieldAt, jsonLine, listAt, textAt, withoutCached, type JsonObject } from './json-line.js';
import { providerTrouble } from './openai-style.js';
import { KEYS } from './provider-keys.js';
import { NEW_SESSION, READ_BY_US, reservedArguments } from './reserved-args.js';
import type { AgentEvent, Invocation, Worker, WorkerRequest } from './worker.js';

const RESERVED = {
  '--output-format': READ_BY_US,
  '-o': READ_BY_US,
  '--input-format': READ_BY_US,
  '--json-schema': READ_BY_US,
  '--continue': NEW_SESSION,
  '-c': NEW_SESSION,
  '--resume': NEW_SESSION,
  '-r': NEW_SESSION,
  '--max-session-turns': 'write `maxTurns` instead',
  '--model': 'write `model` instead',
  '-m': 'write `model` instead',
};

/** Its folder below `paths.config`: what `~/.qwen` is otherwise. */
const FOLDER = 'qwen';
const FOLDER_VARIABLE = 'QWEN_HOME';
/** The user's settings, as the layer that ours are laid over: providers, their keys, the model. */
const USERS_SETTINGS = `${FOLDER}/users-settings.json`;

const READERS = ['read_file', 'grep_search', 'glob', 'list_directory'];

const permissionsOf = ({ access, paths }: WorkerRequest) => {
  // A path from the root begins with two slashes here.
  const below = (folder: string) => [`edit(/${folder}/**)`, `write_file(/${folder}/**)`];
  // `Edit` is both tools, and what of a shell command can be told from its text: `> file`, `cp`, `rm`. A program that writes is
  // kept off the tree by the sandbox and the fingerprint only.
  const notTheTree = `Edit(/${paths.tree}/**)`;
  if (access === 'write') {
    return { allow: ['run_shell_command', ...READERS, ...below(paths.tree), ...below(paths.out)] };
  }
  if (access === 'read-only') {
    return { allow: ['run_shell_command', ...READERS, ...below(paths.out)], deny: [notTheTree] };
  }
  return {
    allow: ['read_file', ...below(paths.out)],
    deny: [notTheTree, 'run_shell_command', 'grep_search', 'glob', 'list_directory', 'agent', 'skill'],
  };
};

const settingsOf = (request: WorkerRequest): string =>
  JSON.stringify({
    // Of the layout of this file; without it the program rewrites it first.
    $version: 4,
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    general: { enableAutoUpdate: false, checkpointing: { enabled: false } },
    memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
    tools: { sandbox: false, shell: { enableInteractiveShell: false } },
    disableAllHooks: true,
    // It tries seven times as it is; with its client's own tries a limit takes minutes, in silence.
    model: { generationConfig: { maxRetries: 0 } },
    security: { folderTrust: { enabled: true } },
    permissions: permissionsOf(request),
  });

/**
 * Where the tree is judged, it is not trusted: its settings could allow more, its `.env` could send the key elsewhere, and its
 * instructions are for who changes it.
 */
const trustOf = ({ access, paths }: WorkerRequest): string =>
  JSON.stringify({ [paths.tree]: access === 'write' ? 'TRUST_FOLDER' : 'DO_NOT_TRUST' });

const linksOf = ({ home, folders }: WorkerRequest): NonNullable<Invocation['links']> => {
  const users = folders?.[FOLDER_VARIABLE] ?? `${home}/.qwen`;
  return [
    { path: USERS_SETTINGS, from: `${users}/settings.json` },
    // A refreshed token replaces the link and stays with the child; this way of logging in has been discontinued.
    { path: `${FOLDER}/oauth_creds.json`, from: `${users}/oauth_creds.json` },
  ];
};

const QUIET = {
  // Otherwise the program that is signalled is not the one that works.
  QWEN_CODE_NO_RELAUNCH: '1',
  QWEN_TELEMETRY_ENABLED: 'false',
};

const argvOf = ({ spec, paths, variables }: WorkerRequest): readonly string[] => [
  'qwen',
  '--output-format',
  'stream-json',
  '--json-schema',
  `@${paths.schema}`,
  '--approval-mode',
  'default',
  '--include-directories',
  paths.out,
  '--allowed-mcp-server-names',
  'none',
  ...(variables.has('OPENAI_API_KEY') ? ['--auth-type', 'openai'] : []),
  ...option('--model', spec.model),
  ...option('--max-session-turns', spec.maxTurns),
  ...spec.args,
];

/** Nothing was asked of a model, or nobody counted. */
const isNothing = (usage: unknown): boolean =>
  (countAt(usage, 'input_tokens') ?? 0) === 0 && (countAt(usage, 'output_tokens') ?? 0) === 0;

/** Its input tokens have the cached ones in them. */
const usageOf = (usage: unknown): readonly AgentEvent[] => {
  if (isNothing(usage)) return [];
  const cached = countAt(usage, 'cache_read_input_tokens');
  const counted = {
    inputTokens: withoutCached(countAt(usage, 'input_tokens'), cached),
    outputTokens: countAt(usage, 'output_tokens'),
    costUsd: null,
    cacheReadTokens: cached,
    cacheWriteTokens: null,
  };
  return [{ kind: 'usage', usage: counted, counts: 'total' }];
};

/** What the program writes in place of an answer. */
const API_ERROR = '[API Error: ';

const assistant = (line: JsonObject): readonly AgentEvent[] => {
  // A turn of an agent inside the agent.
  if (textAt(line, 'parent_tool_use_id') !== undefined) return [];
  const texts = listAt(line, 'message', 'content').flatMap((part) => {
    const text = textAt(part, 'type') === 'text' ? textAt(part, 'text') : undefined;
    return text === undefined || text === '' ? [] : [text];
  });
  const text = texts.join('\n');
  // Version 0.15 tells an error of the provider nowhere else. No tokens were counted, so no model wrote it.
  if (text.startsWith(API_ERROR) && isNothing(fieldAt(line, 'message', 'usage'))) {
    return [{ kind: 'trouble', trouble: providerTrouble(text), final: true }];
  }
  return [{ kind: 'turn' }, ...(text === '' ? [] : [{ kind: 'text', text } as const])];
};

const troubleIn = (message: string) => {
  // It quotes the model, so it must not be searched for words.
  if (message.startsWith('Model produced plain text')) {
    const detail = 'it answered in plain text and did not give the structured output';
    return { kind: 'agent-failed' as const, detail };
  }
  if (message.startsWith('No auth type is selected')) {
    return { kind: 'auth' as const, detail: oneLine(message) };
  }
  // A refusal or nothing at all, after several tries: the provider was there.
  if (message.startsWith(`${API_ERROR}Model stream ended`)) {
    return { kind: 'agent-failed' as const, detail: oneLine(message) };
  }
  return providerTrouble(message);
};

const result = (line: JsonObject): readonly AgentEvent[] => {
  const message = textAt(line, 'error', 'message');
  const value = fieldAt(line, 'structured_result');
  const denied = listAt(line, 'permission_denials').map((item) => textAt(item, 'tool_name') ?? 'a tool');
  return [
    ...denied.map((tool) => ({ kind: 'denied', tool }) as const),
    ...usageOf(line['usage']),
    ...(value === undefined ? [] : [{ kind: 'value', value } as const]),
    ...(message === undefined
      ? []
      : [{ kind: 'trouble', trouble: troubleIn(message), final: true } as const]),
    { kind: 'final', ok: line['is_error'] === false },
  ];
};

const readLine = (text: string): readonly AgentEvent[] => {
  const line = jsonLine(text);
  if (line?.['type'] === 'assistant') return assistant(line);
  return line?.['type'] === 'result' ? result(line) : [];
};

/** Alibaba's Qwen Code. */
export const qwenWorker: Worker = {
  name: 'qwen',
  problems: (spec) => [...agentProblems(spec), ...reservedArguments(spec, RESERVED)],
  invocation: (request) => ({
    argv: argvOf(request),
    env: {
      ...QUIET,
      [FOLDER_VARIABLE]: `${request.paths.config}/${FOLDER}`,
      QWEN_CODE_SYSTEM_DEFAULTS_PATH: `${request.paths.config}/${USERS_SETTINGS}`,
      ...request.spec.env,
    },
    agentKeys: true,
    files: [
      { path: `${FOLDER}/settings.json`, text: settingsOf(request) },
      { path: `${FOLDER}/trustedFolders.json`, text: trustOf(request) },
    ],
    links: linksOf(request),
    returns: 'structured',
  }),
  agent: {
    program: 'qwen',
    family: 'qwen',
    keys: KEYS.openai,
    install: 'npm install --global @qwen-code/qwen-code',
    login: {
      variables: ['OPENAI_API_KEY'],
      files: ['settings.json', 'oauth_creds.json'].map((name) => ({
        path: `.qwen/${name}`,
        folder: { variable: FOLDER_VARIABLE, path: name },
      })),
      command: 'qwen auth',
    },
    helpArgs: ['--help'],
    helpHas: ['stream-json', '--json-schema', '--include-directories', '--max-session-turns'],
    quiet: QUIET,
    readLine,
    readError: (stderr, exitCode) =>
      exitCode === 53
        ? { kind: 'max-turns', detail: oneLine(/^Reached max.*$/m.exec(stderr)?.[0] ?? 'turn limit') }
        : undefined,
  },
};
