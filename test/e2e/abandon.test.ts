import { describe, expect, test } from 'vitest';
import { builder, initWithAgents } from '../helpers/fake-agents.js';
import { createRig, makeGate, until, type Rig } from '../helpers/rig.js';
import { verify } from '../helpers/verification.js';

const RUN = '.orchestrate/320';
const LATER = ['adversarial-review', 'commit', 'push', 'land', 'post-mortem'];

interface TargetRow {
  readonly name: string;
  readonly status: string;
  readonly phase: string;
  readonly reason: string | null;
  readonly summary: readonly string[];
}

const status = async (
  rig: Rig,
): Promise<{
  readonly state: string;
  readonly waitingFor: unknown;
  readonly targets: readonly TargetRow[];
}> => JSON.parse((await rig.run(['status', '320', '--json'])).stdout) as Awaited<ReturnType<typeof status>>;

/** Ends at a review that waits for nothing: the builder's work is there, its summary too. */
const withWork = async (): Promise<Rig> => {
  const rig = createRig();
  initWithAgents(rig);
  expect((await rig.run(['run', '320', '--until', 'implementation-diff'])).code).toBe(0);
  return rig;
};

describe('abandon', () => {
  test('gives up every target that is not done; status, 99 and `run` say so, with the way out', async () => {
    const rig = await withWork();
    const { code, stdout, stderr } = await rig.run([
      'abandon',
      '--ticket',
      '320',
      '--note',
      'superseded by 321',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(
      `abandoned: ${LATER.join(', ')}\nnext: \`orchestrate clean --ticket 320\` removes its tree, \`orchestrate run --ticket 320 --rebuild TARGET\` starts again\n`,
    );
    const because = 'given up by person ada: superseded by 321';
    const events = rig.events().filter(({ type }) => type === 'target.abandoned');
    expect(events).toEqual(LATER.map((target) => ({ type: 'target.abandoned', target, because })));

    const seen = await status(rig);
    expect(seen).toMatchObject({ state: 'abandoned', waitingFor: null });
    expect(seen.targets.map((target) => target.status)).toEqual([
      ...Array<string>(4).fill('done'),
      ...Array<string>(5).fill('abandoned'),
    ]);
    expect(seen.targets[4]).toMatchObject({
      name: 'adversarial-review',
      phase: 'abandoned',
      reason: because,
      summary: [],
    });
    expect(Object.keys(seen.targets[4] ?? {})).toEqual(Object.keys(seen.targets[3] ?? {}));
    expect((await rig.run(['status', '320'])).stdout).toMatch(
      /^– +4 +adversarial-review +abandoned +given up by person ada: superseded by 321$/m,
    );

    const next = rig.read(`${RUN}/state/99_next_action.md`);
    expect(next).toMatch(/^state: "abandoned"$/m);
    expect(next).toMatch(/^\[-\] 4 adversarial-review – given up by person ada: superseded by 321$/m);
    expect(next).toMatch(
      /^Next Permitted Action: nothing: it was abandoned; `orchestrate run --ticket 320 --rebuild adversarial-review` starts again$/m,
    );

    const before = rig.events().length;
    const again = await rig.run(['run', '320']);
    expect(again).toMatchObject({ code: 1, stderr: '' });
    expect(again.stdout).toBe(
      `abandoned: 4 of 9 targets are up to date; adversarial-review was ${because}\nstart again with \`orchestrate run --ticket 320 --rebuild adversarial-review\`\n`,
    );
    const json = await rig.run(['run', '320', '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      type: 'run.ended',
      state: 'abandoned',
    });
    expect(rig.events()).toHaveLength(before);
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });
  });

  test('what was made before is not made again for nothing', async () => {
    const rig = await withWork();
    expect((await rig.run(['abandon', '320'])).code).toBe(0);
    rig.write({
      'targets.yaml': `${rig.read('targets.yaml')}\n  implementation-diff: { gates: [not-empty] }\n`,
    });
    const started = (): number => rig.events().filter(({ type }) => type === 'target.started').length;
    const before = started();
    expect((await rig.run(['run', '320'])).code).toBe(1);
    expect(started()).toBe(before);
  });

  test('twice is fine and records nothing twice', async () => {
    const rig = await withWork();
    expect((await rig.run(['abandon', '320'])).code).toBe(0);
    const before = rig.read(`${RUN}/journal.jsonl`);
    const { code, stdout } = await rig.run(['abandon', '320']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^abandoned before: adversarial-review, commit, push, land, post-mortem\n/);
    expect(JSON.parse((await rig.run(['abandon', '320', '--json'])).stdout)).toEqual({
      ticket: '320',
      abandoned: [],
      already: LATER,
    });
    expect(rig.read(`${RUN}/journal.jsonl`)).toBe(before);
  });

  test('--target gives up that one; what stands elsewhere is still made', async () => {
    const rig = createRig();
    initWithAgents(rig, { targets: '  aside: { number: 20, needs: [ticket], command: "echo aside" }\n' });
    expect((await rig.run(['run', '320', '--until', 'ticket'])).code).toBe(0);
    expect(await rig.run(['abandon', '320', '--target', 'approved-plan'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^abandoned: approved-plan\n/) as string,
    });
    expect(rig.read(`${RUN}/state/99_next_action.md`)).toMatch(/^Next Permitted Action: make 20 aside$/m);
    const { code, stdout } = await rig.run(['run', '320']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/20 aside +done/);
    expect(stdout).toMatch(
      /^abandoned: 3 of 10 targets are up to date; approved-plan was given up by person ada$/m,
    );
    expect((await status(rig)).targets.filter(({ status: of }) => of === 'pending')).toHaveLength(6);
  });

  test('an airlock that waited waits no longer, and what its worker had said is dropped', async () => {
    const rig = createRig();
    initWithAgents(rig);
    rig.write({
      'targets.yaml': rig
        .read('targets.yaml')
        .replace(/gates: \[\{ approval: .*/, 'gates: [{ approval: person }]'),
    });
    const waiting = await rig.run(['run', '320']);
    const approve = /^ {2}orchestrate (approve .*)$/m.exec(waiting.stdout)?.[1] ?? '';
    expect((await status(rig)).targets[2]?.summary).toEqual(['did it']);
    expect((await rig.run(['abandon', '320'])).code).toBe(0);
    expect((await status(rig)).targets[2]).toMatchObject({ status: 'abandoned', summary: [] });
    expect(await rig.run(approve.split(' '))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('it is abandoned') as string,
    });
  });

  test.each([
    [
      'a target that is done',
      ['--target', 'ticket'],
      /`ticket` is done: what was made cannot be given up\n {2}next: .*--rebuild ticket/,
    ],
    ['a target that is not there', ['--target', 'tickets'], /the pipeline has no target `tickets`/],
  ])('%s is a usage error', async (_, more, message) => {
    const rig = await withWork();
    const before = rig.read(`${RUN}/journal.jsonl`);
    const { code, stderr } = await rig.run(['abandon', '320', ...more]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(rig.read(`${RUN}/journal.jsonl`)).toBe(before);
  });

  test('a ticket with nothing left to give up is a usage error as well', async () => {
    const rig = createRig();
    initWithAgents(rig);
    expect((await rig.run(['run', '320'])).code).toBe(0);
    expect(await rig.run(['abandon', '320'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('every target of ticket `320` is done') as string,
    });
  });

  test('is refused while a process holds the ticket (5), and while a child is alive (5)', async () => {
    const rig = createRig();
    const gate = makeGate(rig);
    initWithAgents(rig, { builder: builder(`read line < ${gate.path}; echo more >> a.txt`) });
    const going = rig.start(['run', '320']);
    await until(() => rig.has(`${RUN}/children/03-implementation-diff.1/proc.json`), 'the builder');
    expect(await rig.run(['abandon', '320'])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(`process ${going.pid}`) as string,
    });
    going.kill('SIGKILL');
    await going.ended;
    const before = rig.read(`${RUN}/journal.jsonl`);
    expect(await rig.run(['abandon', '320'])).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(
        /may still be alive: `03-implementation-diff\.1`[^\n]*\n {2}next: `orchestrate stop --ticket 320` ends it/,
      ) as string,
    });
    expect(rig.read(`${RUN}/journal.jsonl`)).toBe(before);
    expect((await rig.run(['stop', '320'])).code).toBe(0);
    // Its end was never recorded, and now need not be.
    expect(await rig.run(['abandon', '320'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('implementation-diff') as string,
    });
    expect(await status(rig)).toMatchObject({ state: 'abandoned' });
  });
});
