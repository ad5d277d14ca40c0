import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { critic, initWithAgents, REJECT } from '../helpers/fake-agents.js';
import {
  createRig,
  contents,
  initRepository,
  makeGate,
  until,
  type Ended,
  type Rig,
} from '../helpers/rig.js';

const json = ({ stdout }: Ended): unknown => JSON.parse(stdout);

const NAMES = [
  'read-init-d',
  'ticket',
  'approved-plan',
  'implementation-diff',
  'adversarial-review',
  'commit',
  'push',
  'land',
  'post-mortem',
];

/** A ticket that went through two rounds and landed, with a directive that nobody has read; looking changes nothing. */
let shipped: Rig;
const ends: (() => void)[] = [];

beforeAll(async () => {
  const rig = createRig((end) => ends.push(end));
  initWithAgents(rig, {
    critic: critic(
      `if (process.env.ORCHESTRATE_ROUND === '1') { ${REJECT} } returned.usage = { inputTokens: 1200, outputTokens: 34, costUsd: 0.5 }; console.log('read all'); console.error('careful');`,
    ),
  });
  expect((await rig.run(['run', '320'])).code).toBe(0);
  expect((await rig.run(['tell', '320', 'mind the gap'])).code).toBe(0);
  shipped = rig;
});

afterAll(() => {
  for (const end of ends) end();
});

test('every command that looks prints one JSON document with --json, plain text without, and changes nothing', async () => {
  const rig = shipped;
  const before = contents(rig.repo);
  const commands = [
    ['status'],
    ['status', '320'],
    ['boot', '320'],
    ['logs', '320', 'adversarial-review'],
    ['explain', '320'],
    ['explain', '320', 'commit'],
    ['graph'],
    ['graph', '320'],
    ['validate'],
    ['run', '320', '--dry-run'],
  ];
  for (const args of commands) {
    const text = await rig.run(args, { env: { TERM: 'xterm', FORCE_COLOR: '1' } });
    expect({ args, code: text.code }).toEqual({ args, code: 0 });
    expect(text.stdout).not.toBe('');
    expect(`${text.stdout}${text.stderr}`).not.toMatch(/\u001B/);
    const machine = await rig.run([...args, '--json']);
    expect({ args, code: machine.code }).toEqual({ args, code: 0 });
    expect(typeof json(machine)).toBe('object');
  }
  expect(contents(rig.repo)).toEqual(before);
});

test('status tells target by target what CLI.md promises; what no worker reported is null, never 0', async () => {
  const rig = shipped;
  const view = json(await rig.run(['status', '--ticket', '320', '--json'])) as {
    readonly targets: readonly Record<string, unknown>[];
    readonly context: Record<string, unknown>;
  };
  expect(view).toMatchObject({
    ticket: '320',
    pipeline: 'own',
    state: 'done',
    epoch: 1,
    base: rig.git('rev-parse', 'main'),
    waitingFor: null,
  });
  expect((view as unknown as { readonly tree: string }).tree).toBe(
    rig.git('rev-parse', 'orchestrate/320^{tree}'),
  );
  expect(view.targets.map(({ number, name, status }) => [number, name, status])).toEqual(
    NAMES.map((name, number) => [number, name, 'done']),
  );
  expect(view.targets[4]).toMatchObject({
    phase: 'gated',
    attempt: 2,
    summary: ['judged'],
    // Of both attempts.
    usage: { inputTokens: 2_400, outputTokens: 68, costUsd: 1 },
    child: null,
  });
  expect(view.targets[3]).toMatchObject({
    attempt: 2,
    usage: {
      inputTokens: null,
      outputTokens: null,
      costUsd: null,
      cacheReadTokens: null,
      cacheWriteTokens: null,
    },
  });
  expect(view.targets[3]?.['elapsedMs']).toBeGreaterThan(0);
  expect(view.context).toMatchObject({ forks: 6, workerTokens: 2 * 1234 });
  expect(view.context['bootTokens']).toBeGreaterThan(0);
  expect(view.context['bootTokens']).toBeLessThan(1_800);

  const text = (await rig.run(['status', '320'])).stdout;
  for (const name of NAMES) expect(text).toContain(name);
  expect(text).toMatch(/adversarial-review +done, gates passed +attempt 2 .* 2468 tokens \$1\.00 +judged/);
  expect((await rig.run(['status'])).stdout).toBe('320  done  9/9 targets  own\n');
});

test('boot prints the five documents from 00 to 99, then what no boot has read, and counts the tokens', async () => {
  const rig = shipped;
  const { stdout } = await rig.run(['boot', '320']);
  const headings = [...stdout.matchAll(/^==> (\S+)( \(unread\))? <==$/gm)].map(([line]) => line);
  expect(headings).toEqual([
    '==> 00_governance.md <==',
    '==> 10_ticket.md <==',
    '==> 20_plan_approved.md <==',
    '==> 30_critic_summary.md <==',
    '==> 99_next_action.md <==',
    '==> inbox/0001.md (unread) <==',
  ]);
  expect(stdout).toMatch(/mind the gap\n\n≈ \d+ tokens in 5 documents, 1 unread directives\n$/);
  const view = json(await rig.run(['boot', '320', '--json'])) as {
    readonly documents: readonly { readonly name: string; readonly text: string }[];
    readonly directives: unknown;
  };
  for (const { name, text } of view.documents) expect(text).toBe(rig.read(`.orchestrate/320/state/${name}`));
  expect(view.directives).toEqual([
    { id: 1, text: 'mind the gap\n', digest: expect.stringMatching(/^sha256:/) as string },
  ]);
});

