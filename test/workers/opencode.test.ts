import { describe, expect, test } from 'vitest';
import type { Access } from '../../orchestrator/model/pipeline.js';
import { opencodeWorker as opencode } from '../../workers/opencode.js';
import type { WorkerRequest } from '../../workers/worker.js';
import {
  ODD_LINES,
  eventsOf,
  kindOf,
  outcomeOfLines,
  recorded,
  requestOf,
  specOf,
} from '../helpers/agent-transcripts.js';

const configOf = (request: WorkerRequest): unknown =>
  JSON.parse(opencode.invocation(request).env['OPENCODE_CONFIG_CONTENT'] ?? '');

const OWN = { '*': 'deny', external_directory: 'allow', read: 'allow' };
const WORK = { ...OWN, glob: 'allow', grep: 'allow', list: 'allow', todowrite: 'allow', bash: 'allow' };
const RESULTS = { '*': 'deny', '../../out/*': 'allow' };

describe('how opencode is started', () => {
  test.each<readonly [Access, string]>([
    ['none', '/c/agent/start'],
    ['read-only', '/c/agent/start'],
    ['write', '/w/tree'],
  ])('with access %s in %s', (access, folder) => {
    const { argv, returns, agentKeys } = opencode.invocation(requestOf(opencode, { access }));
    expect(argv).toEqual(['opencode', 'run', '--format', 'json', '--title', 'worker', '--dir', folder]);
    expect([returns, agentKeys]).toEqual(['file', true]);
  });

  test('with a model and further arguments last', () => {
    const spec = specOf(opencode, { model: 'openai/gpt-5', args: ['--variant', 'high'] });
    const { argv } = opencode.invocation(requestOf(opencode, { spec }));
    expect(argv.slice(-4)).toEqual(['--model', 'openai/gpt-5', '--variant', 'high']);
  });

  test.each<readonly [Access, object, string]>([
    ['none', { ...OWN, edit: RESULTS }, '/c/agent/start/worker.md'],
    ['read-only', { ...WORK, edit: RESULTS }, '/c/agent/start/worker.md'],
    ['write', { ...WORK, edit: 'allow' }, '/w/tree/AGENTS.md'],
  ])('may do no more than access %s says, and asks for nothing', (access, permission, instructions) => {
    expect(configOf(requestOf(opencode, { access }))).toEqual({
      autoupdate: false,
      share: 'disabled',
      snapshot: false,
      permission,
      instructions: [instructions],
    });
  });

  test('where it judges the tree it starts in an empty repository, and is told where the tree is', () => {
    const { files } = opencode.invocation(requestOf(opencode, { access: 'read-only' }));
    expect(files).toEqual([
      { path: 'start/.git/HEAD', text: 'ref: refs/heads/main\n' },
      { path: 'start/.git/objects/.keep', text: '' },
      { path: 'start/.git/refs/.keep', text: '' },
      {
        path: 'start/worker.md',
        text: 'You start in an empty folder. Your tree is /w/tree: name it in full, and run commands there.\n',
      },
    ]);
    expect(opencode.invocation(requestOf(opencode)).files).toEqual([]);
  });

  test('has a session of its own; home, login and providers stay where the user has them', () => {
    const spec = specOf(opencode, { env: { OPENCODE_PURE: '0' } });
    const { env, links } = opencode.invocation(requestOf(opencode, { spec }));
    expect({ ...env, OPENCODE_CONFIG_CONTENT: '' }).toEqual({
      OPENCODE_CONFIG_CONTENT: '',
      OPENCODE_DB: '/c/agent/opencode.db',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_PROJECT_CONFIG: '1',
      OPENCODE_DISABLE_CLAUDE_CODE: '1',
      OPENCODE_DISABLE_EXTERNAL_SKILLS: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_PURE: '0',
    });
    expect(links?.map(({ from }) => from)).toEqual([
      '/home/user/.local/share/opencode/auth.json',
      '/home/user/.config/opencode/opencode.json',
      '/home/user/.config/opencode/opencode.jsonc',
      '/home/user/.config/opencode/config.json',
    ]);
    const moved = opencode.invocation(requestOf(opencode, { folders: { XDG_DATA_HOME: '/data' } }));
    expect(moved.links?.[0]?.from).toBe('/data/opencode/auth.json');
  });

  test('refuses what would take the output or the session from us', () => {
    expect(opencode.problems(specOf(opencode, { args: ['--variant', 'high'] }))).toEqual([]);
    expect(
      opencode.problems(specOf(opencode, { args: ['--format=default', '-c', '--dir', '/x'] })),
    ).toHaveLength(3);
    expect(opencode.problems(specOf(opencode, { command: ['opencode'] }))[0]).toContain('takes no `command`');
  });
});

