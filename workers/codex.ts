import type { Trouble } from '../orchestrator/model/child.js';
import { agentProblems, option } from './agent-spec.js';
import { countAt, jsonLine, objectAt, textAt, withoutCached, type JsonObject } from './json-line.js';
import { KEYS } from './provider-keys.js';
import { NEW_SESSION, READ_BY_US, reservedArguments } from './reserved-args.js';
import { strictSchema, withoutNulls } from './strict-schema.js';
import { troubleOf } from './trouble.js';
import type { AgentEvent, Worker, WorkerRequest } from './worker.js';

const RESERVED = {
  '--output-schema': READ_BY_US,
  resume: NEW_SESSION,
  fork: NEW_SESSION,
  '--model': 'write `model` instead',
  '-m': 'write `model` instead',
};

const SCHEMA = 'strict.schema.json';
const PROFILE = 'worker';

/** A TOML string; what JSON escapes means the same there. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`);

/** It would be read as a pattern, which nothing may be written to; then the folder for results is its temporary folder as well. */
const isPattern = (path: string): boolean => /[*?[\]]/.test(path);

/**
 * Where its commands may write. Around them it puts a sandbox of its own, which inside ours often cannot be made (every command
 * fails then, and the exit status is still 0); ours is stricter, so there its own is left out.
 */
const permissionsOf = ({ access, paths, spec, sandboxed }: WorkerRequest): readonly string[] => {
  if (sandboxed) return ['sandbox_mode = "danger-full-access"'];
  return [
    `default_permissions = "${PROFILE}"`,
    `[permissions.${PROFILE}]`,
    `extends = ${access === 'write' ? '":workspace"' : '":read-only"'}`,
    `[permissions.${PROFILE}.filesystem]`,
    ...(isPattern(paths.out) ? [] : [`${quoted(paths.out)} = "write"`]),
    '":tmpdir" = "write"',
    ...(access === 'none' ? [] : ['":slash_tmp" = "write"']),
    `[permissions.${PROFILE}.network]`,
    `enabled = ${access !== 'none' && spec.sandbox.network}`,
  ];
};

/** Tables come last in TOML, so what has no table is first. */
const configOf = (request: WorkerRequest): string =>
  [
    'approval_policy = "never"',
    'check_for_update_on_startup = false',
    'web_search = "disabled"',
    // `AGENTS.md` is for who changes the project. Who judges it must not be instructed by what it judges.
    ...(request.access === 'write' ? [] : ['project_doc_max_bytes = 0']),
    ...permissionsOf(request),
    '[analytics]',
    'enabled = false',
    '[history]',
    'persistence = "none"',
    '[shell_environment_policy]',
    'exclude = ["CODEX_API_KEY"]',
    // A worker is one agent; what it hands on to others would be spent unseen.
    '[agents]',
    'enabled = false',
    '[features]',
    // With these it asks a public host at its start and waits for it at its end.
    'plugins = false',
    'apps = false',
    // A provider that cannot be reached would be waited for without end.
    'unbounded_connection_retries = false',
    'hooks = false',
    'goals = false',
    'image_generation = false',
    'sleep_tool = false',
    'skill_mcp_dependency_install = false',
    ...(request.access === 'none' ? ['shell_tool = false', 'unified_exec = false'] : []),
    '',
  ].join('\n');

const argvOf = ({ spec, paths }: WorkerRequest, schema: string | undefined): readonly string[] => [
  'codex',
  'exec',
  '--json',
  '--skip-git-repo-check',
  '--ephemeral',
  '--ignore-rules',
  ...option('--output-schema', schema === undefined ? undefined : `${paths.config}/${SCHEMA}`),
  ...option('--model', spec.model),
  ...spec.args,
];

const CONFIG_VARIABLE = 'CODEX_HOME';
const AUTH = 'auth.json';

/**
 * Nobody listens there. It writes a renewed login beside the user's file and renames it, which a sandbox does not let through; the
 * old login would be used up and the new one lost. So in a sandbox it is used as it is, and not renewed.
 */
const NO_RENEWAL = 'http://127.0.0.1:9/login-is-not-renewed-in-a-sandbox';

const environmentOf = ({ spec, paths, sandboxed }: WorkerRequest): Readonly<Record<string, string>> => ({
  [CONFIG_VARIABLE]: paths.config,
  ...(isPattern(paths.out) && !sandboxed ? { TMPDIR: paths.out } : {}),
  ...(sandboxed ? { CODEX_REFRESH_TOKEN_URL_OVERRIDE: NO_RENEWAL } : {}),
  ...spec.env,
});

