/** Which agent is taken, and what follows from how it ends. The programs speak as the recorded transcripts of the real ones do. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRig, initRepository, type Rig } from '../helpers/rig.js';

const OK = '{"status":"no-change","summary":["looked"]}';

/** A program that answers as Claude Code does. @param body shell commands before its last line, `$0.result` by default a success */
const claude = (body = '', result = claudeResult()): string => `#!/bin/sh
cat > /dev/null
# Not every agent can make the folder of its notes.
ls -A "$ORCHESTRATE_OUT/notes" > "$ORCHESTRATE_OUT/argv" || exit 9
echo "$@" > "$ORCHESTRATE_OUT/argv"
${body}
printf '%s\\n' '${result}'
`;

const claudeResult = (more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: 'ok',
    structured_output: JSON.parse(OK) as unknown,
    total_cost_usd: 0.75,
    modelUsage: {
      m: {
        inputTokens: 100,
        outputTokens: 20,
        cacheReadInputTokens: 1_000,
        cacheCreationInputTokens: 0,
        costUSD: 0.75,
      },
    },
    ...more,
  });

const failed = (message: string, status: number): string =>
  claudeResult({
    is_error: true,
    result: message,
    structured_output: undefined,
    api_error_status: status,
    terminal_reason: 'api_error',
  });

/** One that answers as Codex does. */
const codex = (lines: readonly unknown[] = []): string => `#!/bin/sh
cat > /dev/null
echo "$@" > "$ORCHESTRATE_OUT/argv"
cat <<'END'
${[{ type: 'thread.started' }, { type: 'turn.started' }, ...lines].map((line) => JSON.stringify(line)).join('\n')}
END
`;

const CODEX_OK = codex([
  { type: 'item.completed', item: { type: 'agent_message', text: OK } },
  { type: 'turn.completed', usage: { input_tokens: 300, cached_input_tokens: 200, output_tokens: 10 } },
]);

const codexFails = (message: string): string =>
  codex([
    { type: 'error', message },
    { type: 'turn.failed', error: { message } },
  ]).concat('exit 1\n');

const LOGGED_IN = { ANTHROPIC_API_KEY: 'sk-a', CODEX_API_KEY: 'sk-c' };

interface Team {
  readonly workers: string;
  readonly targets?: string;
  readonly settings?: string;
}

const prepare = (rig: Rig, { workers, targets, settings = '' }: Team): void =>
  initRepository(
    rig,
    {
      'a.txt': 'one\n',
      'tickets/1.md': '---\ntitle: Look\n---\nLook at it.\n',
      'targets.yaml': `name: agents
sandbox: off
${settings}
workers:
${workers}
targets:
  ticket: { builtin: ticket }
${targets ?? '  look: { needs: [ticket], worker: w, makes: notes }'}
`,
    },
    { remote: false },
  );

const run = (rig: Rig, env: Readonly<Record<string, string | undefined>> = LOGGED_IN, ...more: string[]) =>
  rig.run(['run', '--ticket', '1', ...more], { env });

const started = (rig: Rig, target = 'look') =>
  rig.events('1').filter((event) => event.type === 'target.started' && event.target === target);

const agentsTaken = (rig: Rig, target?: string): string[] =>
  started(rig, target).map((event) => {
    const { name, why } = event['agent'] as { readonly name: string; readonly why: string };
    return `${name}: ${why}`;
  });

test('auto takes the first that is installed and logged in, and says which and why', async () => {
  const rig = createRig();
  prepare(rig, { workers: '  w: { adapter: auto }' });
  const path = `${join(rig.dir, 'bin')}:/usr/bin:/bin`;
  const none = await rig.run(['run', '--ticket', '1'], { env: { PATH: path } });
  expect(none.code).toBe(2);
  expect(none.stderr).toMatch(
    /no agent can be started: claude is not installed; codex is not installed;[\s\S]*orchestrate doctor/,
  );
  rig.program('claude', claude());
  rig.program('codex', CODEX_OK);
  const loggedOut = await rig.run(['run', '--ticket', '1'], { env: { PATH: path } });
  expect(loggedOut.stderr).toMatch(/claude is not logged in \(`claude auth login`\)/);
  expect(rig.has('.orchestrate')).toBe(false);
  const ended = await rig.run(['run', '--ticket', '1'], { env: { PATH: path, CODEX_API_KEY: 'sk-c' } });
  expect(ended.code, ended.stderr).toBe(0);
  expect(agentsTaken(rig)).toEqual([
    'codex: logged in by $CODEX_API_KEY; claude is not logged in (`claude auth login`)',
  ]);
  expect(ended.stdout).toContain('codex: logged in by $CODEX_API_KEY');
});