test('graph draws every target and edge in each format; with a ticket, by status', async () => {
  const rig = shipped;
  const draw = async (...args: string[]): Promise<string> => (await rig.run(['graph', ...args])).stdout;
  for (const name of NAMES) expect(await draw()).toContain(name);
  const mermaid = await draw('--format', 'mermaid');
  expect(mermaid).toMatch(/^(graph|flowchart) /);
  expect(mermaid.match(/-->/g)?.length).toBeGreaterThanOrEqual(8);
  expect(await draw('--format', 'dot')).toMatch(/^digraph [\s\S]*"?adversarial-review"? -> "?commit"?/m);
  expect(await draw('--format', 'svg')).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  const view = json(await rig.run(['graph', '320', '--json'])) as { readonly targets: readonly unknown[] };
  expect(view.targets[5]).toEqual({
    number: 5,
    name: 'commit',
    needs: ['adversarial-review'],
    status: 'done',
  });
  expect(await rig.run(['graph', '--format', 'png'])).toMatchObject({ code: 2, stdout: '' });
});

test('while a child runs, status names it, logs shows its end and follows it, and tell is on disk when it returns', async () => {
  const rig = createRig();
  const gate = makeGate(rig);
  initRepository(rig, {
    'targets.yaml': `targets: { work: { command: "seq 40; read line < ${gate.path}; echo last words" } }\n`,
  });
  const running = rig.start(['run', 'x']);
  const log = '.orchestrate/x/children/00-work.1/stdout.log';
  await until(() => rig.has(log) && rig.read(log).endsWith('40\n'), 'its output');
  const status = json(await rig.run(['status', 'x', '--json'])) as {
    readonly state: string;
    readonly targets: readonly {
      readonly status: string;
      readonly child: { readonly pid: number; readonly startTime: string };
    }[];
  };
  expect([status.state, status.targets[0]?.status]).toEqual(['running', 'active']);
  expect(rig.processes()).toContain(status.targets[0]?.child.pid);
  expect((await rig.run(['logs', 'x'])).stdout.split('\n')).toEqual([
    ...Array.from({ length: 15 }, (_, line) => String(line + 26)),
    '',
  ]);
  const told = await rig.run(['tell', 'x', 'one', 'more', 'thing', '--json']);
  expect(json(told)).toMatchObject({ ticket: 'x', id: 1 });
  expect(rig.read('.orchestrate/x/inbox/0001.md')).toBe('one more thing\n');

  const follower = rig.start(['logs', 'x', '--lines', '1', '--follow']);
  await until(() => follower.stdout() === '40\n', 'the follower');
  await gate.open();
  expect((await running.ended).code).toBe(0);
  expect(await follower.ended).toMatchObject({ code: 0, stdout: '40\nlast words\n' });
});

describe('what is asked for and is not there is usage, with the nearest right word', () => {
  test('commands, options, targets, tickets', async () => {
    const rig = createRig();
    initRepository(rig, { 'targets.yaml': 'targets: { work: { command: "true" } }\n' }, { remote: false });
    await rig.run(['run', 'x']);
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [['stauts'], /unknown command `stauts`\n {2}next: did you mean `status`\?/],
      [['run', 'x', '--job', '2'], /no option `--job`\n {2}next: did you mean `--jobs`\?/],
      [['run', 'x', '--jobs', '0'], /not a number from 1 to 1024/],
      [['run', 'x', '--jobs', '1.5'], /not a number/],
      [['run'], /no ticket was named/],
      [['status', 'x', 'y'], /does not know what to do with `y`/],
      [['status', 'nobody'], /ticket `nobody` has no run here \(there are: x\)/],
      [['logs', 'x', '--lines', '-3'], /--lines/],
      [['logs', 'x', 'wrok'], /`wrok`/],
      [['explain', 'x', 'wrok'], /no target `wrok`/],
      [['-C', 'nowhere', 'status'], /there is no such folder/],
    ];
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await rig.run(args);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toMatch(message);
      expect(stderr).not.toMatch(/^ +at /m);
    }
    const machine = await rig.run(['status', 'nobody', '--json']);
    expect([machine.code, json(machine)]).toEqual([
      2,
      { error: expect.objectContaining({ kind: 'no-such-run' }) as object },
    ]);
    expect((await rig.run(['status', 'nobody', '--debug'])).stderr).toMatch(/^ +at /m);
  });

  test('--help fits one screen, names every command, and each has an example', async () => {
    const rig = createRig();
    initRepository(rig, { 'targets.yaml': 'targets: { work: { command: "true" } }\n' }, { remote: false });
    const help = (await rig.run(['--help'])).stdout;
    expect(help.split('\n').length).toBeLessThanOrEqual(25);
    for (const name of [
      'run',
      'status',
      'approve',
      'reject',
      'tell',
      'boot',
      'logs',
      'explain',
      'graph',
      'validate',
      'demo',
    ]) {
      expect(help).toMatch(new RegExp(`^ .* ${name} {2,}\\S`, 'm'));
      const { code, stdout } = await rig.run([name, '--help']);
      expect([name, code]).toEqual([name, 0]);
      expect(stdout).toMatch(/\nExample\n {2}orchestrate /);
    }
  });
});
