import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkerSpec } from '../../orchestrator/model/pipeline.js';
import { returnJsonSchema } from '../../orchestrator/process/return-json-schema.js';
import { addEvents, newTranscript, outcomeOf, type Ending, type Outcome } from '../../workers/transcript.js';
import type { AgentEvent, Worker, WorkerRequest } from '../../workers/worker.js';

/** The limits of the recorded transcripts reset two hours later, and on Friday. */
const RECORDED_AT = new Date('2026-11-30T16:30:00Z');

const agentOf = (worker: Worker) => {
  if (worker.agent === undefined) throw new Error(`${worker.name} is no agent`);
  return worker.agent;
};

/** What the program printed on standard output, as lines. */
export const recorded = (worker: Worker, name: string): readonly string[] =>
  readFileSync(join('test/fixtures/transcripts', worker.name, `${name}.jsonl`), 'utf8').split('\n');

export const eventsOf = (worker: Worker, lines: readonly string[]): readonly AgentEvent[] =>
  lines.flatMap((line) => agentOf(worker).readLine(line));

export const outcomeOfLines = (
  worker: Worker,
  lines: readonly string[],
  exitCode: number | undefined,
  more: Partial<Ending> = {},
): Outcome =>
  outcomeOf(addEvents(newTranscript(), eventsOf(worker, lines)), {
    exitCode,
    stderr: '',
    now: RECORDED_AT,
    zone: 'UTC',
    agent: agentOf(worker),
    ...more,
  });

/** The name of what it came to. */
export const kindOf = (outcome: Outcome): string =>
  outcome.kind === 'trouble' ? outcome.trouble.kind : outcome.kind;

export const specOf = (worker: Worker, more: Partial<WorkerSpec> = {}): WorkerSpec => ({
  name: 'builder',
  adapter: worker.name,
  command: [],
  agents: [],
  args: [],
  sandbox: { mode: 'auto', network: true, read: [], write: [] },
  env: {},
  ...more,
});

export const requestOf = (worker: Worker, more: Partial<WorkerRequest> = {}): WorkerRequest => ({
  spec: specOf(worker),
  ticket: '320',
  target: 'implementation-diff',
  access: 'write',
  paths: {
    tree: '/w/tree',
    out: '/c/out',
    prompt: '/c/prompt.md',
    returnPath: '/c/out/return.json',
    config: '/c/agent',
    schema: '/c/agent/return.schema.json',
  },
  schema: returnJsonSchema('diff', []),
  home: '/home/user',
  variables: new Set(),
  sandboxed: false,
  packageRoot: '/pkg',
  nodePath: '/bin/node',
  ...more,
});

/** Text of a file that the adapter asks for. */
export const fileOf = (worker: Worker, request: WorkerRequest, path: string): string => {
  const file = worker.invocation(request).files?.find((each) => each.path === path);
  if (file === undefined) throw new Error(`${worker.name} asks for no ${path}`);
  return file.text;
};

/** Lines that no program should print, and that some do. */
export const ODD_LINES: readonly string[] = [
  '',
  ' ',
  'npm warn something',
  '{',
  '{"type":"result"',
  'null',
  '[]',
  '"result"',
  '42',
  '{}',
  '{"type":null}',
  '{"type":{"type":"result"}}',
  '{"type":"result"}',
  '{"type":"result","is_error":"no","subtype":7,"modelUsage":[],"permission_denials":{},"errors":3}',
  '{"type":"result","is_error":false,"subtype":"success","modelUsage":{"m":null,"n":{"inputTokens":-1.5}}}',
  '{"type":"assistant","message":"text"}',
  '{"type":"assistant","message":{"content":[null,1,{"type":"text"},{"type":"text","text":5}]}}',
  '{"type":"system","subtype":"api_retry","error":{},"error_status":"x"}',
  '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":"soon"}}',
  '{"type":"item.completed"}',
  '{"type":"item.completed","item":{"type":"agent_message"}}',
  '{"type":"error"}',
  '{"type":"turn.failed"}',
  '{"type":"turn.completed","usage":{"input_tokens":"many"}}',
  '{"__proto__":{"type":"result"},"constructor":1}',
  `{"type":"assistant","message":{"content":"${'x'.repeat(100_000)}`,
  `${'{"a":'.repeat(20_000)}`,
  '\u0000\u001B[2J{"type":"turn.completed"}',
];