test('a worker that is to be unlike another one is of another model family where there is one', async () => {
  const rig = createRig();
  rig.program('claude', claude());
  rig.program('codex', CODEX_OK);
  prepare(rig, {
    workers: '  w: { adapter: auto }\n  v: { adapter: auto, unlike: w }',
    targets:
      '  look: { needs: [ticket], worker: w, makes: notes }\n  judge: { needs: [look], worker: v, makes: notes }',
  });
  const ended = await run(rig);
  expect(ended.code, ended.stderr).toBe(0);
  expect(agentsTaken(rig)[0]).toMatch(/^claude: /);
  expect(agentsTaken(rig, 'judge')[0]).toMatch(/^codex: .*another model family than w/);
  rmSync(join(rig.dir, 'bin', 'codex'));
  const alone = await run(rig, LOGGED_IN, '--rebuild', 'look');
  expect(alone.code, alone.stderr).toBe(0);
  expect(agentsTaken(rig, 'judge')[0]).toMatch(
    /^claude: .*the same model family as w, because no other agent is ready/,
  );
});

test('a chain goes on with the next agent when one is at its limit; without a chain the run pauses until the reset', async () => {
  const rig = createRig();
  rig.program('codex', codexFails("You've hit your usage limit. Try again in 2 hours 5 minutes."));
  rig.program('claude', claude());
  prepare(rig, { workers: '  w: { adapter: auto, agents: [codex, claude] }' });
  const ended = await run(rig);
  expect(ended.code, ended.stderr).toBe(0);
  expect(agentsTaken(rig).map((text) => text.split(':')[0])).toEqual(['codex', 'claude']);
  rig.write({
    'targets.yaml': rig
      .read('targets.yaml')
      .replace('adapter: auto, agents: [codex, claude]', 'adapter: codex'),
  });
  const before = Date.now();
  const paused = await run(rig);
  expect(paused.code).toBe(6);
  const until = Date.parse(String(rig.events('1').at(-1)?.['until']));
  expect(until - before).toBeGreaterThan(2 * 3_600_000);
  expect(until - before).toBeLessThan(2.2 * 3_600_000);
  expect(paused.stdout).toContain(`paused until ${new Date(until).toISOString()}`);
});

test('with --wait a limit is slept through until it resets', async () => {
  const rig = createRig();
  const limit = failed('Claude AI usage limit reached|RESETS', 429).replace(
    'RESETS',
    `'$(($(date +%s) + 2))'`,
  );
  rig.program(
    'claude',
    claude(
      `[ -e "$ORCHESTRATE_TREE/../seen" ] || { touch "$ORCHESTRATE_TREE/../seen"; printf '%s\\n' '${limit}'; exit 1; }`,
    ),
  );
  prepare(rig, { workers: '  w: { adapter: claude }' });
  const ended = await run(rig, LOGGED_IN, '--wait');
  expect(ended.code, `${ended.stdout}${ended.stderr}`).toBe(0);
  expect(ended.stderr).toMatch(/paused until .*; waiting/);
  const [paused, again] = [rig.events('1').find(({ type }) => type === 'target.paused'), started(rig)[1]];
  expect(paused).toBeDefined();
  expect(again).toBeDefined();
});

test('a login that does not hold stops at once, with the command', async () => {
  const rig = createRig();
  rig.program('claude', claude('', failed('Invalid API key · Please run /login', 401)).concat('exit 1\n'));
  prepare(rig, { workers: '  w: { adapter: claude }' });
  const ended = await run(rig);
  expect(ended.code).toBe(1);
  expect(ended.stderr).toMatch(/not logged in: .*Invalid API key[\s\S]*next: .*log in/);
  expect(started(rig)).toHaveLength(1);
});

test('a return that is not valid is asked for once more, of a new agent that is told so; the second one fails the target', async () => {
  const rig = createRig();
  const bad = claudeResult({ structured_output: { status: 'finished', summary: [] } });
  rig.program('claude', claude('', bad));
  prepare(rig, {
    workers: '  w: { adapter: claude }',
    targets: '  look: { needs: [ticket], worker: w, makes: notes, attempts: 1 }',
  });
  const ended = await run(rig);
  expect(ended.code).toBe(1);
  expect(started(rig)).toHaveLength(2);
  expect(rig.read('.orchestrate/1/children/01-look.2/prompt.md')).toMatch(
    /^\| what it returned is not valid: `status`/m,
  );
});