const failure = (line: unknown): Trouble => {
  const message = textAt(line, 'message') ?? 'it failed without a message';
  if (!message.includes(NO_RENEWAL)) return troubleOf({ message });
  return {
    kind: 'auth',
    detail:
      'its login has expired and is not renewed in a sandbox: start `codex` once outside, or `codex login`',
  };
};

/** What the model did; the next thing that it says or does is another turn. */
const ACTIONS = new Set([
  'command_execution',
  'file_change',
  'mcp_tool_call',
  'web_search',
  'collab_tool_call',
]);

/** Items of the type `error` are warnings. */
const item = (line: JsonObject): readonly AgentEvent[] => {
  const done = objectAt(line, 'item');
  const type = textAt(done, 'type') ?? '';
  if (type === 'agent_message') return answer(textAt(done, 'text') ?? '');
  if (!ACTIONS.has(type)) return [];
  return [
    ...(textAt(done, 'status') === 'declined' ? [{ kind: 'denied', tool: type } as const] : []),
    { kind: 'turn' },
  ];
};

/** With a schema every message is the JSON that it asks for. */
const answer = (text: string): readonly AgentEvent[] => {
  const value = jsonLine(text);
  return [
    { kind: 'text', text },
    ...(value === undefined ? [] : [{ kind: 'value', value: withoutNulls(value) } as const]),
  ];
};

/** Of the session, which has one turn in its sense. The cached tokens are among its input tokens. */
const usage = (line: JsonObject): AgentEvent => {
  const told = objectAt(line, 'usage');
  const cached = countAt(told, 'cached_input_tokens');
  return {
    kind: 'usage',
    counts: 'total',
    usage: {
      inputTokens: withoutCached(countAt(told, 'input_tokens'), cached),
      outputTokens: countAt(told, 'output_tokens'),
      costUsd: null,
      cacheReadTokens: cached,
      cacheWriteTokens: countAt(told, 'cache_write_input_tokens'),
    },
  };
};

const readLine = (text: string): readonly AgentEvent[] => {
  const line = jsonLine(text);
  switch (line?.['type']) {
    case 'turn.started':
      return [{ kind: 'turn' }];
    case 'item.completed':
      return item(line);
    case 'error':
      return [{ kind: 'trouble', trouble: failure(line), final: false }];
    case 'turn.failed':
      return [
        { kind: 'trouble', trouble: failure(line['error']), final: true },
        { kind: 'final', ok: false },
      ];
    case 'turn.completed':
      return [usage(line), { kind: 'final', ok: true }];
    default:
      return [];
  }
};

/** Notices and its own log; what ended it is its last line, or begins with `Error`. */
const NOISE = /^Reading .{0,40} from stdin|^warning:|^\d{4}-\d\d-\d\dT\S+\s+(?:WARN|INFO|DEBUG|TRACE)\b/;

const readError = (stderr: string, exitCode: number | undefined): Trouble => {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !NOISE.test(line));
  const from = lines.findIndex((line) => /^error\b/i.test(line));
  const message = lines.slice(from === -1 ? -1 : from).join('\n');
  if (message !== '') return troubleOf({ message });
  const how = exitCode === undefined ? 'without an exit status' : `with exit status ${exitCode}`;
  return { kind: 'agent-failed', detail: `it ended ${how} and said nothing about it` };
};

/** OpenAI's Codex CLI. */
export const codexWorker: Worker = {
  name: 'codex',
  problems: (spec) => [...agentProblems(spec), ...reservedArguments(spec, RESERVED)],
  invocation: (request) => {
    const schema = strictSchema(request.schema);
    return {
      argv: argvOf(request, schema),
      env: environmentOf(request),
      agentKeys: true,
      files: [
        { path: 'config.toml', text: configOf(request) },
        ...(schema === undefined ? [] : [{ path: SCHEMA, text: schema }]),
      ],
      links: [
        { path: AUTH, from: `${request.folders?.[CONFIG_VARIABLE] ?? `${request.home}/.codex`}/${AUTH}` },
      ],
      returns: schema === undefined ? 'file' : 'structured',
    };
  },
  agent: {
    program: 'codex',
    family: 'openai',
    keys: KEYS.openai,
    install: 'npm install --global @openai/codex',
    login: {
      variables: ['CODEX_API_KEY'],
      files: [{ path: `.codex/${AUTH}`, folder: { variable: CONFIG_VARIABLE, path: AUTH } }],
      command: 'codex login',
    },
    helpArgs: ['exec', '--help'],
    helpHas: ['--json', '--ephemeral', '--output-schema', '--ignore-rules'],
    readLine,
    readError,
  },
};
