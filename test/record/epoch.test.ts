import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { digestOf } from '../../orchestrator/model/digest.js';
import type { RunState } from '../../orchestrator/machine/run-state.js';
import { epochFolder, settleEpoch, type NextEpoch } from '../../orchestrator/record/epoch.js';
import { journalBytes, readJournal } from '../../orchestrator/state/journal.js';
import { failureOf, invalidated, KEY, OTHER_KEY, type TestRun } from '../helpers/core.js';
import { diffed, reviewed, SHIPPED, runOf, linesOf, nextOf, rebuild } from '../helpers/epochs.js';
import { contents } from '../helpers/rig.js';

describe('on the disk', () => {
  /** Everything of a run directory that is not about this process. */
  const filesOf = ({ directory }: TestRun): Record<string, string> => contents(directory.path);

  test('the old epoch keeps every byte and its chain, and the new one continues it', () => {
    const run = runOf(SHIPPED);
    const before = filesOf(run);
    const { head } = run.boot();
    rebuild(run, 'diff');
    const archive = epochFolder(run.directory, 1);
    const archived = contents(archive);
    const own = Object.entries(before).filter(([name]) => name !== 'inbox' && !name.startsWith('inbox/'));
    expect(archived).toEqual(Object.fromEntries(own));
    const path = join(archive, 'journal.jsonl');
    expect(readJournal(journalBytes(path), { path, key: KEY }, () => undefined).head).toEqual(head);
    const [first] = linesOf(run.directory.journal);
    expect(first?.event).toMatchObject({
      type: 'run.opened',
      epoch: 2,
      previous: { epoch: 1, seq: head.seq, hash: head.hash },
    });
    expect(readdirSync(run.directory.path).toSorted()).toEqual([
      'artifacts',
      'children',
      'epochs',
      'inbox',
      'journal.jsonl',
      'state',
    ]);
    expect(readdirSync(join(run.directory.path, 'epochs'))).toEqual(['1']);
    expect(readdirSync(run.directory.inbox)).toEqual(['0001.md']);
  });

  test('artifacts and children of kept targets are there, those of rebuilt ones are not', () => {
    const run = runOf(SHIPPED);
    rebuild(run, 'diff');
    expect(Object.keys(contents(run.directory.artifacts))).toEqual([
      'notes',
      'notes/plan-a.md',
      'plan.md',
      'ticket.md',
    ]);
    const other = runOf(SHIPPED);
    rebuild(other, 'push');
    expect(Object.keys(contents(other.directory.artifacts)).toSorted()).toEqual([
      'branch.diff',
      'notes',
      'notes/diff-b.md',
      'notes/plan-a.md',
      'notes/review-c.md',
      'pages',
      'pages/page-0001.diff',
      'plan.md',
      'ticket.md',
    ]);
    expect(readdirSync(other.directory.children).toSorted()).toEqual([
      '01-plan.1',
      '02-diff.2',
      '03-review.2',
      '06-side.1',
    ]);
    expect(readFileSync(join(other.directory.child('02-diff.2'), 'out/return.json'), 'utf8')).toBe('{}');
  });

  test('an artifact that is not what was sealed is left in the archive', () => {
    const run = runOf(SHIPPED);
    rmSync(join(run.directory.artifacts, 'plan.md'));
    writeFileSync(join(run.directory.artifacts, 'plan.md'), 'another plan\n');
    rebuild(run, 'diff');
    expect(existsSync(join(run.directory.artifacts, 'plan.md'))).toBe(false);
    expect(readFileSync(join(epochFolder(run.directory, 1), 'artifacts/plan.md'), 'utf8')).toBe(
      'another plan\n',
    );
  });

  test('what the new epoch replaces or appends does not reach into the old one', () => {
    const run = runOf(SHIPPED);
    rebuild(run, 'commit');
    const archive = contents(epochFolder(run.directory, 1));
    const recorder = run.open();
    recorder.record(invalidated('diff', { also: ['review'], round: 3 }));
    for (const event of diffed(3)) recorder.record(event);
    for (const event of reviewed(3, 'APPROVED')) recorder.record(event);
    recorder.writeNextAction();
    recorder.close();
    expect(run.boot().run.rounds).toHaveLength(3);
    expect(contents(epochFolder(run.directory, 1))).toEqual(archive);
  });

  test('whatever a child left in its folder is no obstacle', () => {
    const run = runOf(SHIPPED);
    const out = join(run.directory.child('06-side.1'), 'out');
    symlinkSync('/etc/hostname', join(out, 'link'));
    execFileSync('mkfifo', [join(out, 'pipe')]);
    mkdirSync(join(out, 'deep', 'er'), { recursive: true });
    writeFileSync(join(out, 'deep', 'er', 'file'), 'x');
    rebuild(run, 'diff');
    expect(readlinkSync(join(out, 'link'))).toBe('/etc/hostname');
    expect(readFileSync(join(out, 'deep/er/file'), 'utf8')).toBe('x');
    expect(existsSync(join(out, 'pipe'))).toBe(false);
    expect(readdirSync(join(epochFolder(run.directory, 1), 'children/06-side.1/out'))).toContain('pipe');
  });

  test('an archive that is there already, or a link in its place, is refused and nothing is touched', () => {
    const run = runOf(SHIPPED);
    mkdirSync(epochFolder(run.directory, 1), { recursive: true });
    const before = filesOf(run);
    expect(failureOf(() => rebuild(run, 'diff'))).toMatchObject({
      kind: 'record-refused',
      where: epochFolder(run.directory, 1),
    });
    expect(filesOf(run)).toEqual(before);
    rmSync(join(run.directory.path, 'epochs'), { recursive: true });
    symlinkSync(run.root, join(run.directory.path, 'epochs'));
    expect(failureOf(() => rebuild(run, 'diff')).message).toBe('`epochs` must be a folder');
  });

  test('a torn last line of the old journal does not count', () => {
    const run = runOf(SHIPPED);
    const { head } = run.boot();
    writeFileSync(run.directory.journal, '{"v":1,"seq":', { flag: 'a' });
    rebuild(run, 'diff');
    expect(linesOf(run.directory.journal)[0]?.event).toMatchObject({
      previous: { seq: head.seq, hash: head.hash },
    });
  });
});

