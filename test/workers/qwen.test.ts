import { describe, expect, test } from 'vitest';
import type { Access } from '../../orchestrator/model/pipeline.js';
import { qwenWorker as qwen } from '../../workers/qwen.js';
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

const jsonFile = (access: Access, path: string): unknown =>
  JSON.parse(fileOf(qwen, requestOf(qwen, { access }), path));

const WRITES_RESULTS = ['edit(//c/out/**)', 'write_file(//c/out/**)'];
const READS = ['read_file', 'grep_search', 'glob', 'list_directory'];

describe('how qwen is started', () => {
  const FIXED = [
    'qwen',
    '--output-format',
    'stream-json',
    '--json-schema',
    '@/c/agent/return.schema.json',
    '--approval-mode',
    'default',
    '--include-directories',
    '/c/out',
    '--allowed-mcp-server-names',
    'none',
  ];

  test.each<Access>(['none', 'read-only', 'write'])('with access %s', (access) => {
    const { argv, returns, agentKeys } = qwen.invocation(requestOf(qwen, { access }));
    expect(argv).toEqual(FIXED);
    expect([returns, agentKeys]).toEqual(['structured', true]);
  });

  test('with a key, a model, a turn limit, and further arguments last', () => {
    const spec = specOf(qwen, { model: 'qwen3-coder', maxTurns: 40, args: ['--debug'] });
    const { argv } = qwen.invocation(requestOf(qwen, { spec, variables: new Set(['OPENAI_API_KEY']) }));
    expect(argv).toEqual([
      ...FIXED,
      '--auth-type',
      'openai',
      '--model',
      'qwen3-coder',
      '--max-session-turns',
      '40',
      '--debug',
    ]);
  });

  test.each<readonly [Access, object]>([
    [
      'none',
      {
        allow: ['read_file', ...WRITES_RESULTS],
        deny: [
          'Edit(//w/tree/**)',
          'run_shell_command',
          'grep_search',
          'glob',
          'list_directory',
          'agent',
          'skill',
        ],
      },
    ],
    ['read-only', { allow: ['run_shell_command', ...READS, ...WRITES_RESULTS], deny: ['Edit(//w/tree/**)'] }],
    [
      'write',
      {
        allow: [
          'run_shell_command',
          ...READS,
          'edit(//w/tree/**)',
          'write_file(//w/tree/**)',
          ...WRITES_RESULTS,
        ],
      },
    ],
  ])('may do no more than access %s says', (access, permissions) => {
    expect(jsonFile(access, 'qwen/settings.json')).toEqual({
      $version: 4,
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false, checkpointing: { enabled: false } },
      memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
      tools: { sandbox: false, shell: { enableInteractiveShell: false } },
      disableAllHooks: true,
      model: { generationConfig: { maxRetries: 0 } },
      security: { folderTrust: { enabled: true } },
      permissions,
    });
  });

  test('trusts the tree only where it may change it', () => {
    expect(jsonFile('none', 'qwen/trustedFolders.json')).toEqual({ '/w/tree': 'DO_NOT_TRUST' });
    expect(jsonFile('read-only', 'qwen/trustedFolders.json')).toEqual({ '/w/tree': 'DO_NOT_TRUST' });
    expect(jsonFile('write', 'qwen/trustedFolders.json')).toEqual({ '/w/tree': 'TRUST_FOLDER' });
  });

  test("has a folder of its own, under which the user's settings lie", () => {
    const { env, links } = qwen.invocation(requestOf(qwen));
    expect(env).toEqual({
      QWEN_HOME: '/c/agent/qwen',
      QWEN_CODE_SYSTEM_DEFAULTS_PATH: '/c/agent/qwen/users-settings.json',
      QWEN_CODE_NO_RELAUNCH: '1',
      QWEN_TELEMETRY_ENABLED: 'false',
    });
    expect(links).toEqual([
      { path: 'qwen/users-settings.json', from: '/home/user/.qwen/settings.json' },
      { path: 'qwen/oauth_creds.json', from: '/home/user/.qwen/oauth_creds.json' },
    ]);
    const moved = qwen.invocation(requestOf(qwen, { folders: { QWEN_HOME: '/cfg' } }));
    expect(moved.links?.[0]?.from).toBe('/cfg/settings.json');
  });

  test('refuses what would take the output or the session from us', () => {
    expect(qwen.problems(specOf(qwen, { args: ['--debug'] }))).toEqual([]);
    expect(
      qwen.problems(specOf(qwen, { args: ['--json-schema=x', '-c', '--max-session-turns=3'] })),
    ).toHaveLength(3);
    expect(qwen.problems(specOf(qwen, { command: ['qwen'] }))[0]).toContain('takes no `command`');
  });
});

