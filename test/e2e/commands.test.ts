import { describe, expect, test } from 'vitest';
import { createRig, initRepository, type Rig } from '../helpers/rig.js';

const init = (rig: Rig, targets: string): void =>
  initRepository(rig, { 'targets.yaml': `name: own\n${targets}` }, { remote: false });

const count = (rig: Rig, type: string): number =>
  rig.events('x').filter((event) => event.type === type).length;

const summaryOf = async (rig: Rig, name: string): Promise<readonly string[]> => {
  const status = JSON.parse((await rig.run(['status', 'x', '--json'])).stdout) as {
    readonly targets: readonly { readonly name: string; readonly summary: readonly string[] }[];
  };
  return status.targets.find((target) => target.name === name)?.summary ?? [];
};

describe('a command', () => {
  test('that fails ends the run with 1, its end of output, and what to do; nothing behind it starts', async () => {
    const rig = createRig();
    init(
      rig,
      'targets:\n  test: { command: "seq 100; echo broken; exit 7", attempts: 1 }\n  after: { needs: [test], command: touch after }\n',
    );
    const { code, stdout, stderr } = await rig.run(['run', 'x']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ +0 test +failed: exit status 7\n/);
    expect(stderr).toBe(
      'error: test: exit status 7\n  next: `orchestrate logs --ticket x test`, then `orchestrate run --ticket x` tries again\n',
    );
    expect(rig.has('after')).toBe(false);
    expect(await summaryOf(rig, 'test')).toEqual([
      ...Array.from({ length: 14 }, (_, line) => String(line + 87)),
      'broken',
    ]);
    expect((await rig.run(['status', 'x'])).code).toBe(0);
  });

  test('is tried again as often as `attempts:` says, and another run gives it a new chance', async () => {
    const rig = createRig();
    init(rig, 'targets:\n  flaky: { command: "echo try >> ../tries; test -e ok", attempts: 2 }\n');
    expect((await rig.run(['run', 'x'])).code).toBe(1);
    expect(rig.read('../tries')).toBe('try\ntry\n');
    rig.write({ ok: '' });
    const { code, stdout } = await rig.run(['run', 'x']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/flaky +started, attempt 3: it failed: exit status 1\n/);
  });

  test('that fails three times in the same way is not tried a fourth time, however many attempts it has', async () => {
    const rig = createRig();
    init(
      rig,
      'targets:\n  same: { command: "exit 1", attempts: 9 }\n  other: { command: "echo >> ../n; exit $(wc -l < ../n)", attempts: 5 }\n',
    );
    const broken = await rig.run(['run', 'x', '--until', 'same']);
    expect(broken.code).toBe(1);
    expect(broken.stderr).toContain('failed 3 times in a row in the same way');
    expect(count(rig, 'target.started')).toBe(3);
    expect((await rig.run(['run', 'x', '--until', 'other'])).code).toBe(1);
    expect(count(rig, 'target.started')).toBe(3 + 5);
  });

  test('that ends by a signal has failed, whatever it wrote', async () => {
    const rig = createRig();
    init(rig, 'targets:\n  shot: { command: "echo ok > out; kill -SEGV $$", outputs: [out], attempts: 1 }\n');
    const { code, stderr } = await rig.run(['run', 'x']);
    expect(code).toBe(1);
    expect(stderr).toContain('shot: ended by signal SIGSEGV');
  });

  test('that does not make what it promised has failed', async () => {
    const rig = createRig();
    init(rig, 'targets:\n  lazy: { command: "true", outputs: [a.out, b.out], attempts: 1 }\n');
    const { code, stderr } = await rig.run(['run', 'x']);
    expect(code).toBe(1);
    expect(stderr).toContain('did not make `a.out`, `b.out`');
  });

  test.each([
    ['says nothing for `idle:`', 'idle: 300ms', 'no output for 0.3 s'],
    ['goes on longer than `timeout:`', 'timeout: 300ms', 'not finished after 0.3 s'],
  ])('that %s is ended with all its processes', async (_, limit, message) => {
    const rig = createRig();
    rig.program('silent', '#!/bin/sh\ntail -f /dev/null & wait\n');
    rig.program('chatty', '#!/bin/sh\nwhile :; do echo; sleep 0.05; done & wait\n');
    const program = limit.startsWith('idle') ? 'silent' : 'chatty';
    init(rig, `targets:\n  slow: { command: [${program}], attempts: 1, limits: { ${limit}, grace: 1s } }\n`);
    const { code, stderr } = await rig.run(['run', 'x']);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    expect(rig.processes()).toEqual([]);
  });

  test('that prints 10,000 lines, or one of a megabyte, costs 15 lines of 200 characters; the rest is on disk', async () => {
    const rig = createRig();
    rig.program('many', "#!/bin/sh\nseq 10000\nprintf '\\033[31mred\\033[0m\\r\\nend'\n");
    rig.program('long', "#!/bin/sh\nhead -c 1000000 /dev/zero | tr '\\0' x\n");
    init(rig, 'targets:\n  many: { command: [many] }\n  long: { command: [long] }\n');
    const { code, stdout } = await rig.run(['run', 'x']);
    expect(code).toBe(0);
    expect(stdout.length).toBeLessThan(2_000);
    const many = await summaryOf(rig, 'many');
    expect([many.length, many.at(-3), many.at(-2), many.at(-1)]).toEqual([15, '10000', 'red', 'end']);
    const long = await summaryOf(rig, 'long');
    expect(long.map((line) => line.length)).toEqual([200]);
    expect(rig.read('.orchestrate/x/journal.jsonl').length).toBeLessThan(20_000);
    expect(rig.read('.orchestrate/x/children/01-long.1/stdout.log')).toHaveLength(1_000_000);

    const lines = async (...args: string[]) =>
      (await rig.run(['logs', 'x', 'many', ...args])).stdout.split('\n').length - 1;
    expect([await lines(), await lines('--lines', '3'), await lines('--lines', '1000')]).toEqual([
      15, 3, 1000,
    ]);
  });
});

