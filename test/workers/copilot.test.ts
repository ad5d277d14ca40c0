import { describe, expect, test } from 'vitest';
import type { Access } from '../../orchestrator/model/pipeline.js';
import { copilotWorker as copilot } from '../../workers/copilot.js';
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

describe('how copilot is started', () => {
  const FIXED = [
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
    '--allow-all-paths',
  ];
  // One `*` a name: what `**` stands for leads out again.
  const JUDGING = [
    '--allow-tool=write(/c/out/*)',
    '--allow-tool=write(/c/out/notes/*)',
    '--no-custom-instructions',
  ];

  test.each<readonly [Access, readonly string[]]>([
    ['none', JUDGING],
    ['read-only', ['--allow-tool=shell', ...JUDGING]],
    ['write', ['--allow-all-tools']],
  ])('with access %s', (access, rest) => {
    const { argv, returns, agentKeys } = copilot.invocation(requestOf(copilot, { access }));
    expect(argv).toEqual([...FIXED, ...rest]);
    expect([returns, agentKeys]).toEqual(['file', true]);
  });

  test('with a model and further arguments last', () => {
    const spec = specOf(copilot, { model: 'gpt-5.4', args: ['--reasoning-effort', 'high'] });
    const { argv } = copilot.invocation(requestOf(copilot, { spec }));
    expect(argv.slice(-4)).toEqual(['--model', 'gpt-5.4', '--reasoning-effort', 'high']);
  });

  test('has a folder of its own, without updates, hooks and memory, with the login of the user in it', () => {
    const request = requestOf(copilot);
    const { env, links } = copilot.invocation(request);
    expect(env).toEqual({ COPILOT_HOME: '/c/agent/copilot', COPILOT_AUTO_UPDATE: 'false' });
    expect(JSON.parse(fileOf(copilot, request, 'copilot/settings.json'))).toEqual({
      autoUpdate: false,
      disableAllHooks: true,
      memory: false,
    });
    expect(links).toEqual([
      { path: 'copilot/config.json', from: '/home/user/.copilot/config.json' },
      { path: 'users/cache', from: '/home/user/.cache/copilot' },
    ]);
    const moved = copilot.invocation(requestOf(copilot, { folders: { COPILOT_HOME: '/cfg' } }));
    expect(moved.links?.[0]?.from).toBe('/cfg/config.json');
  });

  test('refuses what would take the output or the session from us', () => {
    expect(copilot.problems(specOf(copilot, { args: ['--agent', 'x'] }))).toEqual([]);
    expect(
      copilot.problems(specOf(copilot, { args: ['-s', '--resume=x', '--output-format=text'] })),
    ).toHaveLength(3);
    expect(copilot.problems(specOf(copilot, { command: ['copilot'] }))[0]).toContain('takes no `command`');
  });
});

describe('what copilot says', () => {
  test('an answer; of its use it says nothing', () => {
    expect(outcomeOfLines(copilot, recorded(copilot, 'success'), 0)).toEqual({
      kind: 'answered',
      text: 'All done; `node --test` exit 0.',
      turns: 2,
      denied: [],
      usage: {
        inputTokens: null,
        outputTokens: null,
        costUsd: null,
        cacheReadTokens: null,
        cacheWriteTokens: null,
      },
    });
  });

  test.each([
    ['auth', 1, 'auth'],
    ['limit', 1, 'usage-limit'],
    ['overloaded', 1, 'overloaded'],
    ['unreachable', 1, 'network'],
    ['cut', 1, 'network'],
    ['too-long', 1, 'context-overflow'],
    // By its own count, before the provider is asked.
    ['too-long-here', 1, 'context-overflow'],
    ['model', 1, 'agent-failed'],
    ['empty', 1, 'agent-failed'],
    ['denied', 0, 'answered'],
    ['denied-shell', 0, 'answered'],
    ['retried', 0, 'answered'],
    ['quoted', 0, 'answered'],
    // Nothing but words tells these from an answer: the return decides.
    ['refusal', 0, 'answered'],
    ['truncated', 0, 'answered'],
  ])('%s, exit status %i: %s', (name, exitCode, kind) => {
    expect(kindOf(outcomeOfLines(copilot, recorded(copilot, name), exitCode))).toBe(kind);
  });

  test('a limit with the time at which it resets', () => {
    const now = new Date('2029-12-31T00:00:00Z');
    expect(outcomeOfLines(copilot, recorded(copilot, 'limit'), 1, { now })).toMatchObject({
      trouble: { kind: 'usage-limit', resetAt: '2030-01-01T00:00:00.000Z' },
    });
  });

  test('denied tools by name', () => {
    expect(outcomeOfLines(copilot, recorded(copilot, 'denied'), 0).denied).toEqual(['create']);
    expect(outcomeOfLines(copilot, recorded(copilot, 'denied-shell'), 0).denied).toEqual(['shell']);
  });

  test('no answer where the exit status, the last word or the output contradicts it', () => {
    const lines = recorded(copilot, 'success');
    // Its last word is that all went well when it was ended, too.
    expect(kindOf(outcomeOfLines(copilot, lines, 143))).toBe('agent-failed');
    expect(kindOf(outcomeOfLines(copilot, lines, undefined))).toBe('agent-failed');
    const result = lines.findLastIndex((line) => line.startsWith('{"type":"result"'));
    expect(kindOf(outcomeOfLines(copilot, lines.slice(0, result), 0))).toBe('truncated');
    const failed = lines.map((line) => line.replace('"exitCode":0', '"exitCode":1'));
    expect(kindOf(outcomeOfLines(copilot, failed, 0))).toBe('agent-failed');
  });

  test('what its standard error says when nobody is logged in', () => {
    const stderr =
      "Error: No authentication information found.\n\nTo authenticate:\n  • Run 'gh auth login'\n";
    expect(outcomeOfLines(copilot, [''], 1, { stderr })).toMatchObject({ trouble: { kind: 'auth' } });
    expect(kindOf(outcomeOfLines(copilot, [''], 1, { stderr: 'a bug' }))).toBe('agent-failed');
  });

  test('other agents inside it and odd lines are nothing', () => {
    const lines = [
      '{"type":"assistant.message","agentId":"a","data":{"content":"sub"}}',
      '{"type":"session.info","data":{"message":"usage limit reached"}}',
      '{"type":"tool.execution_complete","data":{"success":false,"error":{"code":"failure","message":"401"}}}',
      '{"type":"constructor","data":{}}',
    ];
    expect(eventsOf(copilot, lines)).toEqual([]);
    expect(() => eventsOf(copilot, ODD_LINES)).not.toThrow();
    expect(outcomeOfLines(copilot, ODD_LINES, 0).kind).not.toBe('answered');
  });
});
