import type { Trouble, Usage } from '../orchestrator/model/child.js';
import { oneLine } from '../orchestrator/model/text.js';
import { agentProblems, option } from './agent-spec.js';
import {
  countAt,
  fieldAt,
  jsonLine,
  listAt,
  numberAt,
  objectAt,
  textAt,
  type JsonObject,
} from './json-line.js';
import { KEYS } from './provider-keys.js';
import { NEW_SESSION, READ_BY_US, reservedArguments } from './reserved-args.js';
import { troubleOf } from './trouble.js';
import type { AgentEvent, Worker, WorkerRequest } from './worker.js';

const SETTINGS = 'worker-settings.json';

const RESERVED = {
  '--output-format': READ_BY_US,
  '--input-format': READ_BY_US,
  '--json-schema': READ_BY_US,
  '--continue': NEW_SESSION,
  '-c': NEW_SESSION,
  '--resume': NEW_SESSION,
  '-r': NEW_SESSION,
  '--max-turns': 'write `maxTurns` instead',
  '--model': 'write `model` instead',
};

/** No sub-agents, no web, no schedules: a worker is one session that works in two folders. */
const TOOLS = {
  none: ['Read', 'Write', 'Edit'],
  'read-only': ['Bash', 'Read', 'Glob', 'Grep', 'Write', 'Edit'],
  write: ['Bash', 'Read', 'Glob', 'Grep', 'Write', 'Edit', 'NotebookEdit'],
};

/** A rule about what is below an absolute path: `//` is the root, and the rest is a pattern as in `.gitignore`. */
const below = (path: string): string => `/${path.replaceAll(/[\\*?[\]!# ()]/g, String.raw`\$&`)}/**`;

/**
 * In the mode `dontAsk` only what is listed can be done, besides what the program itself knows to change nothing: reading in
 * the tree, and shell commands such as `ls`, `grep` and `git log`. A rule for `Edit` is one for every tool that writes a file.
 */
const rulesOf = ({ access, paths, sandboxed }: WorkerRequest): readonly string[] => {
  const results = `Edit(${below(paths.out)})`;
  if (access === 'none') return [results];
  const reading = ['Read', 'Glob', 'Grep', results];
  if (access === 'write') return ['Bash', ...reading, `Edit(${below(paths.tree)})`];
  // Our sandbox keeps every command from writing to the tree, so a reader may run the tests.
  return sandboxed ? ['Bash', ...reading] : reading;
};

const settingsOf = (request: WorkerRequest): string =>
  JSON.stringify({
    permissions: { defaultMode: 'dontAsk', allow: rulesOf(request) },
    disableAllHooks: true,
  });

/** AJV, which reads it there, knows an older draft and refuses to read one that names another. */
const schemaOf = (schema: string): string => JSON.stringify({ ...jsonLine(schema), $schema: undefined });

const argvOf = (request: WorkerRequest): readonly string[] => {
  const { spec, access, paths, schema } = request;
  return [
    'claude',
    '--print',
    '--verbose',
    '--output-format',
    'stream-json',
    '--json-schema',
    schemaOf(schema),
    '--permission-mode',
    'dontAsk',
    '--settings',
    `${paths.config}/${SETTINGS}`,
    // Settings, hooks and servers of the user and of the tree are not for a worker: the tree's could be by the worker before.
    '--setting-sources',
    '',
    '--strict-mcp-config',
    '--no-session-persistence',
    '--tools',
    TOOLS[access].join(','),
    '--add-dir',
    paths.out,
    ...(access === 'write' ? [paths.tree] : []),
    ...option('--model', spec.model),
    ...option('--max-turns', spec.maxTurns),
    ...spec.args,
  ];
};

const CONFIG_VARIABLE = 'CLAUDE_CONFIG_DIR';

const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: '1',
};

