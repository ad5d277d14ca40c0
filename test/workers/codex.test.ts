import { describe, expect, test } from 'vitest';
import type { Access } from '../../orchestrator/model/pipeline.js';
import { returnJsonSchema } from '../../orchestrator/process/return-json-schema.js';
import { codexWorker as codex } from '../../workers/codex.js';
import { strictSchema, withoutNulls } from '../../workers/strict-schema.js';
import {
  ODD_LINES,
  eventsOf,
  fileOf,
  kindOf,
  outcomeOfLines,
  recorded,
  requestOf,
  specOf,
} from '../helpers/agent-transcripts.js';

const config = (more: Parameters<typeof requestOf>[1]): string =>
  fileOf(codex, requestOf(codex, more), 'config.toml');

/** The lines of `config` from the permissions to the next table that is not about them. */
const permissions = (text: string): readonly string[] =>
  text.split('\n').filter((line) => /permissions|extends|= "write"|^enabled = true|sandbox_mode/.test(line));

const NOTICES = 'warning: Untrusted project-local configuration is disabled.\nReading prompt from stdin...\n';

describe('how codex is started', () => {
  const FIXED = ['codex', 'exec', '--json', '--skip-git-repo-check', '--ephemeral', '--ignore-rules'];

  test.each<Access>(['none', 'read-only', 'write'])('with access %s', (access) => {
    const invocation = codex.invocation(requestOf(codex, { access }));
    expect(invocation.argv).toEqual([...FIXED, '--output-schema', '/c/agent/strict.schema.json']);
    expect(invocation.returns).toBe('structured');
  });

  test('with a model, and further arguments last', () => {
    const spec = specOf(codex, { model: 'm-1', args: ['-c', 'model_reasoning_effort="high"'] });
    const { argv } = codex.invocation(requestOf(codex, { spec }));
    expect(argv.slice(-4)).toEqual(['--model', 'm-1', '-c', 'model_reasoning_effort="high"']);
  });

  test.each<readonly [Access, readonly string[]]>([
    ['none', ['extends = ":read-only"', '"/c/out" = "write"', '":tmpdir" = "write"']],
    [
      'read-only',
      ['extends = ":read-only"', '"/c/out" = "write"', '":tmpdir" = "write"', '":slash_tmp" = "write"'],
    ],
    [
      'write',
      ['extends = ":workspace"', '"/c/out" = "write"', '":tmpdir" = "write"', '":slash_tmp" = "write"'],
    ],
  ])('may write with access %s what that says', (access, rules) => {
    const [first, ...rest] = rules;
    expect(permissions(config({ access }))).toEqual([
      'default_permissions = "worker"',
      '[permissions.worker]',
      first,
      '[permissions.worker.filesystem]',
      ...rest,
      '[permissions.worker.network]',
      ...(access === 'none' ? [] : ['enabled = true']),
    ]);
  });

  test('without a sandbox of its own in ours, and only there', () => {
    for (const access of ['none', 'read-only', 'write'] as const) {
      expect(permissions(config({ access, sandboxed: true }))).toEqual([
        'sandbox_mode = "danger-full-access"',
      ]);
      expect(config({ access })).not.toContain('danger');
    }
  });

  test('with the network only where the worker has it', () => {
    const sandbox = { mode: 'auto', network: false, read: [], write: [] } as const;
    expect(config({ spec: specOf(codex, { sandbox }) })).toContain(
      '[permissions.worker.network]\nenabled = false',
    );
  });

  test('a path that would be a pattern, or that TOML would read otherwise', () => {
    const { paths } = requestOf(codex);
    const quoted = { paths: { ...paths, out: String.raw`/a "b"\c/out` } };
    expect(config(quoted)).toContain(String.raw`"/a \"b\"\\c/out" = "write"`);
    const pattern = { paths: { ...paths, out: '/a [b]/out' } };
    expect(config(pattern)).not.toContain('[b]');
    expect(codex.invocation(requestOf(codex, pattern)).env).toMatchObject({ TMPDIR: '/a [b]/out' });
    expect(codex.invocation(requestOf(codex)).env).not.toHaveProperty('TMPDIR');
  });

  test('has a folder of its own, and the login of the user', () => {
    const { env, links, agentKeys } = codex.invocation(requestOf(codex));
    expect(agentKeys).toBe(true);
    expect(env).toEqual({ CODEX_HOME: '/c/agent' });
    expect(links).toEqual([{ path: 'auth.json', from: '/home/user/.codex/auth.json' }]);
    const moved = codex.invocation(requestOf(codex, { folders: { CODEX_HOME: '/cfg' } }));
    expect(moved.links).toEqual([{ path: 'auth.json', from: '/cfg/auth.json' }]);
  });

  test('in a sandbox the login is used and not renewed, and one that has expired is named so', () => {
    const { env } = codex.invocation(requestOf(codex, { sandboxed: true }));
    const url = env['CODEX_REFRESH_TOKEN_URL_OVERRIDE'];
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:9\//);
    const message = `error sending request for url (${url})`;
    const lines = [JSON.stringify({ type: 'error', message: `Reconnecting... 1/5 (${message})` })];
    expect(outcomeOfLines(codex, lines, 1)).toMatchObject({
      trouble: { kind: 'auth', detail: expect.stringContaining('start `codex` once outside') as unknown },
    });
  });

  test('reads the instructions of the project only where it may change it', () => {
    expect(config({ access: 'write' })).not.toContain('project_doc_max_bytes');
    expect(config({ access: 'read-only' })).toContain('project_doc_max_bytes = 0\n');
  });

  test('nothing of it waits without end, reports or asks', () => {
    const text = config({});
    for (const line of [
      'approval_policy = "never"',
      'check_for_update_on_startup = false',
      'unbounded_connection_retries = false',
      'plugins = false',
      '[analytics]\nenabled = false',
      '[agents]\nenabled = false',
    ])
      expect(text).toContain(`${line}\n`);
    expect(config({ access: 'none' })).toContain('shell_tool = false\n');
  });

  test('refuses what would take the output or the session from us', () => {
    expect(codex.problems(specOf(codex))).toEqual([]);
    expect(codex.problems(specOf(codex, { args: ['resume', '--output-schema', 'x'] }))).toHaveLength(2);
  });

  test('with a return that cannot be asked for strictly it writes the file', () => {
    const schema = '{"type":"object","additionalProperties":{"type":"string"}}';
    const invocation = codex.invocation(requestOf(codex, { schema }));
    expect(invocation.returns).toBe('file');
    expect(invocation.argv).toEqual(FIXED);
  });
});