describe('what opencode says', () => {
  test('an answer, with the use of all its steps; reasoning is output', () => {
    expect(outcomeOfLines(opencode, recorded(opencode, 'success'), 0)).toEqual({
      kind: 'answered',
      text: 'All done; `node --test` exit 0.',
      turns: 2,
      denied: [],
      usage: {
        inputTokens: 1_800,
        outputTokens: 40,
        costUsd: 0.00188,
        cacheReadTokens: 200,
        cacheWriteTokens: 0,
      },
    });
  });

  test.each([
    ['auth', 1, 'auth'],
    ['limit', 1, 'usage-limit'],
    ['overloaded', 1, 'overloaded'],
    ['refusal', 1, 'refusal'],
    ['truncated', 0, 'truncated'],
    ['model', 1, 'agent-failed'],
    ['empty', 0, 'empty'],
    ['rejected', 0, 'permission-denied'],
    ['denied', 0, 'answered'],
    ['retried', 0, 'answered'],
    ['quoted', 0, 'answered'],
  ])('%s, exit status %i: %s', (name, exitCode, kind) => {
    expect(kindOf(outcomeOfLines(opencode, recorded(opencode, name), exitCode))).toBe(kind);
  });

  test('a limit with the time at which it resets', () => {
    const now = new Date('2029-12-31T00:00:00Z');
    expect(outcomeOfLines(opencode, recorded(opencode, 'limit'), 1, { now })).toMatchObject({
      trouble: { kind: 'usage-limit', resetAt: '2030-01-01T00:00:00.000Z' },
      usage: { inputTokens: null },
    });
  });

  test('a session that is too long is summarised: it has not ended, and the summary is no answer', () => {
    const lines = recorded(opencode, 'too-long');
    const error = (line: string) => line.includes('ContextOverflowError');
    const second = lines.findIndex((line, index) => index > 0 && error(line));
    expect(
      eventsOf(opencode, lines.slice(0, second + 1)).every(
        (event) => event.kind !== 'trouble' || !event.final,
      ),
    ).toBe(true);
    expect(kindOf(outcomeOfLines(opencode, lines.slice(0, 1), undefined))).toBe('context-overflow');
    expect(kindOf(outcomeOfLines(opencode, lines.slice(0, second + 1), undefined))).toBe('context-overflow');
    // Between the summary and what follows it there may be minutes: its last word is taken back at once.
    const goesOn = lines.findIndex((line) => line.includes('"synthetic":true'));
    expect(goesOn).toBeGreaterThan(0);
    expect(kindOf(outcomeOfLines(opencode, lines.slice(1, goesOn), 0))).toBe('answered');
    expect(kindOf(outcomeOfLines(opencode, lines.slice(1, goesOn + 1), 0))).toBe('empty');
  });

  test('why the model stopped', () => {
    expect(outcomeOfLines(opencode, recorded(opencode, 'truncated'), 0)).toMatchObject({
      trouble: { kind: 'truncated', detail: 'the model stopped: length' },
      usage: { inputTokens: 100 },
    });
  });

  test('denied tools by name', () => {
    expect(outcomeOfLines(opencode, recorded(opencode, 'denied'), 0).denied).toEqual(['write']);
    expect(outcomeOfLines(opencode, recorded(opencode, 'rejected'), 0).denied).toEqual(['bash']);
  });

  test('an error by its name, its status or the words of the provider', () => {
    const kind = (error: object) =>
      kindOf(outcomeOfLines(opencode, [JSON.stringify({ type: 'error', error })], 1));
    expect(kind({ name: 'ProviderAuthError', data: { message: 'x' } })).toBe('auth');
    expect(kind({ name: 'MessageOutputLengthError', data: {} })).toBe('truncated');
    expect(kind({ name: 'APIError', data: { message: 'x', statusCode: 503 } })).toBe('overloaded');
    const responseBody = '{"error":{"code":"insufficient_quota","message":"x"}}';
    expect(kind({ name: 'APIError', data: { message: 'x', statusCode: 429, responseBody } })).toBe(
      'usage-limit',
    );
    expect(kind({ name: 'constructor' })).toBe('agent-failed');
    expect(kind({})).toBe('agent-failed');
  });

  test('no answer where the exit status contradicts it or the last step is missing', () => {
    const lines = recorded(opencode, 'success');
    expect(kindOf(outcomeOfLines(opencode, lines, 1))).toBe('agent-failed');
    expect(kindOf(outcomeOfLines(opencode, lines, undefined))).toBe('agent-failed');
    const last = lines.findLastIndex((line) => line.includes('"step_finish"'));
    expect(kindOf(outcomeOfLines(opencode, lines.slice(0, last), 0))).toBe('truncated');
  });

  test('a model without a price costs what nobody knows', () => {
    const step = {
      type: 'step-finish',
      reason: 'stop',
      cost: 0,
      tokens: { input: 5, output: 2, reasoning: 1 },
    };
    const lines = [JSON.stringify({ type: 'step_finish', part: step })];
    expect(outcomeOfLines(opencode, lines, 0).usage).toEqual({
      inputTokens: 5,
      outputTokens: 3,
      costUsd: null,
      cacheReadTokens: null,
      cacheWriteTokens: null,
    });
  });

  test('odd lines neither throw nor become an answer', () => {
    expect(() => eventsOf(opencode, ODD_LINES)).not.toThrow();
    expect(outcomeOfLines(opencode, ODD_LINES, 0).kind).not.toBe('answered');
    const odd = [
      '{"type":"text","part":7}',
      '{"type":"step_finish","part":{"reason":{}}}',
      '{"type":"tool_use"}',
    ];
    expect(() => eventsOf(opencode, odd)).not.toThrow();
  });
});