const environmentOf = ({
  spec,
  access,
  paths,
  folders,
}: WorkerRequest): Readonly<Record<string, string>> => ({
  ...QUIET,
  [CONFIG_VARIABLE]: paths.config,
  // The login stays where it is, empty being `~/.claude`: a linked file would be replaced when the token is renewed, and the
  // user's own copy would be worth nothing from then on.
  CLAUDE_SECURESTORAGE_CONFIG_DIR: folders?.[CONFIG_VARIABLE] ?? '',
  CLAUDE_CODE_TMPDIR: `${paths.config}/tmp`,
  // With a shell left in the background it would not end after its answer.
  CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
  // About 20 s; by default it tries for three minutes, also with a key that is refused.
  CLAUDE_CODE_MAX_RETRIES: '5',
  // The project's instructions are for who changes it. Who judges it must not be instructed by what it judges.
  ...(access === 'write' ? { CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1' } : {}),
  ...spec.env,
});

const textIn = (message: unknown): string =>
  listAt(message, 'content')
    .flatMap((part) => (textAt(part, 'type') === 'text' ? [textAt(part, 'text') ?? ''] : []))
    .join('\n');

/** One block of a message; the blocks of one message have its id in common. */
const assistant = (line: JsonObject): readonly AgentEvent[] => {
  if (textAt(line, 'parent_tool_use_id') !== undefined) return [];
  const said = textIn(line['message']);
  const error = textAt(line, 'error');
  // Made by the program, not by the model; the `result` says it again.
  if (error !== undefined) return [passing(troubleOf({ message: said, type: error }))];
  const id = textAt(line, 'message', 'id');
  return [
    { kind: 'turn', ...(id === undefined ? {} : { id }) },
    ...(said === '' ? [] : [{ kind: 'text', text: said } as const]),
  ];
};

const passing = (trouble: Trouble): AgentEvent => ({ kind: 'trouble', trouble, final: false });

const system = (line: JsonObject): readonly AgentEvent[] => {
  const subtype = line['subtype'];
  if (subtype === 'permission_denied') return [denied(line)];
  return subtype === 'api_retry' ? [passing(retry(line))] : [];
};

const denied = (denial: unknown): AgentEvent => ({
  kind: 'denied',
  tool: textAt(denial, 'tool_name') ?? 'a tool',
});

const retry = (line: JsonObject): Trouble => {
  const type = textAt(line, 'error') ?? 'unknown';
  const status = numberAt(line, 'error_status');
  const message = `${type}, attempt ${numberAt(line, 'attempt') ?? '?'} of ${numberAt(line, 'max_retries') ?? '?'}`;
  if (status === undefined && type === 'unknown') return { kind: 'network', detail: oneLine(message) };
  return troubleOf({ message, type, ...(status === undefined ? {} : { status }) });
};

/** The account's limits, as the provider's headers have them; `allowed` comes with every answer. */
const rateLimit = (line: JsonObject): readonly AgentEvent[] => {
  const info = objectAt(line, 'rate_limit_info');
  if (textAt(info, 'status') !== 'rejected' || info?.['isUsingOverage'] === true) return [];
  const at = numberAt(info, 'resetsAt');
  const resets = at === undefined ? '' : `, resets_at ${Math.trunc(at)}`;
  const type = textAt(info, 'rateLimitType') ?? 'account';
  return [passing(troubleOf({ type: 'usage_limit_reached', message: `${type} limit${resets}` }))];
};

const TROUBLE_BY_NAME: Readonly<Record<string, Trouble['kind']>> = {
  error_max_turns: 'max-turns',
  error_max_budget_usd: 'max-budget',
  prompt_too_long: 'context-overflow',
  blocking_limit: 'context-overflow',
  refusal: 'refusal',
};

/** `subtype: "success"` comes with failures too: `is_error` is what counts. */
const resultTrouble = (line: JsonObject): Trouble => {
  const errors = listAt(line, 'errors').filter((error) => typeof error === 'string');
  const message = textAt(line, 'result') ?? errors.join('; ');
  const names = [textAt(line, 'subtype'), textAt(line, 'terminal_reason'), textAt(line, 'stop_reason')];
  const kind = names.flatMap((name) => TROUBLE_BY_NAME[name ?? ''] ?? [])[0];
  const status = numberAt(line, 'api_error_status');
  const trouble = troubleOf({
    message: message === '' ? (names[0] ?? 'failed') : message,
    ...(status === undefined ? {} : { status }),
  });
  return kind === undefined ? trouble : { kind, detail: trouble.detail };
};

/** Over all models and all turns of the session; `usage` is about less than that. */
const usageOf = (line: JsonObject): Usage => {
  const models = Object.values(objectAt(line, 'modelUsage') ?? {});
  const total = (name: string): number | null =>
    models.reduce<number | null>((known, model) => {
      const count = countAt(model, name);
      return count === null ? known : (known ?? 0) + count;
    }, null);
  return {
    inputTokens: total('inputTokens'),
    outputTokens: total('outputTokens'),
    costUsd: models.length === 0 ? null : (numberAt(line, 'total_cost_usd') ?? null),
    cacheReadTokens: total('cacheReadInputTokens'),
    cacheWriteTokens: total('cacheCreationInputTokens'),
  };
};

const result = (line: JsonObject): readonly AgentEvent[] => {
  const ok = line['is_error'] === false && line['subtype'] === 'success';
  const value = fieldAt(line, 'structured_output');
  const answer: readonly AgentEvent[] = [
    { kind: 'text', text: textAt(line, 'result') ?? '' },
    ...(value === undefined || value === null ? [] : [{ kind: 'value', value } as const]),
  ];
  return [
    { kind: 'usage', usage: usageOf(line), counts: 'total' },
    ...listAt(line, 'permission_denials').map((denial): AgentEvent => ({
      kind: 'denied',
      tool: textAt(denial, 'tool_name') ?? 'a tool',
    })),
    ...(ok ? answer : [{ kind: 'trouble', trouble: resultTrouble(line), final: true } as const]),
    { kind: 'final', ok },
  ];
};

const readLine = (text: string): readonly AgentEvent[] => {
  const line = jsonLine(text);
  switch (line?.['type']) {
    case 'assistant':
      return assistant(line);
    case 'system':
      return system(line);
    case 'rate_limit_event':
      return rateLimit(line);
    case 'result':
      return result(line);
    default:
      return [];
  }
};

const CREDENTIALS = '.credentials.json';

/** Anthropic's Claude Code. */
export const claudeWorker: Worker = {
  name: 'claude',
  problems: (spec) => [...agentProblems(spec), ...reservedArguments(spec, RESERVED)],
  invocation: (request) => ({
    argv: argvOf(request),
    env: environmentOf(request),
    agentKeys: true,
    files: [
      { path: SETTINGS, text: settingsOf(request) },
      { path: 'tmp/.keep', text: '' },
    ],
    // Not read through the link, see above: it is named here so that a sandbox has the file.
    links: [
      {
        path: 'login.json',
        from: `${request.folders?.[CONFIG_VARIABLE] ?? `${request.home}/.claude`}/${CREDENTIALS}`,
      },
    ],
    returns: 'structured',
  }),
  agent: {
    program: 'claude',
    family: 'anthropic',
    keys: KEYS.anthropic,
    install: 'npm install --global @anthropic-ai/claude-code',
    login: {
      variables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
      files: [
        {
          path: `.claude/${CREDENTIALS}`,
          folder: { variable: CONFIG_VARIABLE, path: CREDENTIALS },
        },
      ],
      keychain: 'Claude Code-credentials',
      command: 'claude auth login',
    },
    helpArgs: ['--help'],
    helpHas: ['--json-schema', '--setting-sources', '--strict-mcp-config', '--tools', 'dontAsk'],
    quiet: QUIET,
    readLine,
  },
};
