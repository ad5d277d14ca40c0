import type { Access } from '../orchestrator/model/pipeline.js';
import { agentProblems, option } from './agent-spec.js';
import { countAt, jsonLine, listAt, numberAt, objectAt, textAt, type JsonObject } from './json-line.js';
import { providerTrouble } from './openai-style.js';
import { ALL_KEYS } from './provider-keys.js';
import { NEW_SESSION, READ_BY_US, reservedArguments } from './reserved-args.js';
import type { AgentEvent, Worker, WorkerRequest } from './worker.js';

const RESERVED = {
  '--mode': READ_BY_US,
  '--continue': NEW_SESSION,
  '-c': NEW_SESSION,
  '--resume': NEW_SESSION,
  '-r': NEW_SESSION,
  '--session': NEW_SESSION,
  '--fork': NEW_SESSION,
  '--model': 'write `model` instead',
};

/** Its folder below `paths.config`: what `~/.pi/agent` is otherwise. */
const FOLDER = 'pi';
const FOLDER_VARIABLE = 'PI_CODING_AGENT_DIR';
const EXTENSION = `${FOLDER}/only-out.ts`;
/** The words that our extension refuses with. */
const REFUSED = 'This worker may write files only below';

/** There are no approvals here: what is offered is what it may do. */
const TOOLS: Readonly<Record<Access, string>> = {
  none: 'read,edit,write',
  'read-only': 'read,bash,edit,write,grep,find,ls',
  write: 'read,bash,edit,write,grep,find,ls',
};

/**
 * Keeps the tools that write files below `out`. Of the tree the shell is kept off by the sandbox and the fingerprint only: it has to
 * run tests, and what a command writes cannot be told from its text.
 */
const extensionOf = (out: string): string => `import { resolve } from 'node:path';
const out = ${JSON.stringify(out)};
export default (pi) => {
  pi.on('tool_call', async (event) => {
    if (event.toolName !== 'write' && event.toolName !== 'edit') return undefined;
    if (resolve(String(event.input?.path ?? '')).startsWith(out + '/')) return undefined;
    return { block: true, reason: ${JSON.stringify(REFUSED)} + ' ' + out };
  });
};
`;

const QUIET = { PI_OFFLINE: '1', PI_TELEMETRY: '0', PI_SKIP_VERSION_CHECK: '1' };

const argvOf = ({ spec, access, paths }: WorkerRequest): readonly string[] => [
  'pi',
  '--print',
  '--mode',
  'json',
  '--no-session',
  '--offline',
  // Not those of the user and of the tree: they run with the rights of the program. Ours, named below, is loaded all the same.
  '--no-extensions',
  '--no-skills',
  '--no-prompt-templates',
  '--no-themes',
  '--tools',
  TOOLS[access],
  ...(access === 'write'
    ? []
    : // The project's instructions are for who changes it, not for who judges it. Empty: the program's own, and no file's.
      [
        '--no-context-files',
        '--system-prompt',
        '',
        '--append-system-prompt',
        '',
        '--extension',
        `${paths.config}/${EXTENSION}`,
      ]),
  ...option('--model', spec.model),
  ...spec.args,
];

/** Its input tokens do not have the cached ones in them. A model without a price costs 0 here, which says nothing. */
const usageOf = (message: JsonObject): readonly AgentEvent[] => {
  const usage = objectAt(message, 'usage');
  const [inputTokens = null, outputTokens = null, cacheReadTokens = null, cacheWriteTokens = null] = [
    'input',
    'output',
    'cacheRead',
    'cacheWrite',
  ].map((name) => countAt(usage, name));
  if ([inputTokens, outputTokens, cacheReadTokens].every((count) => (count ?? 0) === 0)) return [];
  const cost = numberAt(usage, 'cost', 'total') ?? 0;
  const costUsd = cost > 0 ? cost : null;
  const counted = { inputTokens, outputTokens, costUsd, cacheReadTokens, cacheWriteTokens };
  return [{ kind: 'usage', usage: counted, counts: 'sum' }];
};

