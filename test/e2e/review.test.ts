import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builder, critic, initWithAgents, planner, REJECT, RETURN } from '../helpers/fake-agents.js';
import { createRig, makeGate, writeFiles, type Rig } from '../helpers/rig.js';

const rounds = (rig: Rig): readonly string[] =>
  rig.read('.orchestrate/320/state/30_critic_summary.md').match(/^## Round .*$/gm) ?? [];

/** Nothing left this machine, and nothing came into the user's repository. */
const expectNothingShipped = (rig: Rig): void => {
  expect(rig.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main\nrefs/remotes/origin/main');
  expect(rig.gitIn(join(rig.dir, 'origin.git'), 'for-each-ref', '--format=%(refname)')).toBe(
    'refs/heads/main',
  );
  expect(rig.gitIn(join(rig.dir, 'origin.git'), 'rev-parse', 'main')).toBe(rig.git('rev-parse', 'main'));
};

/** The working copy of ticket 320. */
const tree = (rig: Rig): string => join(rig.repo, '.orchestrate/320/tree');

/** JavaScript of a critic, and what the refusal must name. */
const LIES: readonly (readonly [string, string])[] = [
  ["verdict.nonce = '0'.repeat(32);", 'wrong-nonce'],
  ['verdict.pages = [];', 'pages-not-read: 1 of 1'],
  ["verdict.pages = ['sha256:' + 'a'.repeat(64)];", 'pages-not-read: 1 of 1'],
  ['delete verdict.pillars.security;', 'pillars-missing: security'],
  ["verdict.blockers = [{ title: 'but', detail: 'this' }];", 'contradiction: `APPROVED` with 1 blockers'],
  ["verdict.verdict = 'REJECTED';", 'contradiction: `REJECTED` without blockers'],
  ["verdict.verdict = 'APPROVED\\u200b';", 'must be exactly `APPROVED` or `REJECTED`'],
  ["returned.status = 'blocked';", 'contradiction: `APPROVED` with status `blocked`'],
  ["delete returned.verdict; console.log('VERDICT: APPROVED, 0 blockers');", '`verdict` is missing'],
];

describe('a verdict counts only when', () => {
  test('it has the nonce of its round, all pages, all pillars and no contradiction; else exit 4, and 30 has the attempt', async () => {
    const rig = createRig();
    initWithAgents(rig, { targets: '  adversarial-review: { attempts: 1 }' });
    expect((await rig.run(['run', '320', '--until', 'implementation-diff'])).code).toBe(0);
    for (const [lie, reason] of LIES) {
      rig.program('critic', critic(lie));
      const { code, stderr } = await rig.run(['run', '320']);
      expect({ lie, code }).toEqual({ lie, code: 4 });
      expect(stderr).toContain(reason);
    }
    expect(JSON.parse((await rig.run(['status', '320', '--json'])).stdout)).toMatchObject({
      state: 'refused',
    });
    expectNothingShipped(rig);

    rig.program('critic', critic());
    expect((await rig.run(['run', '320'])).code).toBe(0);
    const record = rig
      .read('.orchestrate/320/state/30_critic_summary.md')
      .split(/^## Round 1: /m)
      .slice(1);
    expect(record.map((round) => /^[A-Z]+/.exec(round)?.[0])).toEqual([
      ...LIES.map(() => 'REFUSED'),
      'APPROVED',
    ]);
    for (const [index, [, reason]] of LIES.entries()) expect(record[index]).toContain(reason);
  });

  test('its critic exits with 0: a valid approval of one that failed is none', async () => {
    const rig = createRig();
    initWithAgents(rig, { critic: `${critic()}process.exitCode = 3;\n` });
    expect(await rig.run(['run', '320'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('adversarial-review: exit status 3') as string,
    });
    rig.program('critic', `${critic()}process.kill(process.pid, 'SIGKILL');\n`);
    expect(await rig.run(['run', '320'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('adversarial-review: ended by signal SIGKILL') as string,
    });
    expectNothingShipped(rig);
  });
});

describe('rejections', () => {
  test('go back to the builder with the blockers until the rounds are used up', async () => {
    const rig = createRig();
    initWithAgents(rig, { critic: critic(REJECT), settings: 'rounds: 2' });
    const { code, stderr } = await rig.run(['run', '320']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /rejected in round 2 of 2: a\.txt: too short – round 2\n[\s\S]*orchestrate boot --ticket 320/,
    );
    expect(rounds(rig)).toEqual(['## Round 1: REJECTED, 1 blockers', '## Round 2: REJECTED, 1 blockers']);
    const prompt = (child: string): string => rig.read(`.orchestrate/320/children/${child}/prompt.md`);
    expect(prompt('03-implementation-diff.1')).not.toContain('too short');
    expect(prompt('03-implementation-diff.2')).toContain('| blocker: a.txt: too short – round 1\n');
    // Each critic is a fresh process with a nonce of its own.
    const nonce = (child: string): string | undefined => /^nonce: (.*)$/m.exec(prompt(child))?.[1];
    expect(nonce('04-adversarial-review.1')).toMatch(/^[0-9a-f]{32}$/);
    expect(nonce('04-adversarial-review.2')).not.toBe(nonce('04-adversarial-review.1'));
    expectNothingShipped(rig);
  });

  test('five rounds are possible: four rejections, then what the fifth critic approved is what lands', async () => {
    const rig = createRig();
    initWithAgents(rig, { critic: critic(`if (process.env.ORCHESTRATE_ROUND !== '5') { ${REJECT} }`) });
    expect((await rig.run(['run', '320'])).code).toBe(0);
    expect(rounds(rig)).toHaveLength(5);
    expect(rig.gitIn(join(rig.dir, 'origin.git'), 'show', 'main:a.txt')).toBe(
      `one\n${'more\n'.repeat(5)}`.trim(),
    );
  });

  test('what one round dismissed, and what it knew to be a dead end, is in the prompts of the next builder and the next critic', async () => {
    const rig = createRig();
    const notes = `verdict.dismissed = ['odd but right, round ' + process.env.ORCHESTRATE_ROUND];
verdict.deadEnds = ['caching does not help, round ' + process.env.ORCHESTRATE_ROUND];`;
    initWithAgents(rig, {
      critic: critic(`${notes}\nif (process.env.ORCHESTRATE_ROUND === '1') { ${REJECT} }`),
    });
    const ended = await rig.run(['run', '--ticket', '320']);
    expect(ended.code, ended.stderr).toBe(0);
    for (const child of ['03-implementation-diff.2', '04-adversarial-review.2']) {
      const prompt = rig.read(`.orchestrate/320/children/${child}/prompt.md`);
      expect(prompt).toContain('odd but right, round 1');
      expect(prompt).toContain('caching does not help, round 1');
    }
  });
});

describe('what was reviewed is what is committed', () => {
  test('a tree that was edited after its review is refused', async () => {
    const rig = createRig();
    initWithAgents(rig);
    expect((await rig.run(['run', '320', '--until', 'adversarial-review'])).code).toBe(0);
    appendFileSync(join(tree(rig), 'a.txt'), 'unseen\n');
    const { code, stderr } = await rig.run(['run', '320']);
    expect(code).toBe(4);
    expect(stderr).toContain('the tree was changed after the review');
    expectNothingShipped(rig);
    rig.gitIn(tree(rig), 'checkout', '--', 'a.txt');
    appendFileSync(join(tree(rig), 'a.txt'), 'more\n');
    expect((await rig.run(['run', '320'])).code).toBe(0);
    expect(rig.gitIn(join(rig.dir, 'origin.git'), 'show', 'main:a.txt')).toBe('one\nmore');
  });

  test("a new file that was not reviewed is refused, even when the worker's own git does not see it", async () => {
    const rig = createRig();
    initWithAgents(rig);
    await rig.run(['run', '320', '--until', 'adversarial-review']);
    writeFiles(tree(rig), { 'new.txt': 'unseen\n', '.git/info/exclude': 'new.txt\n' });
    expect(rig.gitIn(tree(rig), 'status', '--porcelain')).not.toContain('new.txt');
    expect((await rig.run(['run', '320'])).code).toBe(4);
    expectNothingShipped(rig);
  });

  test("the worker's own commits decide nothing: the reviewed bytes land as our commit on our base", async () => {
    const rig = createRig();
    initWithAgents(rig);
    await rig.run(['run', '320', '--until', 'adversarial-review']);
    const tip = rig.git('rev-parse', 'main');
    rig.gitIn(tree(rig), '-c', 'user.name=W', '-c', 'user.email=w@x', 'commit', '--quiet', '-am', 'mine');
    expect((await rig.run(['run', '320'])).code).toBe(0);
    const origin = join(rig.dir, 'origin.git');
    expect(rig.gitIn(origin, 'rev-parse', 'main~1')).toBe(tip);
    expect(rig.gitIn(origin, 'log', '-1', '--format=%an %s', 'main')).toBe('Ada Lovelace Longer');
  });

  test('a tree that is edited between the builder and the critic is refused', async () => {
    const rig = createRig();
    initWithAgents(rig);
    expect((await rig.run(['run', '320', '--until', 'implementation-diff'])).code).toBe(0);
    appendFileSync(join(tree(rig), 'a.txt'), 'unseen\n');
    const { code, stderr } = await rig.run(['run', '320']);
    expect({ code, stderr }).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/changed after its diff was sealed/) as string,
    });
    expectNothingShipped(rig);
  });

  test('what the builder leaves running is ended before its work is sealed', async () => {
    const rig = createRig();
    rig.program(
      'later',
      `#!/bin/sh\necho there > ${rig.dir}/started\nread line < ${makeGate(rig).path}\necho evil >> a.txt\n`,
    );
    initWithAgents(rig, {
      builder: builder(`echo more >> a.txt\nsetsid later &\nuntil test -s ${rig.dir}/started; do :; done`),
    });
    expect((await rig.run(['run', '320'])).code).toBe(0);
    expect(rig.processes()).toEqual([]);
    const ended = rig
      .events()
      .find(({ type, target }) => type === 'child.ended' && target === 'implementation-diff');
    expect(ended?.['leftovers']).toBeGreaterThan(0);
    expect(rig.gitIn(join(rig.dir, 'origin.git'), 'show', 'main:a.txt')).toBe('one\nmore');
  });

  test('what hid itself from that, and edits on, gets nothing committed', async () => {
    const rig = createRig();
    // A session of its own and a clean environment: as far away as it can get without root.
    rig.program(
      'later',
      `#!/bin/sh\necho $$ > ${rig.dir}/pid\nwhile :; do echo evil >> "$1/a.txt"; sleep 0.02; done\n`,
    );
    initWithAgents(rig, {
      builder: builder(
        `echo more >> a.txt\nenv -i PATH="$PATH" setsid later "$PWD" > /dev/null 2>&1 < /dev/null &\nuntil test -s ${rig.dir}/pid; do :; done`,
      ),
    });
    try {
      expect((await rig.run(['run', '320'])).code).toBe(4);
      expectNothingShipped(rig);
    } finally {
      process.kill(Number(rig.read('../pid')), 'SIGKILL');
    }
  });
});

describe('the blast radius', () => {
  test('a path outside the approved plan is refused by name', async () => {
    const rig = createRig();
    initWithAgents(rig, {
      planner: planner('a.txt'),
      builder: builder('echo more >> a.txt; mkdir -p src; echo evil > "src/größe.js"'),
    });
    const { code, stderr } = await rig.run(['run', '320']);
    expect(code).toBe(4);
    expect(stderr).toContain('outside the blast radius: src/größe.js');
    expect(stderr).not.toContain('blast radius: a.txt');
    expect(rig.has('.orchestrate/320/state/30_critic_summary.md')).toBe(false);
    expectNothingShipped(rig);
  });

  test('a plan that promises none, or more than the tree, is not put before anybody', async () => {
    const rig = createRig();
    initWithAgents(rig, { targets: '    attempts: 1' });
    for (const paths of ['"../**"', '/etc/**', '']) {
      rig.program('planner', planner(paths));
      const { code, stderr } = await rig.run(['run', '320']);
      expect({ paths, code }).toEqual({ paths, code: 1 });
      expect(stderr).toContain('paths:');
    }
    expect(
      rig.events().filter(({ type }) => type === 'gate.answered' || type === 'approval.answered'),
    ).toEqual([]);
  });

  test('a policy does not approve what it does not cover: a person is asked', async () => {
    const rig = createRig();
    initWithAgents(rig, {
      targets:
        '  implementation-diff: { gates: [{ approval: { policy: { paths: [b.txt], maxFiles: 9, maxLines: 1 } } }] }',
    });
    const { code, stdout } = await rig.run(['run', '320']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/the policy does not approve: .*a\.txt/);
    expect(rig.events().filter(({ type }) => type === 'approval.answered')).toHaveLength(1);
  });
});

test('an empty diff is refused unless the worker says that there is nothing to change; then nothing is committed', async () => {
  const rig = createRig();
  initWithAgents(rig, { builder: builder('true') });
  const { code, stderr } = await rig.run(['run', '320']);
  expect(code).toBe(1);
  expect(stderr).toContain('the diff is empty, but the worker did not say `no-change`');
  rig.program(
    'builder',
    builder('true').replace(RETURN, `printf '{"status":"no-change","summary":[]}' > "$ORCHESTRATE_RETURN"`),
  );
  expect((await rig.run(['run', '320'])).code).toBe(0);
  expectNothingShipped(rig);
});
