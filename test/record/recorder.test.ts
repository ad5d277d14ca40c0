import {
  appendFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { JournalLine } from '../../orchestrator/model/event.js';
import { targetState } from '../../orchestrator/machine/run-state.js';
import { nextActionOf } from '../../orchestrator/record/next.js';
import { trackerOf } from '../../orchestrator/record/tracker.js';
import { nextActionDocument } from '../../orchestrator/state/next-action.js';
import {
  answered,
  done,
  ended,
  failed,
  failureOf,
  KEY,
  newRun,
  opened,
  started,
  steppingClock,
  type TestRun,
} from '../helpers/core.js';
import { withVariable } from '../helpers/fresh-module.js';

const document = (name: string, text: string, append?: true) => ({
  name,
  text,
  ...(append === undefined ? {} : { append }),
});
const stateFile = (run: TestRun, name: string): string => join(run.directory.state, name);
const journalOf = (run: TestRun): string =>
  existsSync(run.directory.journal) ? readFileSync(run.directory.journal, 'utf8') : '';

describe('W1: journal first, then believe', () => {
  test('when the listener hears of a line, it is on the disk, in the state, and its documents are written', () => {
    const run = newRun();
    const heard: JournalLine[] = [];
    const seen: unknown[] = [];
    const recorder = run.open({
      onLine: (line) => {
        heard.push(line);
        seen.push([
          journalOf(run).trimEnd().split('\n').length,
          recorder.run.seq,
          existsSync(stateFile(run, '10_ticket.md')),
        ]);
      },
    });
    recorder.record(opened());
    recorder.record(started('plan'));
    const line = recorder.record(done('plan', { documents: [document('10_ticket.md', 'ticket')] }));
    expect(seen).toEqual([
      [1, 1, false],
      [2, 2, false],
      [3, 3, true],
    ]);
    expect(heard).toHaveLength(3);
    expect(heard[2]).toEqual(line);
    expect(targetState(recorder.run, 'plan').value).toBe('done');
    recorder.close();
  });

  test('an event that cannot follow is refused before it is written: the run can be opened again', () => {
    const run = newRun();
    const recorder = run.open();
    recorder.record(opened());
    const before = journalOf(run);
    expect(() => recorder.record(ended('plan'))).toThrow(
      'child.ended cannot follow: target `plan` is pending',
    );
    expect(journalOf(run)).toBe(before);
    recorder.record(started('plan'));
    recorder.close();
    expect(run.boot().run.seq).toBe(2);
  });

  test('what could not be written did not happen: no state, no document, nobody is told', async () => {
    const run = newRun();
    const first = run.open();
    first.record(opened());
    first.record(started('plan'));
    first.close();
    const before = journalOf(run);
    // The append of this copy fails at the disk, once.
    const fresh = await withVariable(
      'ORCHESTRATE_TEST_CROSSING',
      '2:ENOSPC',
      () => import('../../orchestrator/record/recorder.js'),
    );
    const told = vi.fn<(line: JournalLine) => void>();
    const recorder = fresh.openRecorder({
      directory: run.directory,
      key: KEY,
      booted: run.boot(),
      pipeline: run.pipeline,
      clock: steppingClock(),
      onLine: told,
    });
    const event = done('plan', { documents: [document('10_ticket.md', 'ticket')] });
    expect(() => recorder.record(event)).toThrow('ENOSPC');
    expect(told).not.toHaveBeenCalled();
    expect(targetState(recorder.run, 'plan').value).toBe('running');
    expect(recorder.run.seq).toBe(2);
    expect(existsSync(stateFile(run, '10_ticket.md'))).toBe(false);
    expect(journalOf(run)).toBe(before);
    recorder.record(event);
    expect(told).toHaveBeenCalledOnce();
    recorder.close();
  });

  test('the time of a line is the time of the event: a replay needs no clock', () => {
    const run = newRun();
    const recorder = run.open();
    const { at } = recorder.record(started('plan'));
    recorder.close();
    expect(targetState(recorder.run, 'plan').context.startedAt).toBe(at);
    expect(targetState(run.boot().run, 'plan').context.startedAt).toBe(at);
  });
});

describe('W2: no 99 while a child runs', () => {
  const next = (run: TestRun): string => readFileSync(stateFile(run, '99_next_action.md'), 'utf8');

  test('neither in this process nor after a restart, until its end is recorded', () => {
    const run = newRun();
    const first = run.open();
    first.record(opened());
    first.writeNextAction();
    const before = next(run);
    first.record(started('plan', { child: '00-plan.1' }));
    first.writeNextAction();
    expect(next(run)).toBe(before);
    first.close();
    const second = run.open();
    second.record({ type: 'directive.read', id: 1, digest: `sha256:${'0'.repeat(64)}`, text: 'x' });
    second.writeNextAction();
    expect(next(run)).toBe(before);
    second.record(ended('plan'));
    second.writeNextAction();
    expect(next(run)).toContain('gates are asked');
    second.close();
  });

  test('with two children, until both have ended', () => {
    const run = newRun();
    const recorder = run.open();
    recorder.record(started('plan', { child: '00-plan.1' }));
    recorder.record(started('diff', { child: '01-diff.1' }));
    recorder.record(ended('plan'));
    recorder.writeNextAction();
    expect(existsSync(stateFile(run, '99_next_action.md'))).toBe(false);
    recorder.record(failed('diff', { retry: true }));
    recorder.writeNextAction();
    expect(next(run)).toContain('seq: 4\n');
    recorder.close();
  });

  test('work in process is no child', () => {
    const run = newRun();
    const recorder = run.open();
    recorder.record(started('plan'));
    recorder.writeNextAction();
    expect(next(run)).toContain('Current Target: 0 plan (in process)');
    recorder.close();
  });

  test('it is what the journal implies, after this process as after the next', () => {
    const run = newRun();
    const recorder = run.open();
    for (const event of [opened(), started('plan'), done('plan')]) recorder.record(event);
    recorder.writeNextAction();
    recorder.close();
    const { run: state } = run.boot();
    expect(next(run)).toBe(nextActionDocument(nextActionOf(run.pipeline, state, trackerOf(state)), KEY));
  });

  test('it is written once a line, in one step', () => {
    const run = newRun();
    const recorder = run.open();
    recorder.record(opened());
    recorder.writeNextAction();
    const { ino } = statSync(stateFile(run, '99_next_action.md'));
    recorder.writeNextAction();
    expect(statSync(stateFile(run, '99_next_action.md')).ino).toBe(ino);
    recorder.record(started('plan'));
    recorder.writeNextAction();
    // Replaced, not overwritten: a reader never sees half of it.
    expect(statSync(stateFile(run, '99_next_action.md')).ino).not.toBe(ino);
    recorder.close();
    const again = run.open();
    again.writeNextAction();
    again.close();
    expect(readdirSync(run.directory.state)).toEqual(['99_next_action.md']);
  });
});

test('W3: only the journal is synced', async () => {
  const run = newRun();
  const trace = join(run.root, 'trace');
  const fresh = await withVariable(
    'ORCHESTRATE_TEST_CROSSINGS',
    trace,
    () => import('../../orchestrator/record/recorder.js'),
  );
  const recorder = fresh.openRecorder({
    directory: run.directory,
    key: KEY,
    booted: run.boot(),
    pipeline: run.pipeline,
    clock: steppingClock(),
  });
  recorder.record(
    opened('320', {
      documents: [document('00_governance.md', 'laws'), document('30_critic_summary.md', 'x', true)],
    }),
  );
  recorder.writeNextAction();
  recorder.close();
  const crossings = readFileSync(trace, 'utf8').trimEnd().split('\n');
  // The folder once, so that the journal's name survives; then one sync a line.
  expect(crossings.filter((name) => name.startsWith('sync'))).toEqual([
    'sync folder 320',
    'synced run.opened',
  ]);
});

describe('write modes', () => {
  test('a document that is there is never written again, also not after a restart', () => {
    const run = newRun();
    const first = run.open();
    first.record(opened('320', { documents: [document('00_governance.md', 'laws')] }));
    first.close();
    const second = run.open();
    const { kind } = failureOf(() =>
      second.record(opened('320', { documents: [document('00_governance.md', 'other laws')] })),
    );
    expect(kind).toBe('record-refused');
    expect(readFileSync(stateFile(run, '00_governance.md'), 'utf8')).toBe('laws');
    expect(statSync(stateFile(run, '00_governance.md')).mode & 0o777).toBe(0o444);
    second.close();
  });

  test('30 only grows: what was there is a prefix of what is there, round after round and start after start', () => {
    const run = newRun();
    let before = Buffer.alloc(0);
    const path = stateFile(run, '30_critic_summary.md');
    for (let round = 1; round <= 4; round += 1) {
      const recorder = run.open();
      if (round === 1) for (const event of [started('diff'), ended('diff')]) recorder.record(event);
      recorder.record(
        answered('diff', {
          kind: 'verdict',
          outcome: 'refused',
          documents: [document('30_critic_summary.md', `round ${round} – ü\n`, true)],
        }),
      );
      recorder.close();
      const now = readFileSync(path);
      expect(now.subarray(0, before.length).equals(before)).toBe(true);
      expect(now.length).toBeGreaterThan(before.length);
      before = now;
      // A crash in the middle of the append.
      if (round < 4) truncateSync(path, now.length - 3);
      if (round < 4) run.open().close();
      expect(readFileSync(path).equals(now)).toBe(true);
    }
  });
});

test('a torn journal line is cut off before the next one', () => {
  const run = newRun();
  const first = run.open();
  first.record(opened());
  first.close();
  appendFileSync(run.directory.journal, '{"v":1,"seq":2,"at"');
  const second = run.open();
  second.record(started('plan'));
  second.close();
  expect(run.boot()).toMatchObject({ torn: 0, run: { seq: 2 } });
});

test('a checkpoint that cannot be read is made again from the journal', () => {
  const run = newRun();
  const first = run.open();
  first.record(opened());
  first.close();
  writeFileSync(run.directory.checkpoint, '\0');
  expect(run.boot().run.seq).toBe(1);
});
