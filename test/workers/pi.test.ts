import { describe, expect, test } from 'vitest';
import type { Access } from '../../orchestrator/model/pipeline.js';
import { piWorker as pi } from '../../workers/pi.js';
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

type Handler = (event: object) => Promise<unknown>;

/** What the extension answers to a call of a tool. */
const extension = async (source: string): Promise<(toolName: string, path: unknown) => Promise<unknown>> => {
  const url = `data:text/javascript,${encodeURIComponent(source)}`;
  const { default: register } = (await import(url)) as {
    readonly default: (api: { readonly on: (name: string, handler: Handler) => void }) => void;
  };
  const handlers = new Map<string, Handler>();
  register({ on: (name, handler) => handlers.set(name, handler) });
  return async (toolName, path) => handlers.get('tool_call')?.({ toolName, input: { path } });
};

describe('how pi is started', () => {
  const FIXED = [
    'pi',
    '--print',
    '--mode',
    'json',
    '--no-session',
    '--offline',
    '--no-extensions',
    '--no-skills',
    '--no-prompt-templates',
    '--no-themes',
    '--tools',
  ];
  const JUDGING = [
    '--no-context-files',
    '--system-prompt',
    '',
    '--append-system-prompt',
    '',
    '--extension',
    '/c/agent/pi/only-out.ts',
  ];

  test.each<readonly [Access, readonly string[]]>([
    ['none', ['read,edit,write', ...JUDGING]],
    ['read-only', ['read,bash,edit,write,grep,find,ls', ...JUDGING]],
    ['write', ['read,bash,edit,write,grep,find,ls']],
  ])('with access %s', (access, rest) => {
    const { argv, returns, agentKeys, files } = pi.invocation(requestOf(pi, { access }));
    expect(argv).toEqual([...FIXED, ...rest]);
    expect([returns, agentKeys]).toEqual(['file', true]);
    expect(files?.map(({ path }) => path)).toEqual(access === 'write' ? [] : ['pi/only-out.ts']);
  });

  test('with a model and further arguments last', () => {
    const spec = specOf(pi, { model: 'openai/gpt-5', args: ['--thinking', 'high'] });
    const { argv } = pi.invocation(requestOf(pi, { spec }));
    expect(argv.slice(-4)).toEqual(['--model', 'openai/gpt-5', '--thinking', 'high']);
  });

  test('its extension lets the tools that write files write results only', async () => {
    const { paths } = requestOf(pi);
    const out = '/c/o"u\\t';
    const source = fileOf(
      pi,
      requestOf(pi, { access: 'read-only', paths: { ...paths, out } }),
      'pi/only-out.ts',
    );
    expect(source).toContain(`const out = ${JSON.stringify(out)};`);
    const blocked = await extension(fileOf(pi, requestOf(pi, { access: 'read-only' }), 'pi/only-out.ts'));
    expect(await blocked('write', '/c/out/notes/a.md')).toBeUndefined();
    expect(await blocked('bash', undefined)).toBeUndefined();
    const refused = { block: true, reason: 'This worker may write files only below /c/out' };
    for (const path of [
      '/w/tree/a.js',
      'a.js',
      '/c/out/../b',
      '/c/output/b',
      '/c/out',
      '~/b',
      '@/c/out/b',
      undefined,
    ]) {
      expect(await blocked('write', path)).toEqual(refused);
      expect(await blocked('edit', path)).toEqual(refused);
    }
  });

  test('has a folder of its own, with the login, the providers and the settings of the user in it', () => {
    const { env, links } = pi.invocation(requestOf(pi));
    expect(env).toEqual({
      PI_CODING_AGENT_DIR: '/c/agent/pi',
      PI_OFFLINE: '1',
      PI_TELEMETRY: '0',
      PI_SKIP_VERSION_CHECK: '1',
    });
    expect(links).toEqual([
      { path: 'pi/auth.json', from: '/home/user/.pi/agent/auth.json' },
      { path: 'pi/models.json', from: '/home/user/.pi/agent/models.json' },
      { path: 'pi/settings.json', from: '/home/user/.pi/agent/settings.json' },
    ]);
    const moved = pi.invocation(requestOf(pi, { folders: { PI_CODING_AGENT_DIR: '/cfg' } }));
    expect(moved.links?.[0]?.from).toBe('/cfg/auth.json');
  });

  test('refuses what would take the output or the session from us', () => {
    expect(pi.problems(specOf(pi, { args: ['--thinking', 'high'] }))).toEqual([]);
    expect(pi.problems(specOf(pi, { args: ['--mode=text', '--fork', 'x'] }))).toHaveLength(2);
    expect(pi.problems(specOf(pi, { command: ['pi'] }))[0]).toContain('takes no `command`');
  });
});