describe('what qwen says', () => {
  test.each(['success', 'success-0.24'])(
    '%s: the value that was asked for, with the use of all turns',
    (name) => {
      const { usage, ...rest } = outcomeOfLines(qwen, recorded(qwen, name), 0);
      expect(rest).toEqual({
        kind: 'answered',
        text: '',
        value: { status: 'done', summary: ['Did it; `node --test` exit 0.'] },
        turns: 3,
        denied: [],
      });
      expect(usage).toEqual({
        inputTokens: 2_700,
        outputTokens: 60,
        costUsd: null,
        cacheReadTokens: 300,
        cacheWriteTokens: null,
      });
    },
  );

  test.each([
    ['auth', 1, 'auth'],
    ['auth-0.24', 1, 'auth'],
    ['not-logged-in', 1, 'auth'],
    ['limit', 1, 'usage-limit'],
    ['unreachable', 1, 'network'],
    ['too-long', 1, 'context-overflow'],
    ['model', 1, 'agent-failed'],
    ['no-value', 1, 'agent-failed'],
    // It goes on by itself until it gives up, and does not say why.
    ['refusal', 1, 'agent-failed'],
    ['refusal-0.24', 1, 'agent-failed'],
    ['truncated', 1, 'agent-failed'],
    ['cut', 1, 'agent-failed'],
    ['denied', 0, 'answered'],
    ['retried', 0, 'answered'],
    ['quoted', 0, 'answered'],
  ])('%s, exit status %i: %s', (name, exitCode, kind) => {
    expect(kindOf(outcomeOfLines(qwen, recorded(qwen, name), exitCode))).toBe(kind);
  });

  test('a turn limit, by its exit status', () => {
    const stderr =
      'Reached max session turns for this session. Increase it.\nNote: --json-schema is active.\n';
    const outcome = outcomeOfLines(qwen, recorded(qwen, 'max-turns'), 53, { stderr });
    expect(outcome).toMatchObject({
      kind: 'trouble',
      trouble: { kind: 'max-turns', detail: 'Reached max session turns for this session. Increase it.' },
      turns: 3,
    });
    expect(kindOf(outcomeOfLines(qwen, recorded(qwen, 'max-turns'), 1, { stderr: 'a bug' }))).toBe(
      'agent-failed',
    );
  });

  test('a limit with the time at which it resets, and no use for a request that failed', () => {
    const now = new Date('2029-12-31T00:00:00Z');
    expect(outcomeOfLines(qwen, recorded(qwen, 'limit'), 1, { now })).toMatchObject({
      trouble: { kind: 'usage-limit', resetAt: '2030-01-01T00:00:00.000Z' },
      usage: { inputTokens: null, outputTokens: null },
    });
  });

  test('a denied tool by its name', () => {
    expect(outcomeOfLines(qwen, recorded(qwen, 'denied'), 0).denied).toEqual(['write_file']);
  });

  test('words of a model are no failure of the program, also where the program quotes them', () => {
    const said = (text: string, tokens: number) =>
      JSON.stringify({
        type: 'assistant',
        parent_tool_use_id: null,
        message: {
          content: [{ type: 'text', text }],
          usage: { input_tokens: tokens, output_tokens: tokens },
        },
      });
    const failed = JSON.stringify({
      type: 'result',
      is_error: true,
      error: {
        message: 'Model produced plain text … Output preview: "usage limit reached, 401 unauthorized"',
      },
    });
    const text = '[API Error: 401 unauthorized]';
    expect(eventsOf(qwen, [said(text, 5)])).toEqual([{ kind: 'turn' }, { kind: 'text', text }]);
    expect(kindOf(outcomeOfLines(qwen, [said(text, 5), failed], 1))).toBe('agent-failed');
    expect(kindOf(outcomeOfLines(qwen, [said(text, 0), failed], 1))).toBe('auth');
    expect(kindOf(outcomeOfLines(qwen, [said('401 unauthorized', 0), failed], 1))).toBe('agent-failed');
  });

  test('no answer where the exit status, the last word or the output contradicts it', () => {
    const lines = recorded(qwen, 'success');
    expect(kindOf(outcomeOfLines(qwen, lines, 1))).toBe('agent-failed');
    const cutOff = lines.map((line) => (line.includes('"type":"result"') ? line.slice(0, -40) : line));
    expect(kindOf(outcomeOfLines(qwen, cutOff, 0))).toBe('empty');
    const asError = lines.map((line) =>
      line.replace('"is_error":false,"duration', '"is_error":true,"duration'),
    );
    expect(kindOf(outcomeOfLines(qwen, asError, 0))).toBe('agent-failed');
  });

  test('other agents inside it and odd lines are nothing', () => {
    const inner =
      '{"type":"assistant","parent_tool_use_id":"t","message":{"content":[{"type":"text","text":"sub"}]}}';
    expect(eventsOf(qwen, [inner, '{"type":"user"}', '{"type":"stream_event"}'])).toEqual([]);
    expect(() => eventsOf(qwen, ODD_LINES)).not.toThrow();
    expect(outcomeOfLines(qwen, ODD_LINES, 0).kind).not.toBe('answered');
  });
});