const textOf = (message: JsonObject): string =>
  listAt(message, 'content')
    .map((part) => (textAt(part, 'type') === 'text' ? (textAt(part, 'text') ?? '') : ''))
    .filter((text) => text !== '')
    .join('\n');

const assistant = (message: JsonObject): readonly AgentEvent[] => {
  const usage = usageOf(message);
  const text = textOf(message);
  const said: readonly AgentEvent[] = text === '' ? [] : [{ kind: 'text', text }];
  switch (message['stopReason']) {
    case 'stop':
      return [...usage, ...said, { kind: 'final', ok: true }];
    case 'length': {
      const trouble = { kind: 'truncated', detail: 'the answer reached the limit on output tokens' } as const;
      return [...usage, ...said, { kind: 'trouble', trouble, final: false }];
    }
    case 'error':
    case 'aborted': {
      // Not its last word: it may try again.
      const told =
        textAt(message, 'errorMessage') ?? `the request was ended: ${String(message['stopReason'])}`;
      return [...usage, { kind: 'trouble', trouble: providerTrouble(told), final: false }];
    }
    default:
      return [...usage, ...said];
  }
};

const toolEnd = (line: JsonObject): readonly AgentEvent[] => {
  const tool = textAt(line, 'toolName');
  if (line['isError'] !== true || (tool !== 'write' && tool !== 'edit')) return [];
  const [first] = listAt(line, 'result', 'content');
  return textAt(first, 'text')?.startsWith(REFUSED) === true ? [{ kind: 'denied', tool }] : [];
};

/** Each repeats the whole message or the whole session so far. */
const REPEATS = /^\{"type":"(?:message_update|message_start|turn_end|agent_end|tool_execution_update)"/;

/** Exit status 0 says nothing in this mode: the stop reason of the last message decides. */
const readLine = (text: string): readonly AgentEvent[] => {
  if (REPEATS.test(text)) return [];
  const line = jsonLine(text);
  switch (line?.['type']) {
    case 'turn_start':
      return [{ kind: 'turn' }];
    case 'message_end': {
      const message = objectAt(line, 'message');
      return message?.['role'] === 'assistant' ? assistant(message) : [];
    }
    case 'tool_execution_end':
      return toolEnd(line);
    case 'auto_retry_end': {
      const told = line['success'] === false ? textAt(line, 'finalError') : undefined;
      return told === undefined ? [] : [{ kind: 'trouble', trouble: providerTrouble(told), final: false }];
    }
    default:
      return [];
  }
};

/** The pi coding agent, with whatever provider the user has set up. */
export const piWorker: Worker = {
  name: 'pi',
  problems: (spec) => [...agentProblems(spec), ...reservedArguments(spec, RESERVED)],
  invocation: (request) => ({
    argv: argvOf(request),
    env: {
      [FOLDER_VARIABLE]: `${request.paths.config}/${FOLDER}`,
      ...QUIET,
      ...request.spec.env,
    },
    agentKeys: true,
    files: request.access === 'write' ? [] : [{ path: EXTENSION, text: extensionOf(request.paths.out) }],
    links: ['auth.json', 'models.json', 'settings.json'].map((name) => ({
      path: `${FOLDER}/${name}`,
      from: `${request.folders?.[FOLDER_VARIABLE] ?? `${request.home}/.pi/agent`}/${name}`,
    })),
    returns: 'file',
  }),
  agent: {
    program: 'pi',
    family: 'any',
    keys: ALL_KEYS,
    install: 'npm install --global @earendil-works/pi-coding-agent',
    login: {
      variables: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY'],
      files: ['auth.json', 'models.json'].map((name) => ({
        path: `.pi/agent/${name}`,
        folder: { variable: FOLDER_VARIABLE, path: name },
      })),
      command: 'pi, then /login',
    },
    helpArgs: ['--help'],
    helpHas: ['--mode', '--no-session', '--tools', '--offline', '--no-extensions'],
    quiet: QUIET,
    readLine,
  },
};