describe('a strict schema', () => {
  const strict = (schema: object): unknown => {
    const text = strictSchema(JSON.stringify(schema));
    return text === undefined ? undefined : JSON.parse(text);
  };

  test('says the same of the return', () => {
    for (const makes of ['diff', 'review'] as const) {
      const schema = returnJsonSchema(makes, ['tests']);
      expect(strict(JSON.parse(schema) as object)).toEqual(JSON.parse(schema));
    }
  });

  test('requires every key, with null for one that may be absent, and names no keyword that is not taken', () => {
    expect(
      strict({
        $schema: 'https://example.com',
        type: 'object',
        properties: {
          a: { type: 'string', pattern: '^x', maxLength: 3 },
          b: { type: 'array', maxItems: 2, items: { oneOf: [{ type: 'string' }, { $ref: '#/$defs/c' }] } },
        },
        required: ['a'],
        $defs: { c: { type: 'object', properties: {} } },
      }),
    ).toEqual({
      type: 'object',
      properties: {
        a: { type: 'string' },
        b: {
          anyOf: [
            { type: 'array', items: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/c' }] } },
            { type: 'null' },
          ],
        },
      },
      required: ['a', 'b'],
      additionalProperties: false,
      $defs: { c: { type: 'object', properties: {}, required: [], additionalProperties: false } },
    });
  });

  test.each([
    [{ type: 'object' }],
    [{ type: 'object', properties: {}, additionalProperties: { type: 'string' } }],
    [{ type: 'object', properties: { a: { allOf: [] } } }],
    [{ type: 'array' }],
    [{ type: 'array', items: { not: {} } }],
  ])('cannot be made of %j', (schema) => {
    expect(strict(schema)).toBeUndefined();
  });

  test('what was null in the answer is absent', () => {
    expect(withoutNulls({ a: null, b: [{ c: null, d: 0 }, null], e: '' })).toEqual({
      b: [{ d: 0 }, null],
      e: '',
    });
    expect(strictSchema('not JSON')).toBeUndefined();
  });
});

describe('what codex says', () => {
  test('an answer, with its use; the cached tokens are apart', () => {
    expect(outcomeOfLines(codex, recorded(codex, 'success'), 0, { stderr: NOTICES })).toEqual({
      kind: 'answered',
      text: '{"status":"done","summary":["Did it; `node --test` exit 0."]}',
      value: { status: 'done', summary: ['Did it; `node --test` exit 0.'] },
      turns: 4,
      denied: [],
      usage: {
        inputTokens: 2_300,
        outputTokens: 140,
        costUsd: null,
        cacheReadTokens: 1_200,
        cacheWriteTokens: 0,
      },
    });
  });

  test.each([
    ['auth', 1, 'auth'],
    ['not-in-plan', 1, 'auth'],
    ['limit', 1, 'usage-limit'],
    ['weekly-limit', 1, 'usage-limit'],
    ['quota', 1, 'usage-limit'],
    ['rate-limited', 1, 'overloaded'],
    ['overloaded', 1, 'overloaded'],
    ['unreachable', 1, 'network'],
    ['cut', 1, 'network'],
    ['too-long', 1, 'context-overflow'],
    ['truncated', 1, 'truncated'],
    ['model', 1, 'agent-failed'],
    ['hang', undefined, 'agent-failed'],
    ['denied', 0, 'answered'],
    ['retried', 0, 'answered'],
    ['quoted', 0, 'answered'],
    ['refusal', 0, 'answered'],
  ])('%s, exit status %s: %s', (name, exitCode, kind) => {
    expect(kindOf(outcomeOfLines(codex, recorded(codex, name), exitCode, { stderr: NOTICES }))).toBe(kind);
  });

  test('a limit with the time at which it resets, in the zone of the machine', () => {
    const resetOf = (name: string, zone: string) => outcomeOfLines(codex, recorded(codex, name), 1, { zone });
    expect(resetOf('limit', 'UTC')).toMatchObject({ trouble: { resetAt: '2026-11-30T18:30:00.000Z' } });
    expect(resetOf('limit', 'Europe/Berlin')).toMatchObject({
      trouble: { resetAt: '2026-11-30T17:30:00.000Z' },
    });
    expect(resetOf('weekly-limit', 'UTC')).toMatchObject({
      trouble: { resetAt: '2026-12-04T03:50:00.000Z' },
    });
  });

  test('what is refused for good is known before it stops trying', () => {
    const [first] = eventsOf(codex, recorded(codex, 'auth')).filter(({ kind }) => kind === 'trouble');
    expect(first).toMatchObject({ final: false, trouble: { kind: 'auth' } });
  });

  test('a refusal in words is an answer without a value', () => {
    expect(outcomeOfLines(codex, recorded(codex, 'refusal'), 0)).not.toHaveProperty('value');
  });

  test('only the last message is the answer', () => {
    const message = (text: string) =>
      JSON.stringify({ type: 'item.completed', item: { type: 'agent_message', text } });
    const action = (status: string) =>
      JSON.stringify({ type: 'item.completed', item: { type: 'command_execution', status } });
    const end = JSON.stringify({ type: 'turn.completed', usage: {} });
    const start = JSON.stringify({ type: 'turn.started' });
    const early = [start, message('{"status":"done"}'), action('completed'), end];
    expect(outcomeOfLines(codex, early, 0).kind).toBe('empty');
    const declined = [start, action('declined'), end];
    expect(outcomeOfLines(codex, declined, 0)).toMatchObject({
      kind: 'trouble',
      trouble: { kind: 'permission-denied', detail: 'denied: command_execution' },
    });
    const warned =
      '{"type":"item.completed","item":{"type":"error","message":"You’ve hit your usage limit"}}';
    expect(eventsOf(codex, [warned])).toEqual([]);
  });

  test('what it says on standard error before it has begun', () => {
    const ended = (stderr: string) => outcomeOfLines(codex, [], 1, { stderr });
    expect(ended(`${NOTICES}Error loading config.toml: nope\nin \`x\`\n`)).toMatchObject({
      trouble: { kind: 'agent-failed', detail: 'Error loading config.toml: nope in `x`' },
    });
    expect(ended(NOTICES)).toMatchObject({
      trouble: { detail: 'it ended with exit status 1 and said nothing about it' },
    });
    const log = '2026-11-30T16:33:06.662355Z ERROR codex_api::endpoint: failed to connect';
    expect(ended(`${log}\n`)).toMatchObject({ trouble: { kind: 'network' } });
  });

  test('odd lines neither throw nor become an answer', () => {
    expect(() => eventsOf(codex, ODD_LINES)).not.toThrow();
    expect(outcomeOfLines(codex, ODD_LINES, 0).kind).not.toBe('answered');
  });
});
