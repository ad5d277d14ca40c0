import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { initWithAgents, planner, builder } from '../helpers/fake-agents.js';
import { contents, createRig, makeGate, until, type Ended, type Rig } from '../helpers/rig.js';
import { initSmall, ranIn, recordOf, SMALL } from '../helpers/small-run.js';

interface Status {
  readonly epoch: number;
  readonly base: string;
  readonly waitingFor: { readonly target: string; readonly digest: string } | null;
  readonly pipelineChanges: readonly {
    readonly path: string;
    readonly from: string | null;
    readonly to: string | null;
  }[];
  readonly targets: readonly {
    readonly name: string;
    readonly phase: string;
    readonly attempt: number;
    readonly reason: string;
  }[];
}

const statusOf = async (rig: Rig, ticket: string): Promise<Status> => {
  const { code, stdout, stderr } = await rig.run(['status', '--ticket', ticket, '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Status;
};

describe('run --rebuild of a ticket with agents', () => {
  /** The plan says which attempt it is of, so that another plan has other bytes. */
  const ATTEMPT = String.raw`printf 'attempt %s\n' "$ORCHESTRATE_ATTEMPT" >> "$ORCHESTRATE_OUT/plan.md"`;

  const initTeam = (rig: Rig): void => {
    const noting = (agent: string, name: string): string =>
      agent.replace('cat > /dev/null', `cat > /dev/null; echo ${name} >> ${rig.dir}/log`);
    initWithAgents(rig, {
      planner: noting(planner(), 'planner').trimEnd() + `\n${ATTEMPT}\n`,
      builder: noting(builder(), 'builder'),
    });
    rig.write({
      'targets.yaml': rig.read('targets.yaml').replace(/\{ approval: .* \} \} \}/, '{ approval: person }'),
    });
  };

  const run = (rig: Rig, ...more: readonly string[]): Promise<Ended> =>
    rig.run(['run', '--ticket', '320', ...more]);

  const approve = (rig: Rig, digest: string): Promise<Ended> =>
    rig.run(['approve', '--ticket', '320', '--target', 'approved-plan', '--digest', digest]);

  const asked = async (rig: Rig): Promise<string> => (await statusOf(rig, '320')).waitingFor?.digest ?? '';

  const head = (rig: Rig, branch: string, ...where: readonly string[]): string =>
    rig.git(...where, 'rev-parse', branch);

  const onRemote = (rig: Rig): readonly string[] => ['--git-dir', join(rig.dir, 'origin.git')];

  test('replaces what was pushed, asks the person again, and forks nobody whose work is kept', async () => {
    const rig = createRig();
    initTeam(rig);
    expect(await run(rig)).toMatchObject({ code: 3, stderr: '' });
    const plan = await asked(rig);
    expect((await approve(rig, plan)).code).toBe(0);
    expect((await run(rig, '--until', 'push')).code).toBe(0);
    const first = head(rig, 'orchestrate/320', ...onRemote(rig));
    expect(ranIn(rig)).toEqual(['planner', 'builder']);

    const rebuilt = await run(rig, '--rebuild', 'implementation-diff');
    expect(rebuilt.code).toBe(3);
    expect(rebuilt.stderr).toMatch(
      /^note: epoch 2: a rebuild of implementation-diff was asked for; epoch 1 is kept in \S+\/epochs\/1$/m,
    );
    expect(rebuilt.stderr).toMatch(/^ {2}asked again: approved-plan /m);
    const status = await statusOf(rig, '320');
    expect(status).toMatchObject({ epoch: 2, waitingFor: { target: 'approved-plan', digest: plan } });
    expect(status.targets.find(({ name }) => name === 'implementation-diff')).toMatchObject({
      phase: 'pending',
      attempt: 1,
      reason: 'rebuild was asked for',
    });
    expect(rig.has('.orchestrate/320/state/20_plan_approved.md')).toBe(false);
    expect((await run(rig)).code).toBe(3);

    expect((await approve(rig, plan)).code).toBe(0);
    expect((await run(rig)).code).toBe(0);
    expect(ranIn(rig)).toEqual(['planner', 'builder', 'builder']);
    expect(rig.read('.orchestrate/320/state/20_plan_approved.md')).toMatch(/^epoch: 2$/m);
    const second = head(rig, 'orchestrate/320');
    expect(second).not.toBe(first);
    expect([head(rig, 'orchestrate/320', ...onRemote(rig)), head(rig, 'main', ...onRemote(rig))]).toEqual([
      second,
      second,
    ]);
    expect(rig.git('rev-list', '--count', `main..${second}`)).toBe('1');
    expect(readdirSync(join(rig.repo, '.orchestrate/320/children')).toSorted()).toEqual([
      '02-approved-plan.1',
      '03-implementation-diff.2',
      '04-adversarial-review.2',
      '08-post-mortem.1',
    ]);
    expect(await rig.run(['verify', '--ticket', '320'])).toMatchObject({ code: 0 });
  }, 120_000);

  test('after landing takes the base as it is now, in a new tree, and refuses to make the commit again on the old one', async () => {
    const rig = createRig();
    initTeam(rig);
    await run(rig);
    const plan = await asked(rig);
    await approve(rig, plan);
    expect((await run(rig)).code).toBe(0);
    const landed = head(rig, 'main', ...onRemote(rig));

    const before = recordOf(rig, '320');
    const refused = await run(rig, '--rebuild', 'approved-plan');
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^error: approved-plan: ticket `320` has landed \(`[0-9a-f]{12}`\): .*\n {2}next: `orchestrate run --ticket 320 --rebuild ticket`/,
    );
    expect(recordOf(rig, '320')).toEqual(before);

    expect((await run(rig, '--rebuild', 'ticket')).code).toBe(3);
    expect(await statusOf(rig, '320')).toMatchObject({ epoch: 2, base: landed });
    const trees = join(rig.home, 'orchestrate/trees');
    expect(readdirSync(join(trees, readdirSync(trees)[0] ?? '')).toSorted()).toEqual(['320', '320.old-1']);

    // The bytes that were approved once are not what is asked about now.
    const another = await asked(rig);
    expect(another).not.toBe(plan);
    expect(await approve(rig, plan)).toMatchObject({ code: 4 });
    expect((await approve(rig, another)).code).toBe(0);
    // Who has landed deletes the branch, as forges do.
    rig.git('branch', '-D', 'orchestrate/320');
    rig.git('push', '--quiet', 'origin', ':orchestrate/320');
    expect((await run(rig)).code).toBe(0);
    const now = head(rig, 'main', ...onRemote(rig));
    expect(rig.git(...onRemote(rig), 'rev-parse', `${now}^`)).toBe(landed);
    expect(head(rig, 'orchestrate/320')).toBe(now);
  }, 120_000);

  test('does not throw away a push whose outcome nobody knows', async () => {
    const rig = createRig();
    const gate = makeGate(rig);
    initWithAgents(rig);
    const hook = join(rig.dir, 'origin.git/hooks/pre-receive');
    writeFileSync(
      hook,
      `#!/bin/sh\n[ -e ${rig.dir}/pushing ] || { touch ${rig.dir}/pushing; read line < ${gate.path}; }\n`,
    );
    chmodSync(hook, 0o755);
    const first = rig.start(['run', '--ticket', '320']);
    await until(() => rig.has('../pushing'), 'the push to arrive');
    first.kill('SIGKILL');
    await first.ended;
    const refused = await run(rig, '--rebuild', 'implementation-diff');
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^error: push: `push` was interrupted: whether it happened is not known\n {2}next: `orchestrate run --ticket 320 --until push` finds out/,
    );
    await gate.open();
    expect((await run(rig, '--until', 'push')).code).toBe(0);
    // Policies are asked again too, and answer by themselves.
    expect((await run(rig, '--rebuild', 'implementation-diff')).code).toBe(0);
    expect(rig.events('320').filter(({ type }) => type === 'approval.answered')).toHaveLength(1);
    expect(head(rig, 'main', ...onRemote(rig))).toBe(head(rig, 'orchestrate/320'));
  }, 60_000);

  test('notes that the pipeline means another base than the one that the ticket started from', async () => {
    const rig = createRig();
    initTeam(rig);
    await run(rig, '--until', 'ticket');
    rig.git('branch', 'develop');
    rig.write({ 'targets.yaml': `base: develop\n${rig.read('targets.yaml')}` });
    const { code, stderr } = await run(rig, '--until', 'ticket');
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^note: this ticket started from `main` and lands there, though the pipeline now says `base: develop`; .*--rebuild ticket/m,
    );
    expect((await run(rig, '--until', 'ticket', '--rebuild', 'ticket')).code).toBe(0);
    expect((await run(rig, '--until', 'ticket')).stderr).toBe('');
  });
});

