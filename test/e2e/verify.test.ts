import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builder, initWithAgents } from '../helpers/fake-agents.js';
import { noneUsed, runThrough, runTo } from '../helpers/places.js';
import { contents, createRig, makeGate, until } from '../helpers/rig.js';
import {
  commitOf,
  finishedTicket,
  inRun,
  overwrite,
  restoring,
  RUN,
  verify,
} from '../helpers/verification.js';

describe('verify', () => {
  test('proves a finished run, writes nothing, and needs neither the remote nor the tree', async () => {
    const rig = await finishedTicket();
    renameSync(join(rig.dir, 'origin.git'), join(rig.dir, 'elsewhere.git'));
    const before = contents(rig.repo);
    const told = await rig.run(['verify', '320']);
    expect(told).toMatchObject({ code: 0, stderr: '' });
    expect(told.stdout).toMatch(
      /^ok {2}journal chain +\d+ lines, .*\nok {2}journal seals +\d+ lines carry your seal\n/,
    );
    expect(told.stdout).toMatch(/\nthe record holds: \d+ checks\n$/);
    expect(contents(rig.repo)).toEqual(before);

    const seen = await verify(rig);
    expect(seen).toMatchObject({ code: 0, ok: true });
    expect(seen.rows.filter(({ ok }) => ok !== true)).toEqual([]);
    const commit = commitOf(rig).slice(0, 12);
    const base = rig.git('rev-parse', 'main').slice(0, 12);
    expect(seen.rows.map(({ name }) => name)).toEqual([
      'journal chain',
      'journal seals',
      '00_governance.md',
      '10_ticket.md',
      '20_plan_approved.md',
      '30_critic_summary.md',
      '99_next_action.md',
      'checkpoint.json',

      'artifacts/ticket.md',
      'artifacts/plan.md',
      'artifacts/branch.diff',
      'artifacts/pages',
      'artifacts/notes',
      'gates',
      'approvals',
      'verdicts',
      'inbox',

      'private store',
      `base ${base}`,
      'receipt implementation-diff.1',
      'receipt implementation-diff.2',
      `commit ${commit}`,
      'branch orchestrate/320',
    ]);
    expect(seen.rows.find(({ name }) => name === '99_next_action.md')?.detail).toBe(
      'is what the journal implies',
    );
  });

  test('says that seals could not be checked where the key is not, and still checks the chain; no key is made', async () => {
    const rig = await finishedTicket();
    const env = { ORCHESTRATE_HOME: join(rig.dir, 'another') };
    const seen = await verify(rig, { env });
    expect(seen).toMatchObject({ code: 0, ok: true, failed: [] });
    expect(seen.rows.filter(({ ok }) => ok === null)).toEqual([
      { name: 'journal seals', ok: null, detail: 'could not be checked: the seal key is not here' },
      expect.objectContaining({ name: '99_next_action.md' }),
    ]);
    expect(rig.has(join(rig.dir, 'another/key'))).toBe(false);

    mkdirSync(join(rig.dir, 'another'), { recursive: true });
    writeFileSync(join(rig.dir, 'another/key'), 'k'.repeat(32), { mode: 0o600 });
    expect((await verify(rig, { env })).failedNames).toEqual([
      'journal seals',
      '99_next_action.md',
      'checkpoint.json',
    ]);
    rmSync(join(rig.dir, 'another/key'));

    overwrite(rig, `${RUN}/journal.jsonl`, (text) => text.replace('it was never made', 'it was ever made'));
    expect((await verify(rig, { env })).failedNames).toEqual(['journal chain']);
  });

  test('names a branch that moved or is gone; one that was deleted after the work had landed is fine', async () => {
    const rig = createRig();
    initWithAgents(rig);
    expect((await rig.run(['run', '320', '--until', 'push'])).code).toBe(0);
    const commit = commitOf(rig);
    rig.git('branch', '--delete', '--force', 'orchestrate/320');
    expect((await verify(rig)).failed).toEqual([`branch orchestrate/320: is gone; our commit is ${commit}`]);
    rig.git('branch', 'orchestrate/320', 'main');
    expect((await verify(rig)).failed).toEqual([
      expect.stringMatching(
        /^branch orchestrate\/320: moved: it is at [0-9a-f]{40}, which does not contain our commit/,
      ),
    ]);
    rig.git(
      'branch',
      '--force',
      'orchestrate/320',
      rig.git('commit-tree', '-p', commit, '-m', 'on top', `${commit}^{tree}`),
    );
    expect((await verify(rig)).failed).toEqual([expect.stringMatching(/which contains our commit/)]);
    rig.git('branch', '--force', 'orchestrate/320', commit);
    expect((await rig.run(['run', '320'])).code).toBe(0);
    rig.git('branch', '--delete', '--force', 'orchestrate/320');
    const seen = await verify(rig);
    expect(seen).toMatchObject({ code: 0, failed: [] });
    expect(seen.rows.at(-1)).toMatchObject({
      name: 'branch orchestrate/320',
      ok: true,
      detail: expect.stringContaining('landed') as string,
    });
  });

  test('accepts a run that waits, one that is going on, and one that a crash left', async () => {
    const rig = createRig();
    const gate = makeGate(rig);
    initWithAgents(rig, { builder: builder(`read line < ${gate.path}; echo more >> a.txt`) });
    rig.write({
      'targets.yaml': rig
        .read('targets.yaml')
        .replace(/gates: \[\{ approval: .*/, 'gates: [{ approval: person }]'),
    });
    const waiting = await rig.run(['run', '320']);
    expect(waiting.code).toBe(3);
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });
    const approve = /^ {2}orchestrate (approve .*)$/m.exec(waiting.stdout)?.[1] ?? '';
    expect((await rig.run(approve.split(' '))).code).toBe(0);
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });

    const going = rig.start(['run', '320']);
    await until(() => rig.has(`${RUN}/children/03-implementation-diff.1/proc.json`), 'the builder');
    const noted = await rig.run(['verify', '320']);
    expect(noted).toMatchObject({
      code: 0,
      stderr: `note: process ${going.pid} runs ticket 320 now; what it is writing may look unfinished\n`,
    });
    going.kill('SIGKILL');
    await going.ended;
    appendFileSync(inRun(rig, 'journal.jsonl'), '{"v":1,"seq":');
    const torn = await verify(rig);
    expect(torn).toMatchObject({ code: 0, failed: [] });
    expect(torn.rows[0]?.detail).toMatch(/, then 13 bytes of a line that a crash left unfinished$/);
    await gate.open();
    expect((await rig.run(['run', '320'])).code).toBe(0);
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });
  });

  test('accepts what a kill leaves, wherever it falls', { timeout: 120_000 }, async () => {
    const calm = createRig();
    initWithAgents(calm);
    const used = noneUsed(calm);
    const { code, passed } = await runTo(calm, { ticket: '320', used, only: {} }, ['run', '320']);
    expect(code).toBe(0);
    const places = [
      /linked 20_plan/,
      /append document/,
      /append work\.sealed/,
      /renamed plan\.md/,
      /write post-mortem/,
      /git commit made/,
      /git push done/,
      /synced target\.done/,
    ].map((pattern) => passed.findLast((place) => pattern.test(place)) ?? String(pattern));
    const only = Object.fromEntries(places.map((place) => [place, 'SIGKILL']));
    const rig = createRig();
    initWithAgents(rig);
    const links = await runThrough(async () => {
      const link = await runTo(rig, { ticket: '320', used, only }, ['run', '320']);
      expect({ at: link.at, ...(await verify(rig)) }).toMatchObject({ at: link.at, code: 0, failed: [] });
      return link;
    });
    const killedAt = links.flatMap(({ at }) => at ?? []);
    expect(killedAt.toSorted()).toEqual(places.toSorted());
    expect(links.at(-1)?.code).toBe(0);
  });

  test(
    'follows a ticket through its epochs, and accepts a rebuild that was interrupted',
    { timeout: 120_000 },
    async () => {
      const rig = await finishedTicket();
      const trace = join(rig.dir, 'crossings');
      const rebuild = ['run', '320', '--rebuild', 'post-mortem'];
      expect((await rig.run(rebuild, { env: { ORCHESTRATE_TEST_CROSSINGS: trace } })).code).toBe(0);
      const seen = await verify(rig);
      expect(seen).toMatchObject({ code: 0, failed: [] });
      expect(seen.rows.find(({ name }) => name === 'epoch 1')).toMatchObject({
        ok: true,
        detail: expect.stringMatching(/^archived: 16 checks of its \d+ journal lines/) as string,
      });

      await restoring(rig, async () => {
        overwrite(rig, `${RUN}/epochs/1/state/30_critic_summary.md`, (text) =>
          text.replace('REJECTED', 'APPROVED'),
        );
        overwrite(rig, `${RUN}/epochs/1/artifacts/notes/post-mortem-scar.md`, () => '# Other\n');
        expect((await verify(rig)).failedNames).toEqual([
          'epoch 1: 30_critic_summary.md',
          'epoch 1: artifacts/notes',
        ]);
      });
      await restoring(rig, async () => {
        overwrite(
          rig,
          `${RUN}/epochs/1/journal.jsonl`,
          (text) => `${text.trimEnd().split('\n').slice(0, -1).join('\n')}\n`,
        );
        expect((await verify(rig)).failed).toContainEqual(
          expect.stringMatching(
            /^epoch 1: journal chain: it is not the journal of \d+ lines that epoch 2 follows$/,
          ),
        );
      });
      await restoring(rig, async () => {
        rmSync(inRun(rig, 'epochs'), { recursive: true });
        expect((await verify(rig)).failedNames).toContain('epoch 1: journal chain');
      });

      const crossings = readFileSync(trace, 'utf8').split('\n');
      const over = crossings.indexOf('rebuild over');
      const places = [
        1,
        crossings.indexOf('rebuild staged') + 1,
        ...crossings.flatMap((name, index) => (index < over && name.startsWith('moved ') ? [index + 1] : [])),
      ];
      expect(places.length).toBeGreaterThan(6);
      for (const at of places) {
        await restoring(rig, async () => {
          expect((await rig.run(rebuild, { env: { ORCHESTRATE_TEST_CROSSING: String(at) } })).signal).toBe(
            'SIGKILL',
          );
          expect({ at, name: crossings[at - 1], ...(await verify(rig)) }).toMatchObject({
            at,
            code: 0,
            failed: [],
          });
          expect({
            at,
            ...(await verify(rig, { env: { ORCHESTRATE_HOME: join(rig.dir, 'another') } })),
          }).toMatchObject({ at, code: 0, failed: [] });
        });
      }
    },
  );

  test('of a ticket without a run is a usage error', async () => {
    const rig = createRig();
    initWithAgents(rig);
    expect(await rig.run(['verify', '320'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('has no run here') as string,
    });
  });
});
