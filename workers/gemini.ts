import type { Trouble } from '../orchestrator/model/child.js';
import { oneLine } from '../orchestrator/model/text.js';
import { agentProblems, option } from './agent-spec.js';
import { POLICY, filesOf, guardOf } from './gemini-settings.js';
import { countAt, jsonLine, objectAt, textAt, withoutCached, type JsonObject } from './json-line.js';
import { KEYS } from './provider-keys.js';
import { NEW_SESSION, READ_BY_US, reservedArguments } from './reserved-args.js';
import { troubleOf } from './trouble.js';
import type { AgentEvent, Worker, WorkerRequest } from './worker.js';

const RESERVED = {
  '--output-format': READ_BY_US,
  '-o': READ_BY_US,
  '--prompt': 'the prompt comes on standard input; remove it',
  '-p': 'the prompt comes on standard input; remove it',
  '--resume': NEW_SESSION,
  '-r': NEW_SESSION,
  '--model': 'write `model` instead',
  '-m': 'write `model` instead',
};

const FOLDER_VARIABLE = 'GEMINI_CLI_HOME';

const QUIET = {
  // Otherwise the program that is signalled is not the one that works.
  GEMINI_CLI_NO_RELAUNCH: '1',
  NO_BROWSER: 'true',
};

const argvOf = ({ spec, access, paths }: WorkerRequest): readonly string[] => [
  'gemini',
  '--output-format',
  'stream-json',
  // In the default mode every shell command with a redirection, a substitution or `rm` is refused, since nobody can be asked.
  '--approval-mode',
  access === 'none' ? 'default' : 'yolo',
  '--policy',
  `${paths.config}/${POLICY}`,
  // Without it a new folder ends the program. The settings of the tree count then, its MCP servers (by this name) do not.
  '--skip-trust',
  '--allowed-mcp-server-names',
  'none',
  '--include-directories',
  paths.out,
  ...option('--model', spec.model),
  ...spec.args,
];

/** What it says when there is no answer that can be used. It goes on and exits with status 0. */
const noAnswer = (message: string): Trouble => {
  const detail = oneLine(message);
  if (message.startsWith('Model response was truncated')) return { kind: 'truncated', detail };
  if (message.startsWith('The model response was blocked')) return { kind: 'refusal', detail };
  if (message.startsWith('Maximum session turns')) return { kind: 'max-turns', detail };
  return troubleOf({ message });
};

/** Only what the rules refused; the id of a call begins with the name of its tool. */
const toolResult = (line: JsonObject): readonly AgentEvent[] => {
  if (textAt(line, 'error', 'type') !== 'policy_violation') return [];
  const [tool = ''] = (textAt(line, 'tool_id') ?? '').split(/__|_\d/);
  return [{ kind: 'denied', tool: tool === '' ? 'a tool' : tool }];
};

/**
 * Its input tokens have the cached ones in them. The thoughts are in none of its counts but the total, and are paid for as output.
 * Without a total nothing was counted: a request that failed.
 */
const usageOf = (line: JsonObject): readonly AgentEvent[] => {
  const stats = objectAt(line, 'stats');
  const total = countAt(stats, 'total_tokens');
  if (total === null || total === 0) return [];
  const input = countAt(stats, 'input_tokens');
  const cached = countAt(stats, 'cached');
  const usage = {
    inputTokens: withoutCached(input, cached),
    outputTokens: input === null ? countAt(stats, 'output_tokens') : total - input,
    costUsd: null,
    cacheReadTokens: cached,
    cacheWriteTokens: null,
  };
  return [{ kind: 'usage', usage, counts: 'total' }];
};

const result = (line: JsonObject): readonly AgentEvent[] => {
  const message = textAt(line, 'error', 'message');
  const type = textAt(line, 'error', 'type');
  return [
    ...usageOf(line),
    ...(message === undefined
      ? []
      : [{ kind: 'trouble', trouble: failure(message, type), final: true } as const]),
    { kind: 'final', ok: textAt(line, 'status') === 'success' },
  ];
};

/** What Node says of a connection that ended in the middle of an answer. */
const CUT = '[API Error: terminated]';

const failure = (message: string, type: string | undefined): Trouble => {
  if (type === 'FatalTurnLimitedError') return { kind: 'max-turns', detail: oneLine(message) };
  if (message === CUT) return { kind: 'network', detail: message };
  return troubleOf({ message, ...(type === undefined ? {} : { type }) });
};

/**
 * The text comes in pieces; of turns there is no record that can be told from several calls in one turn, so the program's own limit
 * counts them.
 */
const readLine = (text: string): readonly AgentEvent[] => {
  const line = jsonLine(text);
  switch (line?.['type']) {
    case 'message': {
      const said = line['role'] === 'assistant' ? textAt(line, 'content') : undefined;
      return said === undefined || said === '' ? [] : [{ kind: 'text', text: said, part: true }];
    }
    case 'tool_use':
      return [{ kind: 'call' }];
    case 'tool_result':
      return toolResult(line);
    case 'error':
      return [{ kind: 'trouble', trouble: noAnswer(textAt(line, 'message') ?? 'no message'), final: true }];
    case 'result':
      return result(line);
    default:
      return [];
  }
};

const lastLine = (text: string): string =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .at(-1) ?? 'no way to log in is set up';

/** Google's Gemini CLI. */
export const geminiWorker: Worker = {
  name: 'gemini',
  problems: (spec) => [...agentProblems(spec), ...reservedArguments(spec, RESERVED)],
  invocation: (request) => ({
    argv: argvOf(request),
    env: {
      [FOLDER_VARIABLE]: request.paths.config,
      ...QUIET,
      ...guardOf(request),
      ...request.spec.env,
    },
    agentKeys: true,
    files: filesOf(request),
    links: ['oauth_creds.json', 'google_accounts.json'].map((name) => ({
      path: `.gemini/${name}`,
      from: `${request.folders?.[FOLDER_VARIABLE] ?? request.home}/.gemini/${name}`,
    })),
    returns: 'file',
  }),
  agent: {
    program: 'gemini',
    family: 'google',
    keys: KEYS.google,
    install: 'npm install --global @google/gemini-cli',
    login: {
      variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
      files: [
        {
          path: '.gemini/oauth_creds.json',
          folder: { variable: FOLDER_VARIABLE, path: '.gemini/oauth_creds.json' },
        },
      ],
      command: 'gemini',
    },
    helpArgs: ['--help'],
    helpHas: ['stream-json', '--skip-trust', '--policy', '--approval-mode'],
    quiet: QUIET,
    readLine,
    readError: (stderr, exitCode) =>
      exitCode === 41 ? { kind: 'auth', detail: oneLine(lastLine(stderr)) } : undefined,
  },
};