describe('a check gate', () => {
  test('opens by the exit status of the command that we run, not by what the target says', async () => {
    const rig = createRig();
    init(
      rig,
      `targets:
  build:
    command: echo all tests pass
    attempts: 1
    gates: [{ check: { name: tests, run: "seq 40; echo 1 test failed; test -e fixed" } }]
  ship: { needs: [build], command: touch shipped }
`,
    );
    const red = await rig.run(['run', 'x']);
    expect(red.code).toBe(1);
    expect(red.stderr).toContain('check `tests` failed: exit status 1');
    expect(rig.has('shipped')).toBe(false);
    const refused = rig.events('x').find(({ type }) => type === 'gate.answered');
    expect(refused).toMatchObject({
      outcome: 'refused',
      exitCode: 1,
      command: ['/bin/sh', '-c', expect.stringContaining('seq 40')],
    });
    expect(refused?.['outputDigest']).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(refused).toMatchObject({ detail: expect.arrayContaining(['1 test failed']) as unknown });

    rig.write({ fixed: '' });
    expect((await rig.run(['run', 'x'])).code).toBe(0);
    expect(rig.has('shipped')).toBe(true);
    expect(rig.events('x').findLast(({ type }) => type === 'gate.answered')).toMatchObject({
      outcome: 'passed',
      exitCode: 0,
    });
  });
});

test("a pipeline of one's own in ten lines: fan out, branch by label, join", async () => {
  const rig = createRig();
  initRepository(rig, {
    'tickets/320.md': '---\ntitle: A\nlabels: [docs]\n---\nDo it.\n',
    'targets.yaml': `name: ten-lines
targets:
  ticket: { builtin: ticket }
  lint: { needs: [ticket], foreach: [js, css], command: "echo {each} > lint-{each}" }
  fix: { needs: [ticket], command: touch fixed, when: { labels: [bug] } }
  docs: { needs: [ticket], command: touch documented, when: { labels: [docs] } }
  join: { needs: [lint, fix, docs], command: ls }
`,
  });
  const { code, stdout } = await rig.run(['run', '320']);
  expect(code).toBe(0);
  expect(stdout).toContain('6 of 6 targets are up to date');
  const status = JSON.parse((await rig.run(['status', '320', '--json'])).stdout) as {
    readonly targets: readonly { readonly name: string; readonly summary: readonly string[] }[];
  };
  expect(status.targets.find(({ name }) => name === 'join')?.summary).toEqual([
    'documented',
    'lint-css',
    'lint-js',
    'targets.yaml',
    'tickets',
  ]);
  expect(status.targets.find(({ name }) => name === 'fix')?.summary).toEqual([
    'left out: the ticket is not labelled bug',
  ]);
  expect(rig.git('status', '--porcelain')).toBe('');
  expect((await rig.run(['run', '320'])).stdout).toMatch(/^nothing to do: /);
});
