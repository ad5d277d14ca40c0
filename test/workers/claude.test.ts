import { describe, expect, test } from 'vitest';
import type { Access } from '../../orchestrator/model/pipeline.js';
import { claudeWorker as claude } from '../../workers/claude.js';
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

const allowed = (access: Access, sandboxed = false): readonly string[] => {
  const settings = JSON.parse(
    fileOf(claude, requestOf(claude, { access, sandboxed }), 'worker-settings.json'),
  ) as { readonly permissions: { readonly allow: readonly string[] } };
  return settings.permissions.allow;
};

describe('how claude is started', () => {
  const FIXED = [
    'claude',
    '--print',
    '--verbose',
    '--output-format',
    'stream-json',
    '--json-schema',
    requestOf(claude).schema,
    '--permission-mode',
    'dontAsk',
    '--settings',
    '/c/agent/worker-settings.json',
    '--setting-sources',
    '',
    '--strict-mcp-config',
    '--no-session-persistence',
  ];

  test.each<readonly [Access, readonly string[]]>([
    ['none', ['--tools', 'Read,Write,Edit', '--add-dir', '/c/out']],
    ['read-only', ['--tools', 'Bash,Read,Glob,Grep,Write,Edit', '--add-dir', '/c/out']],
    ['write', ['--tools', 'Bash,Read,Glob,Grep,Write,Edit,NotebookEdit', '--add-dir', '/c/out', '/w/tree']],
  ])('with access %s', (access, rest) => {
    const invocation = claude.invocation(requestOf(claude, { access }));
    expect(invocation.argv).toEqual([...FIXED, ...rest]);
    expect(invocation.returns).toBe('structured');
  });

  test('with a model, a turn limit, and further arguments last', () => {
    const spec = specOf(claude, { model: 'opus', maxTurns: 40, args: ['--effort', 'high'] });
    const { argv } = claude.invocation(requestOf(claude, { spec }));
    expect(argv.slice(-6)).toEqual(['--model', 'opus', '--max-turns', '40', '--effort', 'high']);
  });

  test('may do no more than its access says', () => {
    expect(allowed('none')).toEqual(['Edit(//c/out/**)']);
    expect(allowed('read-only')).toEqual(['Read', 'Glob', 'Grep', 'Edit(//c/out/**)']);
    // In our sandbox the tree cannot be written to, whatever is run.
    expect(allowed('read-only', true)).toEqual(['Bash', 'Read', 'Glob', 'Grep', 'Edit(//c/out/**)']);
    expect(allowed('write')).toEqual([
      'Bash',
      'Read',
      'Glob',
      'Grep',
      'Edit(//c/out/**)',
      'Edit(//w/tree/**)',
    ]);
  });

  test('a path with characters that mean something in a rule means itself', () => {
    const { paths } = requestOf(claude);
    const request = requestOf(claude, { access: 'none', paths: { ...paths, out: '/a b/[x] (1)/!#*/out' } });
    expect(JSON.parse(fileOf(claude, request, 'worker-settings.json'))).toMatchObject({
      permissions: { defaultMode: 'dontAsk', allow: [String.raw`Edit(//a\ b/\[x\]\ \(1\)/\!\#\*/out/**)`] },
      disableAllHooks: true,
    });
  });

  test('a schema that names its draft is given without that name', () => {
    const request = requestOf(claude, { schema: '{"$schema":"https://example.com","type":"object"}' });
    expect(claude.invocation(request).argv).toContain('{"type":"object"}');
  });

  test('has a folder of its own, and the login where the user has it', () => {
    const { env, links, agentKeys } = claude.invocation(requestOf(claude));
    expect(agentKeys).toBe(true);
    expect(env).toMatchObject({
      CLAUDE_CONFIG_DIR: '/c/agent',
      CLAUDE_SECURESTORAGE_CONFIG_DIR: '',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
      DISABLE_AUTOUPDATER: '1',
    });
    // A link at the name that it reads would be replaced when it renews the login.
    expect(links).toEqual([{ path: 'login.json', from: '/home/user/.claude/.credentials.json' }]);
    const moved = claude.invocation(requestOf(claude, { folders: { CLAUDE_CONFIG_DIR: '/cfg' } }));
    expect(moved.env).toMatchObject({
      CLAUDE_CONFIG_DIR: '/c/agent',
      CLAUDE_SECURESTORAGE_CONFIG_DIR: '/cfg',
    });
    expect(moved.links).toEqual([{ path: 'login.json', from: '/cfg/.credentials.json' }]);
  });

  test('reads the instructions of the project only where it may change it', () => {
    const name = 'CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD';
    expect(claude.invocation(requestOf(claude)).env).toHaveProperty(name);
    expect(claude.invocation(requestOf(claude, { access: 'read-only' })).env).not.toHaveProperty(name);
  });

  test('refuses what would take the output or the session from us', () => {
    expect(claude.problems(specOf(claude, { args: ['--effort', 'high'] }))).toEqual([]);
    expect(claude.problems(specOf(claude, { args: ['--output-format=text', '--resume', 'x'] }))).toEqual([
      '`--output-format` in `args` of worker `builder`: the adapter sets it, because it reads the output; remove it',
      '`--resume` in `args` of worker `builder`: every attempt is a new session; remove it',
    ]);
    expect(claude.problems(specOf(claude, { command: ['claude'] }))).toHaveLength(1);
  });
});