describe('run --rebuild of plain commands', () => {
  test('makes the target and what stands on it again, in a new epoch that follows the old chain', async () => {
    const rig = createRig();
    initSmall(rig);
    await rig.run(['run', 'x', '--jobs', '1']);
    const old = recordOf(rig, 'x');
    const { code, stdout } = await rig.run(['run', 'x', '--rebuild', 'b', '--json']);
    expect(code).toBe(0);
    expect(ranIn(rig).toSorted()).toEqual(['a', 'b', 'b', 'c', 'c', 'side']);
    const told = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(told.slice(0, 3)).toMatchObject([
      { seq: 1, type: 'run.opened', epoch: 2, previous: { epoch: 1 } },
      { seq: 2, type: 'run.rebuilt', asked: 'b', targets: ['b', 'c'] },
      { type: 'target.started', target: 'b', attempt: 2, reason: 'rebuild was asked for' },
    ]);
    expect(contents(join(rig.repo, '.orchestrate/x/epochs/1'))).toEqual(
      Object.fromEntries(Object.entries(old).filter(([name]) => name !== 'inbox')),
    );
    expect((await rig.run(['run', 'x'])).stdout).toBe('nothing to do: 4 of 4 targets are up to date\n');
    expect((await rig.run(['boot', 'x'])).stdout).toMatch(
      /==> 00_governance.md <==\n---\n.*\n.*\nepoch: 2\n/,
    );
    expect((await rig.run(['logs', '--ticket', 'x', 'a'])).code).toBe(0);
    expect((await rig.run(['verify', '--ticket', 'x'])).code).toBe(0);
  });

  test('--dry-run tells what would be made again and writes nothing', async () => {
    const rig = createRig();
    initSmall(rig);
    await rig.run(['run', 'x']);
    const before = recordOf(rig, 'x');
    const { code, stdout } = await rig.run(['run', 'x', '--rebuild', 'b', '--dry-run', '--json']);
    expect(code).toBe(0);
    const { targets } = JSON.parse(stdout) as { readonly targets: readonly unknown[] };
    expect(targets).toMatchObject([
      { target: 'a', verdict: 'fresh' },
      { target: 'b', verdict: 'stale', reason: 'rebuild was asked for' },
      { target: 'c', verdict: 'blocked' },
      { target: 'side', verdict: 'fresh' },
    ]);
    expect(recordOf(rig, 'x')).toEqual(before);
  });

  test('an unknown target, and a ticket without a run, are refused with status 2 and nothing is touched', async () => {
    const rig = createRig();
    initSmall(rig);
    expect(await rig.run(['run', 'x', '--rebuild', 'b'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'error: ticket `x` has no run here\n  next: start it with `orchestrate run --ticket x`\n',
    });
    expect(rig.has('.orchestrate')).toBe(false);
    await rig.run(['run', 'x']);
    const before = contents(rig.repo);
    expect(await rig.run(['run', 'x', '--rebuild', 'd'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'error: the pipeline has no target `d`\n  next: use one of: a, b, c, side\n',
    });
    expect(await rig.run(['run', 'x', 'y', '--rebuild', 'b'])).toMatchObject({ code: 2, stdout: '' });
    expect(contents(rig.repo)).toEqual(before);
  });

  test('is refused while the ticket is run, and while a child of a run that was killed is alive', async () => {
    const rig = createRig();
    const gate = makeGate(rig);
    initSmall(rig, SMALL.replace('echo c >> ../log', `echo c >> ../log; read line < ${gate.path}`));
    const holder = rig.start(['run', 'x']);
    await until(() => ranIn(rig).includes('c'), 'the last target to start');
    const busy = await rig.run(['run', 'x', '--rebuild', 'a']);
    expect(busy).toMatchObject({ code: 5, stdout: '' });
    expect(busy.stderr).toContain(`process ${holder.pid}`);

    holder.kill('SIGKILL');
    await holder.ended;
    const before = recordOf(rig, 'x');
    const alive = await rig.run(['run', 'x', '--rebuild', 'a']);
    expect(alive.code).toBe(5);
    expect(alive.stderr).toMatch(
      /a child of ticket `x` may still be alive: `\S*c\.1` \(process \d+\)\n {2}next: `orchestrate stop --ticket x`/,
    );
    expect(recordOf(rig, 'x')).toEqual(before);

    expect((await rig.run(['stop', '--ticket', 'x'])).code).toBe(0);
    const rebuilt = rig.start(['run', 'x', '--rebuild', 'c']);
    await until(
      () => ranIn(rig).filter((name) => name === 'c').length === 2,
      'the last target to start again',
    );
    await gate.open();
    expect((await rebuilt.ended).code).toBe(0);
    expect(ranIn(rig).toSorted()).toEqual(['a', 'b', 'c', 'c', 'side']);
    expect(rig.has('.orchestrate/x/children/02-c.2') || rig.has('.orchestrate/x/children/03-c.2')).toBe(true);
  }, 60_000);
});

describe('a changed pipeline under a run', () => {
  test('is reported file by file with both digests, once, and stays known', async () => {
    const rig = createRig();
    initSmall(rig);
    await rig.run(['run', 'x']);
    rig.write({ 'targets.yaml': SMALL.replace('echo c', 'echo C') });
    const { stderr, code } = await rig.run(['run', 'x']);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^note: the pipeline or a manual changed since epoch 1 was opened, .*: targets\.yaml sha256:[0-9a-f]{12} → sha256:[0-9a-f]{12}\n$/,
    );
    expect(ranIn(rig).filter((name) => /c/i.test(name))).toEqual(['c', 'C']);
    expect((await rig.run(['run', 'x'])).stderr).toBe('');
    expect(rig.events('x').filter(({ type }) => type === 'pipeline.changed')).toHaveLength(1);

    const { pipelineChanges } = await statusOf(rig, 'x');
    const digests = /(sha256:\w+) → (sha256:\w+)/.exec(stderr) ?? [];
    expect(pipelineChanges.map(({ path, from, to }) => [path, from?.slice(0, 19), to?.slice(0, 19)])).toEqual(
      [['targets.yaml', digests[1], digests[2]]],
    );
    expect((await rig.run(['status', 'x'])).stdout).toContain(
      `changed since epoch 1 was opened: targets.yaml ${digests[0] ?? ''}`,
    );
    expect((await rig.run(['boot', 'x'])).stdout).toContain(
      `changed since 00 was written: targets.yaml ${digests[0] ?? ''}`,
    );
    const next = rig.read('.orchestrate/x/state/99_next_action.md');
    expect(next).toContain(
      String(rig.events('x').find(({ type }) => type === 'pipeline.changed')?.['digest']),
    );

    rig.write({ 'targets.yaml': `${SMALL.replace('echo c', 'echo C')}# only words\n` });
    expect((await rig.run(['run', 'x'])).stderr).toMatch(
      /^note: files of the pipeline changed once more in this epoch, though not what they say/,
    );
    // A new epoch begins with the pipeline as it is: nothing has changed since.
    await rig.run(['run', 'x', '--rebuild', 'c']);
    expect((await statusOf(rig, 'x')).pipelineChanges).toEqual([]);
  });

  test('a 99 that somebody wrote is seen after a change of the pipeline as before', async () => {
    const rig = createRig();
    initSmall(rig);
    await rig.run(['run', 'x']);
    rig.write({ 'targets.yaml': SMALL.replace('echo c', 'echo C') });
    await rig.run(['run', 'x']);
    const path = '.orchestrate/x/state/99_next_action.md';
    rig.write({ [path]: rig.read(path).replace('[x] 3', '[ ] 3') });
    expect(await rig.run(['run', 'x'])).toMatchObject({ code: 4 });
  });
});