test('usage is kept a child, a target and a ticket, cached tokens apart, and a budget stops before the next fork', async () => {
  const rig = createRig();
  rig.program('claude', claude());
  rig.program('codex', CODEX_OK);
  prepare(rig, {
    settings: 'budget: { costUsd: 1 }',
    workers: '  w: { adapter: claude }\n  v: { adapter: codex }',
    targets: `  look: { needs: [ticket], worker: w, makes: notes }
  second: { needs: [look], worker: v, makes: notes }
  third: { needs: [second], worker: w, makes: notes }
  fourth: { needs: [third], worker: v, makes: notes }`,
  });
  const ended = await run(rig);
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain('the budget of this ticket is used up: $1.50 of $1.00');
  const status = await rig.run(['status', '--ticket', '1', '--json']);
  const view = JSON.parse(status.stdout) as {
    readonly usage: unknown;
    readonly targets: readonly { readonly name: string; readonly usage: unknown }[];
  };
  expect(view.usage).toEqual({
    inputTokens: 300,
    outputTokens: 50,
    costUsd: 1.5,
    cacheReadTokens: 2_200,
    cacheWriteTokens: 0,
  });
  expect(view.targets.find(({ name }) => name === 'second')?.usage).toEqual({
    inputTokens: 100,
    outputTokens: 10,
    costUsd: null,
    cacheReadTokens: 200,
    cacheWriteTokens: null,
  });
  expect((await rig.run(['status', '--ticket', '1'])).stdout).toMatch(
    /workers used 350 tokens \+ 2200 cached \$1\.50/,
  );
});

test('an agent that stays after its last word is ended, one that is past its turns too, and neither leaves anything behind', async () => {
  const rig = createRig();
  rig.program(
    'claude',
    `${claude()}exec 3>&1\nread never < "$ORCHESTRATE_OUT/../never" || tail -f /dev/null\n`,
  );
  const turn = JSON.stringify({
    type: 'assistant',
    message: { id: 'ID', content: [{ type: 'text', text: 'on' }] },
  });
  rig.program(
    'codex',
    `#!/bin/sh\ncat > /dev/null\nfor id in 1 2 3 4 5; do printf '%s\\n' '${JSON.stringify({ type: 'item.completed', item: { type: 'command_execution', status: 'completed' } })}'; done\ntail -f /dev/null\n`,
  );
  expect(turn).toContain('assistant');
  prepare(rig, {
    settings: 'limits: { idle: 20s, grace: 300ms }',
    workers: '  w: { adapter: claude }\n  v: { adapter: codex, maxTurns: 3 }',
    targets: `  look: { needs: [ticket], worker: w, makes: notes }
  spin: { needs: [look], worker: v, makes: notes, attempts: 1 }`,
  });
  const ended = await run(rig);
  expect(ended.code).toBe(1);
  const ends = rig
    .events('1')
    .filter(({ type }) => type === 'child.ended')
    .map((event) => event['end']);
  expect(ends).toEqual([{ kind: 'finished' }, { kind: 'max-turns', detail: 'more than 3 turns' }]);
  expect(rig.processes()).toEqual([]);
});

test('doctor says what is here, what is missing, and how to mend it, without asking a model', async () => {
  const rig = createRig();
  rig.program(
    'claude',
    '#!/bin/sh\ncase "$1" in --version) echo "2.1.332 (Claude Code)";; *) echo "--json-schema --setting-sources --strict-mcp-config --tools dontAsk";; esac\n',
  );
  rig.program('codex', '#!/bin/sh\necho "codex-cli 0.1.0"\n');
  const env = { PATH: `${join(rig.dir, 'bin')}:/usr/bin:/bin`, ANTHROPIC_API_KEY: 'sk-a' };
  const text = await rig.run(['doctor'], { cwd: rig.dir, env });
  expect(text.code, text.stdout).toBe(0);
  expect(text.stdout).toMatch(/^✓ claude +2\.1\.332, .*, logged in by \$ANTHROPIC_API_KEY$/m);
  expect(text.stdout).toMatch(/^✗ codex +0\.1\.0, .*its help does not know .*\n +fix: update it: /m);
  expect(text.stdout).toMatch(/^· gemini +not on your PATH\n +fix: npm install/m);
  expect(text.stdout).toMatch(/^✓ identity +Ada Lovelace <ada@example\.com>$/m);
  const json = await rig.run(['doctor', '--json'], { cwd: rig.dir, env: { ...env, HOME: rig.dir } });
  expect(json.code).toBe(1);
  const { healthy, findings } = JSON.parse(json.stdout) as {
    readonly healthy: boolean;
    readonly findings: readonly { readonly name: string; readonly state: string; readonly fix?: string }[];
  };
  expect(healthy).toBe(false);
  expect(findings.find(({ name }) => name === 'identity')).toMatchObject({
    state: 'problem',
    fix: expect.stringContaining('user.name'),
  });
  expect(findings.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'node',
      'git',
      'sandbox',
      'forge',
      'disk',
      'claude',
      'codex',
      'gemini',
      'opencode',
      'pi',
      'qwen',
      'copilot',
    ]),
  );
});