describe('what claude says', () => {
  test('an answer, with the use of all its turns', () => {
    expect(outcomeOfLines(claude, recorded(claude, 'success'), 0)).toEqual({
      kind: 'answered',
      text: '{"status":"done","summary":["Did it; `node --test` exit 0."]}',
      value: { status: 'done', summary: ['Did it; `node --test` exit 0.'] },
      turns: 3,
      denied: [],
      usage: {
        inputTokens: 2_300,
        outputTokens: 140,
        costUsd: 0.01234,
        cacheReadTokens: 1_200,
        cacheWriteTokens: 20,
      },
    });
  });

  test.each([
    ['auth', 1, 'auth'],
    ['not-logged-in', 1, 'auth'],
    ['limit', 1, 'usage-limit'],
    ['weekly-limit', 1, 'usage-limit'],
    ['credit', 1, 'usage-limit'],
    ['rate-limited', 1, 'overloaded'],
    ['overloaded', 1, 'overloaded'],
    ['unreachable', 1, 'network'],
    ['cut', 1, 'network'],
    ['too-long', 1, 'context-overflow'],
    ['refusal', 1, 'refusal'],
    ['truncated', 1, 'truncated'],
    ['max-turns', 1, 'max-turns'],
    ['budget', 1, 'max-budget'],
    ['model', 1, 'agent-failed'],
    ['hang', 143, 'agent-failed'],
    ['denied', 0, 'answered'],
    ['retried', 0, 'answered'],
    ['quoted', 0, 'answered'],
    ['no-value', 0, 'answered'],
  ])('%s, exit status %i: %s', (name, exitCode, kind) => {
    expect(kindOf(outcomeOfLines(claude, recorded(claude, name), exitCode))).toBe(kind);
  });

  test('a limit with the time at which it resets', () => {
    const resetOf = (name: string) => outcomeOfLines(claude, recorded(claude, name), 1);
    expect(resetOf('limit')).toMatchObject({
      trouble: {
        detail: "You've hit your 5-hour limit · resets 6:30pm (UTC)",
        resetAt: '2026-11-30T18:30:00.000Z',
      },
      usage: { inputTokens: 100 },
      turns: 1,
    });
    expect(resetOf('weekly-limit')).toMatchObject({ trouble: { resetAt: '2026-12-04T03:50:00.000Z' } });
    // The sentence alone says it too, in the zone that it names.
    const sentence = recorded(claude, 'limit').filter((line) => !line.includes('rate_limit_event'));
    expect(outcomeOfLines(claude, sentence, 1, { zone: 'Asia/Tokyo' })).toMatchObject({
      trouble: { kind: 'usage-limit', resetAt: '2026-11-30T18:30:00.000Z' },
    });
  });

  test('what is refused or limited for good is known before it stops trying', () => {
    const early = (name: string) =>
      eventsOf(claude, recorded(claude, name)).find((event) => event.kind === 'trouble');
    expect(early('auth')).toMatchObject({ final: false, trouble: { kind: 'auth' } });
    expect(early('limit')).toMatchObject({ final: false, trouble: { kind: 'usage-limit' } });
    expect(early('overloaded')).toMatchObject({ final: false, trouble: { kind: 'overloaded' } });
    expect(early('cut')).toMatchObject({ final: false, trouble: { kind: 'network' } });
  });

  test('denied tools by name, when they are denied', () => {
    expect(outcomeOfLines(claude, recorded(claude, 'denied'), 0).denied).toEqual(['Bash']);
    const upToResult = recorded(claude, 'denied').filter((line) => !line.includes('"type":"result"'));
    expect(outcomeOfLines(claude, upToResult, undefined).denied).toEqual(['Bash']);
  });

  test('an answer without the value that was asked for has none', () => {
    expect(outcomeOfLines(claude, recorded(claude, 'no-value'), 0)).not.toHaveProperty('value');
  });

  test('no answer where the exit status, the last word or the output contradicts it', () => {
    const lines = recorded(claude, 'success');
    expect(kindOf(outcomeOfLines(claude, lines, 1))).toBe('agent-failed');
    expect(kindOf(outcomeOfLines(claude, lines, undefined))).toBe('agent-failed');
    const cutOff = lines.map((line) => (line.includes('"type":"result"') ? line.slice(0, -40) : line));
    expect(kindOf(outcomeOfLines(claude, cutOff, 0))).not.toBe('answered');
    const asError = lines.map((line) =>
      line.replace('"is_error":false,"num_turns"', '"is_error":true,"num_turns"'),
    );
    expect(kindOf(outcomeOfLines(claude, asError, 0))).toBe('agent-failed');
  });

  test('other agents inside it, extra use and warnings are nothing', () => {
    const lines = [
      '{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"m","content":[{"type":"text","text":"sub"}]}}',
      '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1796063400}}',
      '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","isUsingOverage":true}}',
      '{"type":"user","message":{"content":[{"type":"tool_result","content":"Not logged in"}]}}',
    ];
    expect(eventsOf(claude, lines)).toEqual([]);
  });

  test('odd lines neither throw nor become an answer', () => {
    expect(() => eventsOf(claude, ODD_LINES)).not.toThrow();
    expect(outcomeOfLines(claude, ODD_LINES, 0).kind).not.toBe('answered');
  });
});
