import { describe, expect, test } from 'vitest';
import type { Access } from '../../orchestrator/model/pipeline.js';
import { geminiWorker as gemini } from '../../workers/gemini.js';
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

const settingsOf = (request: Parameters<typeof fileOf>[1]): Record<string, unknown> =>
  JSON.parse(fileOf(gemini, request, '.gemini/settings.json')) as Record<string, unknown>;

const NOT_OFFERED = `[[rule]]
toolName = ["web_fetch","google_web_search","activate_skill"]
decision = "deny"
priority = 700
`;

const ONLY_OUT = String.raw`[[rule]]
toolName = ["write_file","replace"]
argsPattern = "\"file_path\":\"[^\\x00]*/\\.\\.[/\"]"
decision = "deny"
priority = 900

[[rule]]
toolName = ["write_file","replace"]
argsPattern = "\\x00\"file_path\":\"/c/out/"
decision = "allow"
priority = 800

[[rule]]
toolName = ["write_file","replace"]
argsPattern = "\"file_path\":"
decision = "deny"
priority = 700
`;

const ONLY_READING = `[[rule]]
toolName = ["read_file"]
decision = "allow"
priority = 700

[[rule]]
toolName = ["*"]
decision = "deny"
priority = 100
`;

describe('how gemini is started', () => {
  test.each<readonly [Access, string]>([
    ['none', 'default'],
    ['read-only', 'yolo'],
    ['write', 'yolo'],
  ])('with access %s in the mode %s', (access, mode) => {
    const { argv, returns, agentKeys } = gemini.invocation(requestOf(gemini, { access }));
    expect(argv).toEqual([
      'gemini',
      '--output-format',
      'stream-json',
      '--approval-mode',
      mode,
      '--policy',
      '/c/agent/policy.toml',
      '--skip-trust',
      '--allowed-mcp-server-names',
      'none',
      '--include-directories',
      '/c/out',
    ]);
    expect([returns, agentKeys]).toEqual(['file', true]);
  });

  test('with a model, a turn limit in its settings, and further arguments last', () => {
    const spec = specOf(gemini, { model: 'gemini-2.5-pro', maxTurns: 40, args: ['--debug'] });
    const request = requestOf(gemini, { spec });
    expect(gemini.invocation(request).argv.slice(-3)).toEqual(['--model', 'gemini-2.5-pro', '--debug']);
    expect(settingsOf(request)).toMatchObject({ model: { maxSessionTurns: 40 } });
    expect(settingsOf(requestOf(gemini))).not.toHaveProperty('model');
  });

  test.each<readonly [Access, readonly string[]]>([
    ['none', [ONLY_READING, ONLY_OUT]],
    ['read-only', [NOT_OFFERED, ONLY_OUT]],
    ['write', [NOT_OFFERED]],
  ])('may do no more than access %s says', (access, rules) => {
    expect(fileOf(gemini, requestOf(gemini, { access }), 'policy.toml')).toBe(rules.join('\n'));
  });

  test('a path with characters that mean something in a rule means itself', () => {
    const { paths } = requestOf(gemini);
    const out = String.raw`/a b/[x] (1)/"q".+\n/out`;
    const policy = fileOf(
      gemini,
      requestOf(gemini, { access: 'none', paths: { ...paths, out } }),
      'policy.toml',
    );
    const patterns = [...policy.matchAll(/^argsPattern = (.*)$/gm)].map(
      ([, text = '""']) => new RegExp(JSON.parse(text) as string),
    );
    const argumentsOf = (path: string) =>
      `\u0000"content":"x"\u0000\u0000"file_path":${JSON.stringify(path)}\u0000`;
    const matches = (path: string) => patterns.map((pattern) => pattern.test(argumentsOf(path)));
    // Denied, allowed, denied by the rule behind them: the first that matches counts.
    expect(matches(`${out}/plan.md`)).toEqual([false, true, true]);
    expect(matches(`${out}/../evil`)).toEqual([true, true, true]);
    expect(matches(`${out}x/evil`)).toEqual([false, false, true]);
    expect(matches('/a b/x (1)/q/out/plan.md')).toEqual([false, false, true]);
  });

  test.each([
    [['GEMINI_API_KEY', 'GOOGLE_API_KEY'], 'gemini-api-key'],
    [['GOOGLE_API_KEY'], 'vertex-ai'],
    [[], 'oauth-personal'],
  ])('with %j logs in by %s', (names, selectedType) => {
    const request = requestOf(gemini, { variables: new Set(names) });
    expect(settingsOf(request)).toMatchObject({ security: { auth: { selectedType } } });
  });

  test('reports nothing, updates nothing, and does not try for minutes', () => {
    expect(settingsOf(requestOf(gemini))).toMatchObject({
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false, maxAttempts: 3 },
    });
  });

  test('has a folder of its own, with the login of the user in it', () => {
    const { env, links } = gemini.invocation(requestOf(gemini));
    expect(env).toEqual({ GEMINI_CLI_HOME: '/c/agent', GEMINI_CLI_NO_RELAUNCH: '1', NO_BROWSER: 'true' });
    expect(links).toEqual([
      { path: '.gemini/oauth_creds.json', from: '/home/user/.gemini/oauth_creds.json' },
      { path: '.gemini/google_accounts.json', from: '/home/user/.gemini/google_accounts.json' },
    ]);
    const moved = gemini.invocation(requestOf(gemini, { folders: { GEMINI_CLI_HOME: '/cfg' } }));
    expect(moved.links?.[0]?.from).toBe('/cfg/.gemini/oauth_creds.json');
  });

  test('where it judges the tree, the tree can set neither programs nor endpoints', () => {
    const request = requestOf(gemini, {
      access: 'read-only',
      variables: new Set(['GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL']),
      spec: specOf(gemini, { env: { NO_BROWSER: '1' } }),
    });
    expect(gemini.invocation(request).env).toEqual({
      GEMINI_CLI_HOME: '/c/agent',
      GEMINI_CLI_NO_RELAUNCH: '1',
      NO_BROWSER: '1',
      GEMINI_CLI_SYSTEM_SETTINGS_PATH: '/c/agent/system-settings.json',
      GOOGLE_VERTEX_BASE_URL: '',
      CODE_ASSIST_ENDPOINT: '',
      GEMINI_SYSTEM_MD: '',
    });
    expect(JSON.parse(fileOf(gemini, request, 'system-settings.json'))).toEqual({
      telemetry: { enabled: false },
      advanced: { ignoreLocalEnv: true },
      hooksConfig: { enabled: false },
      ide: { enabled: false },
      tools: {
        sandbox: false,
        discoveryCommand: '',
        callCommand: '',
        shell: { enableInteractiveShell: false },
      },
    });
    expect(settingsOf(request)).toMatchObject({ context: { fileName: ['GEMINI.md'] } });
    expect(settingsOf(requestOf(gemini))).toMatchObject({
      context: { fileName: ['AGENTS.md', 'GEMINI.md'] },
    });
  });

  test('refuses what would take the output or the session from us', () => {
    expect(gemini.problems(specOf(gemini, { args: ['--debug'] }))).toEqual([]);
    expect(
      gemini.problems(specOf(gemini, { args: ['-o', 'text', '--resume=latest', '-p', 'x'] })),
    ).toHaveLength(3);
    expect(gemini.problems(specOf(gemini, { command: ['gemini'] }))[0]).toContain('takes no `command`');
  });
});

