import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builder, initWithAgents } from '../helpers/fake-agents.js';
import { createRig, makeGate, until, type Rig } from '../helpers/rig.js';

const forks = (rig: Rig): readonly unknown[] =>
  rig
    .events()
    .flatMap(({ type, child }) => (type === 'target.started' && child !== undefined ? [child] : []));

const stateOf = async (rig: Rig): Promise<unknown> =>
  (JSON.parse((await rig.run(['status', '320', '--json'])).stdout) as { readonly state: unknown }).state;

/** A builder that says who it is and then waits to be let go on. */
const initHeld = (rig: Rig) => {
  const gate = makeGate(rig);
  initWithAgents(rig, {
    builder: builder(
      `tail -f /dev/null &\necho $$ > ${rig.dir}/pid\nread line < ${gate.path}\nkill $!\necho more >> a.txt`,
    ),
  });
  return gate;
};

const builderPid = async (rig: Rig): Promise<number> => {
  await until(() => rig.has('../pid') && rig.read('../pid').endsWith('\n'), 'the builder');
  return Number(rig.read('../pid'));
};

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s ends the children and the run with 130; the next run goes on and ships',
  async (signal) => {
    const rig = createRig();
    initHeld(rig);
    const running = rig.start(['run', '320']);
    await builderPid(rig);
    running.kill(signal);
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain(`${signal}: ending the children`);
    expect(rig.processes()).toEqual([]);
    expect(await stateOf(rig)).toBe('stopped');
    // Nobody holds the ticket, and being interrupted was no attempt that failed.
    rig.program('builder', builder());
    expect((await rig.run(['run', '320'])).code).toBe(0);
    expect(forks(rig)).toEqual([
      '02-approved-plan.1',
      '03-implementation-diff.1',
      '03-implementation-diff.2',
      '04-adversarial-review.1',
      '08-post-mortem.1',
    ]);
    expect(
      rig
        .events()
        .filter(({ type }) => type === 'target.failed')
        .map(({ kind }) => kind),
    ).toEqual(['interrupted']);
  },
);

test('a child that is deaf to SIGTERM is killed after its grace', async () => {
  const rig = createRig();
  initWithAgents(rig, {
    settings: 'limits: { grace: 200ms }',
    builder: builder(`trap '' TERM INT\necho $$ > ${rig.dir}/pid\nwhile :; do tail -f /dev/null; done`),
  });
  const running = rig.start(['run', '320']);
  await builderPid(rig);
  running.kill('SIGINT');
  expect((await running.ended).code).toBe(130);
  expect(rig.processes()).toEqual([]);
});

test('an orchestrator that was killed with -9 is followed by one that waits for the same child: no fork more than without', async () => {
  const rig = createRig();
  const gate = initHeld(rig);
  const first = rig.start(['run', '320']);
  const pid = await builderPid(rig);
  first.kill('SIGKILL');
  await first.ended;
  expect(await stateOf(rig)).toBe('stopped');

  const second = rig.start(['run', '320']);
  await until(() => rig.has('.orchestrate/320/lock.2'), 'the second run');
  // It is still there, and nobody has taken its place.
  expect(process.kill(pid, 0)).toBe(true);
  expect(rig.read('../pid')).toBe(`${pid}\n`);
  await gate.open();
  expect((await second.ended).code).toBe(0);
  expect(forks(rig)).toEqual([
    '02-approved-plan.1',
    '03-implementation-diff.1',
    '04-adversarial-review.1',
    '08-post-mortem.1',
  ]);
  expect(rig.gitIn(join(rig.dir, 'origin.git'), 'show', 'main:a.txt')).toBe('one\nmore');
});

test('a child that ended while nobody was there is taken as it ended', async () => {
  const rig = createRig();
  const gate = initHeld(rig);
  const first = rig.start(['run', '320']);
  await builderPid(rig);
  first.kill('SIGKILL');
  await first.ended;
  await gate.open();
  await until(() => rig.has('.orchestrate/320/children/03-implementation-diff.1/exit.json'), 'its end');
  expect((await rig.run(['run', '320'])).code).toBe(0);
  expect(forks(rig)).toHaveLength(4);
});

test('a directive that was told before a crash reaches the next worker, once', async () => {
  const rig = createRig();
  const gate = initHeld(rig);
  const first = rig.start(['run', '320']);
  await builderPid(rig);
  expect((await rig.run(['tell', '320', 'keep the tests small'])).code).toBe(0);
  first.kill('SIGKILL');
  await first.ended;
  await gate.open();
  expect((await rig.run(['run', '320'])).code).toBe(0);
  const prompt = (child: string): string => rig.read(`.orchestrate/320/children/${child}/prompt.md`);
  expect(prompt('04-adversarial-review.1')).toContain('| 1: keep the tests small\n');
  expect(prompt('08-post-mortem.1')).not.toContain('| 1: keep the tests small\n');
});

test('run --json prints one event a line and nothing else on stdout; words for people go to stderr', async () => {
  const rig = createRig();
  initWithAgents(rig, { builder: builder('echo noise; echo more >> a.txt') });
  const { code, stdout } = await rig.run(['run', '320', '--json']);
  expect(code).toBe(0);
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  // The journal's own vocabulary, in its order, then how the run ended.
  expect(events.slice(0, -1).map(({ type, target }) => [type, target])).toEqual(
    rig.events().map(({ type, target }) => [type, target]),
  );
  expect(events.slice(0, -1).map(({ seq }) => seq)).toEqual(rig.events().map((_, index) => index + 1));
  expect(events.at(-1)).toEqual({
    ticket: '320',
    type: 'run.ended',
    state: 'done',
    upToDate: 9,
    wanted: 9,
    made: 9,
  });
  for (const event of events)
    expect(event).toMatchObject({ ticket: '320', type: expect.any(String) as string });

  rig.program('builder', builder('exit 3'));
  const failed = await rig.run(['run', '321', '--json']);
  expect(failed.code).toBe(1);
  const last = failed.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .at(-1);
  expect(last).toMatchObject({
    ticket: '321',
    type: 'run.problem',
    kind: 'worker-failed',
    where: 'implementation-diff',
  });
  expect(failed.stderr).toMatch(/^error: implementation-diff: exit status 3\n/);
});
