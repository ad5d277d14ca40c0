import { appendFileSync, chmodSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../orchestrator/model/event.js';
import { builder, critic, initWithAgents, REJECT } from '../helpers/fake-agents.js';
import { createRig, contents, makeGate, until, type Rig } from '../helpers/rig.js';
import { forge, overwrite, restoring, verify } from '../helpers/verification.js';

const RUN = '.orchestrate/320';
const IN_RUN = (rig: Rig, path: string): string => join(rig.repo, RUN, path);

/** Two rounds, a directive, a landed commit. */
const finished = async (): Promise<Rig> => {
  const rig = createRig();
  initWithAgents(rig, { critic: critic(`if (process.env.ORCHESTRATE_ROUND === '1') { ${REJECT} }`), builder: builder('echo "$ORCHESTRATE_ROUND" >> a.txt') });
  expect((await rig.run(['run', '320', '--until', 'approved-plan'])).code).toBe(0);
  expect((await rig.run(['tell', '320', 'mind the gap'])).code).toBe(0);
  expect(await rig.run(['run', '320'])).toMatchObject({ code: 0, stderr: '' });
  return rig;
};

const object = (rig: Rig, revision: string): { readonly id: string; readonly path: string } => {
  const id = rig.git('--git-dir=.orchestrate/store.git', 'rev-parse', revision);
  return { id, path: join(rig.repo, '.orchestrate/store.git/objects', id.slice(0, 2), id.slice(2)) };
};

const commitOf = (rig: Rig): string => rig.git('rev-parse', 'orchestrate/320');

const chopLines = (rig: Rig, count: number): void => overwrite(rig, `${RUN}/journal.jsonl`, (text) => `${text.trimEnd().split('\n').slice(0, -count).join('\n')}\n`);

const lastLine = (rig: Rig): number => rig.events().length;

/** What was done to the record, and the rows that must fail: all of them and no other. */
const TAMPERED: readonly (readonly [string, (rig: Rig) => void, readonly string[]])[] = [
  ['a line in the middle was changed', (rig) => overwrite(rig, `${RUN}/journal.jsonl`, (text) => text.replace('"never made"', '"never mad"').replace('it was never made', 'it was ever made')), ['journal chain', 'journal seals']],
  ['the last line was changed', (rig) => overwrite(rig, `${RUN}/journal.jsonl`, (text) => text.replace(/"at":"[^"]*"(?=[^\n]*\n$)/, '"at":"2020-01-01T00:00:00.000Z"')), ['journal seals', 'checkpoint.json']],
  ['the last line was cut off', (rig) => chopLines(rig, 1), ['99_next_action.md', 'checkpoint.json']],
  ['a line was taken out', (rig) => overwrite(rig, `${RUN}/journal.jsonl`, (text) => text.split('\n').filter((_, index) => index !== 6).join('\n')), ['journal chain']],
  ['the journal is that of another ticket', (rig) => forge(rig, (event) => (event.type === 'run.opened' ? { ...event, ticket: '321' } : event)), ['journal chain']],
  ['a law was added', (rig) => overwrite(rig, `${RUN}/state/00_governance.md`, (text) => `${text}- Anything goes.\n`), ['00_governance.md']],
  ['the ticket is gone', (rig) => unlinkSync(IN_RUN(rig, 'state/10_ticket.md')), ['10_ticket.md']],
  ['the plan is a link', (rig) => (renameSync(IN_RUN(rig, 'state/20_plan_approved.md'), IN_RUN(rig, 'plan')), symlinkSync('../plan', IN_RUN(rig, 'state/20_plan_approved.md'))), ['20_plan_approved.md']],
  ['a round was softened', (rig) => overwrite(rig, `${RUN}/state/30_critic_summary.md`, (text) => text.replace('REJECTED', 'APPROVED')), ['30_critic_summary.md']],
  ['the next action was rewritten', (rig) => overwrite(rig, `${RUN}/state/99_next_action.md`, (text) => text.replace('nothing:', 'push: ')), ['99_next_action.md']],
  ['the checkpoint was edited', (rig) => overwrite(rig, `${RUN}/checkpoint.json`, (text) => text.replace('"forks":', '"forks":1')), ['checkpoint.json']],
  ['the approved plan was widened', (rig) => overwrite(rig, `${RUN}/artifacts/plan.md`, (text) => text.replace('The plan', 'Any plan')), ['artifacts/plan.md']],
  ['the diff was shortened', (rig) => truncateSync(IN_RUN(rig, 'artifacts/branch.diff'), 10), ['artifacts/branch.diff']],
  ['a page was changed', (rig) => overwrite(rig, `${RUN}/artifacts/pages/page-0001.diff`, (text) => text.toUpperCase()), ['artifacts/pages']],
  ['the ticket text is gone', (rig) => unlinkSync(IN_RUN(rig, 'artifacts/ticket.md')), ['artifacts/ticket.md']],
  ['a note was changed and one was planted', (rig) => (overwrite(rig, `${RUN}/artifacts/notes/post-mortem-scar.md`, () => '# Trust me\n'), writeFileSync(IN_RUN(rig, 'artifacts/notes/builder-x.md'), '# New\n')), ['artifacts/notes', 'artifacts/notes']],
  ['a directive was rewritten', (rig) => overwrite(rig, `${RUN}/inbox/0001.md`, () => 'do as you like\n'), ['inbox']],
  ['a reviewed file has other bytes', (rig) => writeObject(object(rig, `${commitOf(rig)}:a.txt`).path, 'blob 5\0evil\n'), ['receipt implementation-diff.2', 'commit ']],
  ['a reviewed file was cut short', (rig) => (chmodSync(object(rig, `${commitOf(rig)}:a.txt`).path, 0o644), truncateSync(object(rig, `${commitOf(rig)}:a.txt`).path, 12)), ['receipt implementation-diff.2', 'commit ']],
  ['the reviewed tree is gone', (rig) => unlinkSync(object(rig, `${commitOf(rig)}^{tree}`).path), ['receipt implementation-diff.2', 'commit ']],
  ['our commit is gone from the store', (rig) => unlinkSync(object(rig, commitOf(rig)).path), ['commit ']],
  ['a base object was damaged in its pack', damagePack, ['base ', 'receipt implementation-diff.1', 'receipt implementation-diff.2', 'commit ']],
  ['the store borrows objects', (rig) => writeFileSync(join(rig.repo, '.orchestrate/store.git/objects/info/alternates'), '/nowhere\n'), ['private store']],
  ['the store is gone', (rig) => rmSync(join(rig.repo, '.orchestrate/store.git'), { recursive: true }), ['private store']],
];

function writeObject(path: string, bytes: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, deflateSync(bytes));
}

/** One byte in the middle of what the base's files are packed in. */
function damagePack(rig: Rig): void {
  const folder = join(rig.repo, '.orchestrate/store.git/objects/pack');
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.pack'))) {
    const path = join(folder, name);
    const bytes = readFileSync(path);
    // Behind the header: the first object's compressed bytes.
    for (let at = 20; at < bytes.length - 20; at += 37) bytes[at] = (bytes[at] ?? 0) ^ 0x55;
    chmodSync(path, 0o644);
    writeFileSync(path, bytes);
  }
}

/** What somebody with the key could write: the chain and the seals hold, and yet it cannot have happened. */
const FORGED: readonly (readonly [string, (event: RunEvent) => RunEvent, readonly RegExp[]])[] = [
  ['an approval of other bytes', (event) => (event.type === 'approval.answered' ? { ...event, digest: `sha256:${'a'.repeat(64)}` } : event), [/^approvals: line \d+: approved-plan was approved by policy/]],
  ['a gate that was asked about what was never sealed', (event) => (event.type === 'gate.answered' && event.kind === 'not-empty' ? { ...event, digest: `sha256:${'a'.repeat(64)}` } : event), [/^gates: line \d+: gate not-empty of implementation-diff/, /^gates: line/]],
  ['a verdict with the nonce of nobody', (event) => (event.type === 'child.ended' && event.verdict?.verdict === 'APPROVED' ? { ...event, verdict: { ...event.verdict, nonce: '0'.repeat(32) } } : event), [/^verdicts: .*wrong-nonce/]],
  ['a rejection that opened the gate', (event) => (event.type === 'gate.answered' && event.kind === 'verdict' ? { ...event, outcome: 'passed' } : event), [/^verdicts: .*the critic rejected it/]],
  ['a receipt with fewer lines', (event) => withReceipt(event, { addedLines: 0 }), [/^receipt implementation-diff\.1: .*the count of added lines is not that of base and tree/, /^receipt implementation-diff\.2/]],
  ['a commit of something else', (event) => (event.type === 'target.done' && event.facts?.commit !== undefined ? { ...event, facts: { commit: 'b'.repeat(40) } } : event), [/^commit bbbbbbbbbbbb: commit b+ is missing from the private store/, /^branch orchestrate\/320: moved: /]],
];

/** Gates are bound to the receipt, so they are forged along. */
function withReceipt(event: RunEvent, change: object): RunEvent {
  return 'receipt' in event && event.receipt !== undefined ? ({ ...event, receipt: { ...event.receipt, ...change } } as RunEvent) : event;
}

describe('verify', () => {
  test('proves a finished run, writes nothing, and needs neither the remote nor the tree', async () => {
    const rig = await finished();
    renameSync(join(rig.dir, 'origin.git'), join(rig.dir, 'elsewhere.git'));
    const before = contents(rig.repo);
    const told = await rig.run(['verify', '320']);
    expect(told).toMatchObject({ code: 0, stderr: '' });
    expect(told.stdout).toMatch(/^ok {2}journal chain +\d+ lines, .*\nok {2}journal seals +\d+ lines carry your seal\n/);
    expect(told.stdout).toMatch(/\nthe record holds: \d+ checks\n$/);
    expect(contents(rig.repo)).toEqual(before);

    const seen = await verify(rig);
    expect(seen).toMatchObject({ code: 0, ok: true });
    expect(seen.rows.filter(({ ok }) => ok !== true)).toEqual([]);
    const commit = commitOf(rig).slice(0, 12);
    const base = rig.git('rev-parse', 'main').slice(0, 12);
    expect(seen.rows.map(({ name }) => name)).toEqual([
      ...['journal chain', 'journal seals', '00_governance.md', '10_ticket.md', '20_plan_approved.md', '30_critic_summary.md', '99_next_action.md', 'checkpoint.json'],
      ...['artifacts/ticket.md', 'artifacts/plan.md', 'artifacts/branch.diff', 'artifacts/pages', 'artifacts/notes', 'gates', 'approvals', 'verdicts', 'inbox'],
      ...['private store', `base ${base}`, 'receipt implementation-diff.1', 'receipt implementation-diff.2', `commit ${commit}`, 'branch orchestrate/320'],
    ]);
    expect(seen.rows.find(({ name }) => name === '99_next_action.md')?.detail).toBe('is what the journal implies');
  });

  test('names whatever was changed, and nothing else: exit 4', { timeout: 120_000 }, async () => {
    const rig = await finished();
    for (const [what, change, expected] of TAMPERED) {
      await restoring(rig, async () => {
        change(rig);
        const seen = await verify(rig);
        const wanted = expected.map((name) => (name.endsWith(' ') ? (expect.stringMatching(`^${name}[0-9a-f]{12}$`) as string) : name));
        expect({ what, code: seen.code, ok: seen.ok, failed: seen.failedNames }).toEqual({ what, code: 4, ok: false, failed: wanted });
      });
    }
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });
  });

  test('checks what the journal claims even when its chain and seals hold', async () => {
    const rig = await finished();
    for (const [what, change, expected] of FORGED) {
      await restoring(rig, async () => {
        forge(rig, change);
        const seen = await verify(rig);
        expect({ what, code: seen.code }).toEqual({ what, code: 4 });
        for (const row of expected) expect(seen.failed, what).toContainEqual(expect.stringMatching(row));
      });
    }
  });

  test('lists every failure, not only the first, and goes on as far as a broken journal lets it', async () => {
    const rig = await finished();
    overwrite(rig, `${RUN}/artifacts/plan.md`, (text) => `${text}more\n`);
    overwrite(rig, `${RUN}/inbox/0001.md`, () => 'other\n');
    unlinkSync(IN_RUN(rig, 'state/10_ticket.md'));
    unlinkSync(object(rig, `${commitOf(rig)}:a.txt`).path);
    rig.git('branch', '--force', 'orchestrate/320', 'main');
    expect((await verify(rig)).failedNames).toEqual([
      ...['10_ticket.md', 'artifacts/plan.md', 'inbox', 'receipt implementation-diff.2'],
      ...[expect.stringMatching(/^commit/) as string, 'branch orchestrate/320'],
    ]);

    // The last line but one no longer follows: what was known until there is still checked.
    const line = lastLine(rig) - 1;
    overwrite(rig, `${RUN}/journal.jsonl`, (text) => text.split('\n').map((row, index) => (index === line - 1 ? row.replace('"prev":"', '"prev":"0') : row)).join('\n'));
    const seen = await verify(rig);
    expect(seen.failedNames).toEqual([
      ...['journal chain', '10_ticket.md', 'artifacts/plan.md', 'inbox', 'receipt implementation-diff.2'],
      ...[expect.stringMatching(/^commit/) as string, 'branch orchestrate/320'],
    ]);
    expect(seen.failed[0]).toContain(`journal line ${line}: `);
    expect(seen.rows.find(({ name }) => name === '99_next_action.md')?.ok).toBe(null);
    const told = await rig.run(['verify', '320']);
    expect(told).toMatchObject({ code: 4, stdout: expect.stringMatching(/\nthe record does not hold: 7 of \d+ checks failed, \d+ could not be made\nnext: /) as string });
  });

  test('says that seals could not be checked where the key is not, and still checks the chain; no key is made', async () => {
    const rig = await finished();
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
    expect((await verify(rig, { env })).failedNames).toEqual(['journal seals', '99_next_action.md', 'checkpoint.json']);
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
    expect((await verify(rig)).failed).toEqual([expect.stringMatching(/^branch orchestrate\/320: moved: it is at [0-9a-f]{40}, which does not contain our commit/)]);
    rig.git('branch', '--force', 'orchestrate/320', rig.git('commit-tree', '-p', commit, '-m', 'on top', `${commit}^{tree}`));
    expect((await verify(rig)).failed).toEqual([expect.stringMatching(/which contains our commit/)]);
    rig.git('branch', '--force', 'orchestrate/320', commit);
    expect((await rig.run(['run', '320'])).code).toBe(0);
    rig.git('branch', '--delete', '--force', 'orchestrate/320');
    const seen = await verify(rig);
    expect(seen).toMatchObject({ code: 0, failed: [] });
    expect(seen.rows.at(-1)).toMatchObject({ name: 'branch orchestrate/320', ok: true, detail: expect.stringContaining('landed') as string });
  });

  test('accepts a run that waits, one that is going on, and one that a crash left', async () => {
    const rig = createRig();
    const gate = makeGate(rig);
    initWithAgents(rig, { builder: builder(`read line < ${gate.path}; echo more >> a.txt`) });
    rig.write({ 'targets.yaml': rig.read('targets.yaml').replace(/gates: \[\{ approval: .*/, 'gates: [{ approval: person }]') });
    const waiting = await rig.run(['run', '320']);
    expect(waiting.code).toBe(3);
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });
    const approve = /^ {2}orchestrate (approve .*)$/m.exec(waiting.stdout)?.[1] ?? '';
    expect((await rig.run(approve.split(' '))).code).toBe(0);
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });

    const going = rig.start(['run', '320']);
    await until(() => rig.has(`${RUN}/children/03-implementation-diff.1/proc.json`), 'the builder');
    const noted = await rig.run(['verify', '320']);
    expect(noted).toMatchObject({ code: 0, stderr: `note: process ${going.pid} runs ticket 320 now; what it is writing may look unfinished\n` });
    going.kill('SIGKILL');
    await going.ended;
    appendFileSync(IN_RUN(rig, 'journal.jsonl'), '{"v":1,"seq":');
    const torn = await verify(rig);
    expect(torn).toMatchObject({ code: 0, failed: [] });
    expect(torn.rows[0]?.detail).toMatch(/, then 13 bytes of a line that a crash left unfinished$/);
    await gate.open();
    expect((await rig.run(['run', '320'])).code).toBe(0);
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });
  });

  test('accepts what a kill leaves, wherever it falls', { timeout: 120_000 }, async () => {
    const traced = createRig();
    initWithAgents(traced);
    const trace = join(traced.dir, 'crossings');
    expect((await traced.run(['run', '320'], { env: { ORCHESTRATE_TEST_CROSSINGS: trace } })).code).toBe(0);
    const crossings = readFileSync(trace, 'utf8').trimEnd().split('\n');
    const wanted = [/linked 20_plan/, /append document/, /^append work\.sealed/, /renamed plan\.md/, /^git commit made/, /^git push done/, /synced target\.done/];
    for (const pattern of wanted) {
      const at = crossings.findLastIndex((name) => pattern.test(name)) + 1;
      expect({ pattern, at }).not.toEqual({ pattern, at: 0 });
      const rig = createRig();
      initWithAgents(rig);
      expect((await rig.run(['run', '320'], { env: { ORCHESTRATE_TEST_CROSSING: String(at) } })).signal).toBe('SIGKILL');
      expect({ pattern, ...(await verify(rig)) }).toMatchObject({ pattern, code: 0, failed: [] });
    }
  });

  test('follows a ticket through its epochs, and accepts a rebuild that was interrupted', { timeout: 120_000 }, async () => {
    const rig = await finished();
    const trace = join(rig.dir, 'crossings');
    const rebuild = ['run', '320', '--rebuild', 'post-mortem'];
    expect((await rig.run(rebuild, { env: { ORCHESTRATE_TEST_CROSSINGS: trace } })).code).toBe(0);
    const seen = await verify(rig);
    expect(seen).toMatchObject({ code: 0, failed: [] });
    expect(seen.rows.find(({ name }) => name === 'epoch 1')).toMatchObject({ ok: true, detail: expect.stringMatching(/^archived: 16 checks of its \d+ journal lines/) as string });

    await restoring(rig, async () => {
      overwrite(rig, `${RUN}/epochs/1/state/30_critic_summary.md`, (text) => text.replace('REJECTED', 'APPROVED'));
      overwrite(rig, `${RUN}/epochs/1/artifacts/notes/post-mortem-scar.md`, () => '# Other\n');
      expect((await verify(rig)).failedNames).toEqual(['epoch 1: 30_critic_summary.md', 'epoch 1: artifacts/notes']);
    });
    await restoring(rig, async () => {
      overwrite(rig, `${RUN}/epochs/1/journal.jsonl`, (text) => `${text.trimEnd().split('\n').slice(0, -1).join('\n')}\n`);
      expect((await verify(rig)).failed).toContainEqual(expect.stringMatching(/^epoch 1: journal chain: it is not the journal of \d+ lines that epoch 2 follows$/));
    });
    await restoring(rig, async () => {
      rmSync(IN_RUN(rig, 'epochs'), { recursive: true });
      expect((await verify(rig)).failedNames).toContain('epoch 1: journal chain');
    });

    const crossings = readFileSync(trace, 'utf8').split('\n');
    const over = crossings.indexOf('rebuild over');
    const places = [1, crossings.indexOf('rebuild staged') + 1, ...crossings.flatMap((name, index) => (index < over && name.startsWith('moved ') ? [index + 1] : []))];
    expect(places.length).toBeGreaterThan(6);
    for (const at of places) {
      await restoring(rig, async () => {
        expect((await rig.run(rebuild, { env: { ORCHESTRATE_TEST_CROSSING: String(at) } })).signal).toBe('SIGKILL');
        expect({ at, name: crossings[at - 1], ...(await verify(rig)) }).toMatchObject({ at, code: 0, failed: [] });
        expect({ at, ...(await verify(rig, { env: { ORCHESTRATE_HOME: join(rig.dir, 'another') } })) }).toMatchObject({ at, code: 0, failed: [] });
      });
    }
  });

  test('of a ticket without a run is a usage error', async () => {
    const rig = createRig();
    initWithAgents(rig);
    expect(await rig.run(['verify', '320'])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('has no run here') as string });
  });
});
