import { oneLine } from '../orchestrator/model/text.js';
import { agentProblems, option } from './agent-spec.js';
import { jsonLine, numberAt, objectAt, textAt, type JsonObject } from './json-line.js';
import { KEYS } from './provider-keys.js';
import { NEW_SESSION, READ_BY_US, reservedArguments } from './reserved-args.js';
import { troubleOf } from './trouble.js';
import type { AgentEvent, Worker, WorkerRequest } from './worker.js';

const RESERVED = {
  '--output-format': READ_BY_US,
  '--silent': READ_BY_US,
  '-s': READ_BY_US,
  '--continue': NEW_SESSION,
  '--resume': NEW_SESSION,
  '-r': NEW_SESSION,
  '--connect': NEW_SESSION,
  '--session-id': NEW_SESSION,
  '--model': 'write `model` instead',
};

/** Its folder below `paths.config`: what `~/.copilot` is otherwise. */
const FOLDER = 'copilot';
const FOLDER_VARIABLE = 'COPILOT_HOME';

const SETTINGS = JSON.stringify({ autoUpdate: false, disableAllHooks: true, memory: false });

/**
 * What is not allowed would have to be asked for, and is denied. `*` stands for one name: `**` would let `out/../x` through. A shell
 * that is merely allowed may not redirect into a file; from what a program writes the tree is kept by the sandbox and the fingerprint
 * only.
 */
const permissionsOf = ({ access, paths: { out } }: WorkerRequest): readonly string[] => {
  if (access === 'write') return ['--allow-all-tools'];
  const results = [`--allow-tool=write(${out}/*)`, `--allow-tool=write(${out}/notes/*)`];
  // The project's instructions are for who changes it, not for who judges it.
  const judging = [...results, '--no-custom-instructions'];
  return access === 'read-only' ? ['--allow-tool=shell', ...judging] : judging;
};

const argvOf = (request: WorkerRequest): readonly string[] => [
  'copilot',
  '--output-format',
  'json',
  '--stream',
  'off',
  '--no-color',
  '--no-ask-user',
  '--no-auto-update',
  '--no-remote',
  '--no-remote-export',
  '--disable-client-telemetry',
  '--disable-builtin-mcps',
  // Notes and the pages of a diff lie outside the tree.
  '--allow-all-paths',
  ...permissionsOf(request),
  ...option('--model', request.spec.model),
  ...request.spec.args,
];

const message = (data: JsonObject): readonly AgentEvent[] => {
  const text = textAt(data, 'content') ?? '';
  return text === '' ? [] : [{ kind: 'text', text }];
};

/** It may try again. */
const failure = (data: JsonObject): readonly AgentEvent[] => {
  const status = numberAt(data, 'statusCode');
  const type = textAt(data, 'errorType');
  const trouble = troubleOf({
    message: textAt(data, 'message') ?? 'error without a message',
    ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { type }),
  });
  return [{ kind: 'trouble', trouble, final: false }];
};

const toolEnd = (data: JsonObject): readonly AgentEvent[] => {
  if (data['success'] !== false || textAt(data, 'error', 'code') !== 'denied') return [];
  const properties = objectAt(data, 'toolTelemetry', 'properties');
  const isShell = textAt(properties, 'shell_error_category') !== undefined;
  return [{ kind: 'denied', tool: textAt(properties, 'command') ?? (isShell ? 'shell' : 'a tool') }];
};

const DATA_READERS: Readonly<Record<string, (data: JsonObject) => readonly AgentEvent[]>> = {
  'assistant.turn_start': () => [{ kind: 'turn' }],
  'assistant.message': message,
  'tool.execution_complete': toolEnd,
  'session.error': failure,
};

/** Tokens are in none of its lines. */
const readLine = (text: string): readonly AgentEvent[] => {
  const line = jsonLine(text);
  const type = textAt(line, 'type') ?? '';
  if (type === 'result') return [{ kind: 'final', ok: line?.['exitCode'] === 0 }];
  // Of an agent inside the agent.
  if (textAt(line, 'agentId') !== undefined) return [];
  return Object.hasOwn(DATA_READERS, type) ? (DATA_READERS[type]?.(objectAt(line, 'data') ?? {}) ?? []) : [];
};

/** GitHub's Copilot CLI. */
export const copilotWorker: Worker = {
  name: 'copilot',
  problems: (spec) => [...agentProblems(spec), ...reservedArguments(spec, RESERVED)],
  invocation: (request) => ({
    argv: argvOf(request),
    env: {
      [FOLDER_VARIABLE]: `${request.paths.config}/${FOLDER}`,
      COPILOT_AUTO_UPDATE: 'false',
      ...request.spec.env,
    },
    agentKeys: true,
    files: [{ path: `${FOLDER}/settings.json`, text: SETTINGS }],
    links: [
      {
        // Who is logged in; the token itself is in the keychain or, without one, here.
        path: `${FOLDER}/config.json`,
        from: `${request.folders?.[FOLDER_VARIABLE] ?? `${request.home}/.copilot`}/config.json`,
      },
      // It unpacks itself, 235 MB, into here; named so that a sandbox need not have it done again.
      { path: 'users/cache', from: `${request.home}/.cache/copilot` },
    ],
    returns: 'file',
  }),
  agent: {
    program: 'copilot',
    family: 'any',
    keys: KEYS.copilot,
    install: 'npm install --global @github/copilot',
    login: {
      variables: ['COPILOT_GITHUB_TOKEN', 'COPILOT_PROVIDER_BASE_URL'],
      files: [{ path: '.copilot/config.json', folder: { variable: FOLDER_VARIABLE, path: 'config.json' } }],
      command: 'copilot login',
    },
    helpArgs: ['--help'],
    helpHas: ['--output-format', '--no-ask-user', '--allow-tool', '--no-custom-instructions'],
    quiet: { COPILOT_AUTO_UPDATE: 'false' },
    readLine,
    readError: (stderr) =>
      stderr.includes('No authentication information found')
        ? { kind: 'auth', detail: oneLine('No authentication information found.') }
        : undefined,
  },
};