describe('interrupted', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.resetModules();
  });

  /** The n-th crossing of a rebuild fails, as a full disk or a broken one would make it. @returns false when there is none */
  const faultAt = async (n: number, run: TestRun, next: NextEpoch): Promise<boolean> => {
    vi.stubEnv('ORCHESTRATE_TEST_CROSSING', `${n}:ENOSPC`);
    vi.resetModules();
    const { beginEpoch: begin } = await import('../../orchestrator/record/epoch.js');
    try {
      begin(run.directory, next);
      return false;
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
      return true;
    }
  };

  test('by a fault at any step, it either had not begun or is finished by the next open', async () => {
    const expected = comparable(rebuild(runOf(SHIPPED), 'diff'));
    const results = new Set<string>();
    const wrong: string[] = [];
    for (let n = 1; ; n += 1) {
      const run = runOf(SHIPPED);
      const { directory } = run;
      const before = oldFiles(directory.path);
      if (!(await faultAt(n, run, nextOf(run, 'diff')))) break;
      const finished = settleEpoch(directory, KEY);
      const { run: after } = run.boot();
      results.add(`epoch ${after.epoch}, finished: ${finished ?? 'nothing'}`);
      const isWhole =
        after.epoch === 1
          ? isDeepStrictEqual(oldFiles(directory.path), before)
          : isDeepStrictEqual(comparable(after), expected);
      const temporary = Object.keys(contents(directory.path)).filter((name) => /rebuild|tmp/.test(name));
      if (!isWhole || temporary.length > 0)
        wrong.push(`fault ${n}: epoch ${after.epoch} ${temporary.join(' ')}`);
    }
    expect(wrong).toEqual([]);
    // The last of them comes when everything is in its place.
    expect([...results]).toEqual([
      'epoch 1, finished: nothing',
      'epoch 2, finished: diff',
      'epoch 2, finished: nothing',
    ]);
  });

  /** An empty folder for archives is all that a rebuild which did not happen may leave; the checkpoint is a cache. */
  const oldFiles = (path: string): Record<string, string> => contents(path, ['checkpoint.json', 'epochs']);

  const comparable = ({ targets, documents, rounds, left, epoch }: RunState) => ({
    targets: [...targets],
    documents,
    rounds,
    left,
    epoch,
  });

  /** Stops right after the journal was switched: the folders are still the old ones. */
  const halfRebuilt = async (): Promise<TestRun> => {
    for (let n = 1; ; n += 1) {
      const run = runOf(SHIPPED);
      const before = readFileSync(run.directory.journal, 'utf8');
      await faultAt(n, run, nextOf(run, 'diff'));
      if (readFileSync(run.directory.journal, 'utf8') !== before) return run;
    }
  };

  test('in the middle, whoever only reads is told to run, and not that somebody tampered', async () => {
    const run = await halfRebuilt();
    expect(failureOf(() => run.boot())).toMatchObject({
      kind: 'record-refused',
      message: expect.stringContaining('the rebuild of `diff` was interrupted'),
      next: expect.stringContaining('orchestrate run --ticket 320'),
    });
    expect(settleEpoch(run.directory, KEY)).toBe('diff');
    expect(run.boot().run.epoch).toBe(2);
    expect(settleEpoch(run.directory, KEY)).toBeUndefined();
  });

  test('a folder that somebody made again in between is no obstacle', async () => {
    const run = await halfRebuilt();
    const archive = `${epochFolder(run.directory, 1)}.tmp`;
    renameSync(run.directory.state, join(archive, 'state'));
    mkdirSync(run.directory.state);
    settleEpoch(run.directory, KEY);
    expect(run.boot().run.epoch).toBe(2);
    expect(readFileSync(join(epochFolder(run.directory, 1), 'state/00_governance.md'), 'utf8')).toBe(
      'laws of epoch 1\n',
    );
  });

  test('a marker that we did not write is refused', () => {
    const run = runOf(SHIPPED);
    const path = join(run.directory.path, 'rebuild.json');
    const forged = [
      '{}',
      'nothing',
      `${JSON.stringify({ v: 1, asked: 'diff', epoch: 1, journal: digestOf(readFileSync(run.directory.journal)), mac: '0'.repeat(64) })}\n`,
    ];
    for (const text of forged) {
      writeFileSync(path, text);
      expect(failureOf(() => settleEpoch(run.directory, KEY))).toMatchObject({
        kind: 'record-refused',
        where: path,
      });
      expect(failureOf(() => run.boot()).where).toBe(path);
    }
  });

  test('a marker sealed with another key is refused', async () => {
    const run = await halfRebuilt();
    expect(failureOf(() => settleEpoch(run.directory, OTHER_KEY)).kind).toBe('record-refused');
  });
});