describe('what pi says', () => {
  test.each(['success', 'success-1.6'])('%s: an answer, with the use of all its turns', (name) => {
    expect(outcomeOfLines(pi, recorded(pi, name), 0)).toEqual({
      kind: 'answered',
      text: 'All done; `node --test` exit 0.',
      turns: 2,
      denied: [],
      usage: {
        inputTokens: 1_800,
        outputTokens: 40,
        costUsd: 0.0019,
        cacheReadTokens: 200,
        cacheWriteTokens: 0,
      },
    });
  });

  // The exit status is 0 whatever happens.
  test.each([
    ['auth', 'auth'],
    ['auth-1.6', 'auth'],
    ['limit', 'usage-limit'],
    ['overloaded', 'overloaded'],
    ['too-long', 'context-overflow'],
    ['refusal', 'refusal'],
    ['truncated', 'truncated'],
    ['model', 'agent-failed'],
    ['empty', 'empty'],
    ['denied', 'answered'],
    ['retried', 'answered'],
    ['quoted', 'answered'],
  ])('%s: %s', (name, kind) => {
    expect(kindOf(outcomeOfLines(pi, recorded(pi, name), 0))).toBe(kind);
  });

  test('a limit with the time at which it resets, known before it stops trying', () => {
    const now = new Date('2029-12-31T00:00:00Z');
    const lines = recorded(pi, 'limit');
    const trouble = { kind: 'usage-limit', resetAt: '2030-01-01T00:00:00.000Z' };
    expect(outcomeOfLines(pi, lines, 0, { now })).toMatchObject({ trouble, turns: 4 });
    const first = lines.findIndex(
      (line) => line.startsWith('{"type":"message_end"') && line.includes('"stopReason":"error"'),
    );
    expect(outcomeOfLines(pi, lines.slice(0, first + 1), 0, { now })).toMatchObject({ trouble, turns: 1 });
  });

  test('an answer that reached the limit on tokens says so, with its use', () => {
    expect(outcomeOfLines(pi, recorded(pi, 'truncated'), 0)).toMatchObject({
      trouble: { kind: 'truncated', detail: 'the answer reached the limit on output tokens' },
      usage: { inputTokens: 100, outputTokens: 20 },
    });
  });

  test('unknown use and an unknown price are nothing, not 0', () => {
    const answer = (usage: object) =>
      JSON.stringify({
        type: 'message_end',
        message: { role: 'assistant', content: [{ type: 'text', text: 'a' }], stopReason: 'stop', usage },
      });
    const use = (usage: object) => outcomeOfLines(pi, [answer(usage)], 0).usage;
    expect(use({ input: 5, output: 2, cacheRead: 0, cacheWrite: 0, cost: { total: 0 } })).toEqual({
      inputTokens: 5,
      outputTokens: 2,
      costUsd: null,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    });
    expect(
      use({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: { total: 0 } }).inputTokens,
    ).toBeNull();
    expect(use({}).outputTokens).toBeNull();
  });

  test('a denied tool by its name, and only by words of ours', () => {
    expect(outcomeOfLines(pi, recorded(pi, 'denied'), 0).denied).toEqual(['write']);
    const end = (toolName: string, text: string, isError = true) =>
      JSON.stringify({
        type: 'tool_execution_end',
        toolName,
        isError,
        result: { content: [{ type: 'text', text }] },
      });
    const words = 'This worker may write files only below /c/out';
    expect(
      eventsOf(pi, [end('bash', words), end('write', words, false), end('edit', 'no such file')]),
    ).toEqual([]);
    expect(eventsOf(pi, [end('edit', words)])).toEqual([{ kind: 'denied', tool: 'edit' }]);
  });

  test('no answer where the exit status contradicts it or the last message is missing', () => {
    const lines = recorded(pi, 'success');
    expect(kindOf(outcomeOfLines(pi, lines, 1))).toBe('agent-failed');
    expect(kindOf(outcomeOfLines(pi, lines, undefined))).toBe('agent-failed');
    const last = lines.findLastIndex((line) => line.startsWith('{"type":"message_end"'));
    expect(kindOf(outcomeOfLines(pi, lines.slice(0, last), 0))).toBe('empty');
  });

  test('what its standard error says when nobody is logged in', () => {
    const stderr = 'No API key found for the selected model.\n\nUse /login to log into a provider.\n';
    expect(kindOf(outcomeOfLines(pi, ['{"type":"session","version":3}'], 1, { stderr }))).toBe('auth');
  });

  test('lines that repeat the session are not even parsed, and odd lines are nothing', () => {
    const session = `{"type":"agent_end","messages":[{"role":"assistant","stopReason":"stop"`;
    expect(eventsOf(pi, [session, '{"type":"message_update","message":{}}', '{"type":"turn_end"}'])).toEqual(
      [],
    );
    expect(() => eventsOf(pi, ODD_LINES)).not.toThrow();
    expect(outcomeOfLines(pi, ODD_LINES, 0).kind).not.toBe('answered');
  });
});
