import type { Trouble } from '../orchestrator/model/child.js';
import { oneLine } from '../orchestrator/model/text.js';
import { agentProblems, option } from './agent-spec.js';
import { countAt, jsonLine, numberAt, objectAt, textAt, type JsonObject } from './json-line.js';
import { QUIET, environmentOf, filesOf, startOf } from './opencode-config.js';
import { ALL_KEYS } from './provider-keys.js';
import { NEW_SESSION, READ_BY_US, reservedArguments } from './reserved-args.js';
import { troubleOf } from './trouble.js';
import type { AgentEvent, Invocation, Worker, WorkerRequest } from './worker.js';

const RESERVED = {
  '--format': READ_BY_US,
  '--continue': NEW_SESSION,
  '-c': NEW_SESSION,
  '--session': NEW_SESSION,
  '-s': NEW_SESSION,
  '--attach': NEW_SESSION,
  '--dir': 'the adapter sets it; remove it',
  '--model': 'write `model` instead',
  '-m': 'write `model` instead',
};

const argvOf = (request: WorkerRequest): readonly string[] => [
  'opencode',
  'run',
  '--format',
  'json',
  // Otherwise a model is asked for one.
  '--title',
  'worker',
  '--dir',
  startOf(request),
  ...option('--model', request.spec.model),
  ...request.spec.args,
];

const usageOf = (part: JsonObject): readonly AgentEvent[] => {
  const tokens = objectAt(part, 'tokens');
  const inputTokens = countAt(tokens, 'input');
  const output = countAt(tokens, 'output');
  const cacheReadTokens = countAt(tokens, 'cache', 'read');
  if ((inputTokens ?? 0) + (output ?? 0) + (cacheReadTokens ?? 0) === 0) return [];
  const cost = numberAt(part, 'cost') ?? 0;
  const usage = {
    inputTokens,
    outputTokens: output === null ? null : output + (countAt(tokens, 'reasoning') ?? 0),
    costUsd: cost > 0 ? cost : null,
    cacheReadTokens,
    cacheWriteTokens: countAt(tokens, 'cache', 'write'),
  };
  return [{ kind: 'usage', usage, counts: 'sum' }];
};

const passing = (trouble: Trouble): AgentEvent => ({ kind: 'trouble', trouble, final: false });

/** Only `stop` is a finished answer. After `tool-calls` it goes on, or has been cut off. */
const STOPPED: Readonly<Record<string, Trouble['kind']>> = {
  length: 'truncated',
  'content-filter': 'refusal',
  error: 'agent-failed',
  other: 'agent-failed',
  unknown: 'agent-failed',
};

const stepFinish = (part: JsonObject): readonly AgentEvent[] => {
  const reason = textAt(part, 'reason') ?? '';
  if (reason === 'stop') return [...usageOf(part), { kind: 'final', ok: true }];
  const kind = STOPPED[reason];
  const trouble = kind === undefined ? [] : [passing({ kind, detail: `the model stopped: ${reason}` })];
  return [...usageOf(part), ...trouble];
};

const DENIED = 'The user has specified a rule which prevents you';
const REJECTED = 'The user rejected permission';

const toolUse = (part: JsonObject): readonly AgentEvent[] => {
  const error = textAt(part, 'state', 'error') ?? '';
  const tool = textAt(part, 'tool') ?? 'a tool';
  if (error.startsWith(DENIED)) return [{ kind: 'denied', tool }];
  if (!error.startsWith(REJECTED)) return [];
  return [
    { kind: 'denied', tool },
    passing({ kind: 'permission-denied', detail: oneLine(`${tool}: ${error}`) }),
  ];
};

const BY_NAME: Readonly<Record<string, Trouble['kind']>> = {
  ProviderAuthError: 'auth',
  ContextOverflowError: 'context-overflow',
  MessageOutputLengthError: 'truncated',
  ContentFilterError: 'refusal',
};

const failure = (line: JsonObject): Trouble => {
  const name = textAt(line, 'error', 'name') ?? '';
  const data = objectAt(line, 'error', 'data');
  const message = textAt(data, 'message') ?? name;
  const kind = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
  if (kind !== undefined) return { kind, detail: oneLine(message) };
  const status = numberAt(data, 'statusCode');
  const answer = jsonLine(textAt(data, 'responseBody') ?? '');
  const type = textAt(answer, 'error', 'code') ?? textAt(answer, 'error', 'type');
  return troubleOf({
    message,
    ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { type }),
  });
};

const readLine = (text: string): readonly AgentEvent[] => {
  const line = jsonLine(text);
  const part = objectAt(line, 'part') ?? {};
  switch (line?.['type']) {
    case 'step_start':
      return [{ kind: 'turn' }];
    case 'text':
      // Put into the conversation by the program itself, so that the model goes on behind a summary.
      if (part['synthetic'] === true) return [{ kind: 'turn' }];
      return [{ kind: 'text', text: textAt(part, 'text') ?? '' }];
    case 'tool_use':
      return toolUse(part);
    case 'step_finish':
      return stepFinish(part);
    case 'error':
      // Not its last word: a session that is too long is summarised, and goes on.
      return [passing(failure(line))];
    default:
      return [];
  }
};

/** What a sandbox must have of the user's home: the login and the providers. It is read where it lies. */
const linksOf = ({ home, folders }: WorkerRequest): NonNullable<Invocation['links']> => {
  const data = folders?.['XDG_DATA_HOME'] ?? `${home}/.local/share`;
  return [
    { path: 'users/auth.json', from: `${data}/opencode/auth.json` },
    ...['opencode.json', 'opencode.jsonc', 'config.json'].map((name) => ({
      path: `users/${name}`,
      from: `${home}/.config/opencode/${name}`,
    })),
  ];
};

/** opencode, with whatever provider the user has set up. */
export const opencodeWorker: Worker = {
  name: 'opencode',
  problems: (spec) => [...agentProblems(spec), ...reservedArguments(spec, RESERVED)],
  invocation: (request) => ({
    argv: argvOf(request),
    env: environmentOf(request),
    agentKeys: true,
    files: filesOf(request),
    links: linksOf(request),
    returns: 'file',
  }),
  agent: {
    program: 'opencode',
    family: 'any',
    keys: ALL_KEYS,
    install: 'npm install --global opencode-ai',
    login: {
      variables: ['OPENCODE_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'OPENROUTER_API_KEY'],
      files: [
        {
          path: '.local/share/opencode/auth.json',
          folder: { variable: 'XDG_DATA_HOME', path: 'opencode/auth.json' },
        },
      ],
      command: 'opencode auth login',
    },
    helpArgs: ['run', '--help'],
    helpHas: ['--format', '--title', '--dir'],
    quiet: QUIET,
    readLine,
  },
};