describe('what gemini says', () => {
  test('an answer, with the use of all its turns; thoughts are output', () => {
    expect(outcomeOfLines(gemini, recorded(gemini, 'success'), 0)).toEqual({
      kind: 'answered',
      text: 'All done; `node --test` exit 0.',
      turns: 0,
      denied: [],
      usage: {
        inputTokens: 1_800,
        outputTokens: 50,
        costUsd: null,
        cacheReadTokens: 200,
        cacheWriteTokens: null,
      },
    });
  });

  test.each([
    ['auth', 145, 'auth'],
    ['limit', 173, 'usage-limit'],
    ['overloaded', 244, 'overloaded'],
    ['unreachable', 1, 'network'],
    ['cut', 1, 'network'],
    ['too-long', 144, 'context-overflow'],
    ['refusal', 0, 'refusal'],
    ['max-turns', 53, 'max-turns'],
    ['model', 1, 'agent-failed'],
    ['empty', 0, 'agent-failed'],
    ['denied', 0, 'answered'],
    ['retried', 0, 'answered'],
    ['quoted', 0, 'answered'],
    // Nothing in its output tells this from an answer: the return decides.
    ['truncated', 0, 'answered'],
  ])('%s, exit status %i: %s', (name, exitCode, kind) => {
    expect(kindOf(outcomeOfLines(gemini, recorded(gemini, name), exitCode))).toBe(kind);
  });

  test('a limit with the time at which it resets, and no use for a request that failed', () => {
    const now = new Date('2029-12-31T00:00:00Z');
    expect(outcomeOfLines(gemini, recorded(gemini, 'limit'), 173, { now })).toMatchObject({
      trouble: { kind: 'usage-limit', resetAt: '2030-01-01T00:00:00.000Z' },
      usage: { inputTokens: null, outputTokens: null },
    });
  });

  test('a denied tool by its name', () => {
    expect(outcomeOfLines(gemini, recorded(gemini, 'denied'), 0).denied).toEqual(['write_file']);
  });

  test('exit status 0 of a loop, of an answer that was cut, or of a signal is no success', () => {
    const error = (message: string) => `{"type":"error","severity":"warning","message":"${message}"}`;
    const result = '{"type":"result","status":"success","stats":{"total_tokens":9}}';
    const answer = '{"type":"message","role":"assistant","content":"so far","delta":true}';
    const outcome = (lines: readonly string[]) => kindOf(outcomeOfLines(gemini, lines, 0));
    expect(outcome([answer, error('Loop detected, stopping execution'), result])).toBe('agent-failed');
    expect(outcome([answer, error('Maximum session turns exceeded'), result])).toBe('max-turns');
    expect(
      outcome([error('Model response was truncated because it exceeded the token limit.'), result]),
    ).toBe('truncated');
    expect(outcome([answer])).toBe('truncated');
    expect(outcome([result])).toBe('empty');
  });

  test('what its standard error says when it could not log in', () => {
    const stderr =
      '}\n\u001B[31mManual authorization is required but the session is non-interactive.\u001B[0m\n';
    expect(outcomeOfLines(gemini, [''], 41, { stderr })).toMatchObject({
      trouble: {
        kind: 'auth',
        detail: 'Manual authorization is required but the session is non-interactive.',
      },
    });
  });

  test('the prompt, tools and odd lines are nothing', () => {
    const lines = [
      '{"type":"message","role":"user","content":"usage limit reached"}',
      '{"type":"tool_result","tool_id":"x__1","status":"error","error":{"type":"file_not_found","message":"401"}}',
      '{"type":"message","role":"assistant","content":7}',
    ];
    expect(eventsOf(gemini, lines)).toEqual([]);
    expect(() => eventsOf(gemini, ODD_LINES)).not.toThrow();
    expect(outcomeOfLines(gemini, ODD_LINES, 0).kind).not.toBe('answered');
  });
});
