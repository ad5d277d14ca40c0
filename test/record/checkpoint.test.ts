import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { emptyRun } from '../../orchestrator/machine/run-state.js';
import { readCheckpoint, sealedCheckpoint, writeCheckpoint } from '../../orchestrator/record/checkpoint.js';
import { folder, KEY, newRun, opened, OTHER_KEY, started } from '../helpers/core.js';

const JOURNAL = Buffer.from('one\ntwo\n');
const HEAD = { seq: 1, hash: 'a'.repeat(64), bytes: 4 };

const written = (): string => {
  const path = join(folder(), 'checkpoint.json');
  const run = emptyRun('320');
  run.seq = 1;
  run.targets.set('plan', {
    value: 'running',
    context: { attempt: 1, failures: 0, round: 1, gate: 0, feedback: [] },
  });
  writeCheckpoint(path, KEY, { head: HEAD, run, journal: JOURNAL });
  return path;
};

test('what was written is read back, as long as the journal begins with the same bytes', () => {
  const checkpoint = readCheckpoint(written(), KEY, JOURNAL);
  expect(checkpoint?.head).toEqual(HEAD);
  expect(checkpoint?.run.targets.get('plan')?.value).toBe('running');
  expect(readCheckpoint(written(), KEY, Buffer.from('one\nother\n'))?.head).toEqual(HEAD);
});

describe('is not believed', () => {
  test.each([
    ['with another key', OTHER_KEY, JOURNAL],
    ['for a journal that begins otherwise', KEY, Buffer.from('two\none\n')],
    ['for a journal that is shorter', KEY, Buffer.from('one')],
    ['for no journal', KEY, Buffer.alloc(0)],
  ])('%s', (_, key, journal) => {
    expect(readCheckpoint(written(), key, journal)).toBeUndefined();
  });

  test('when any byte of it was changed', () => {
    const path = written();
    const whole = readFileSync(path);
    for (let at = 0; at < whole.length; at += 1) {
      // The newline between seal and text says nothing.
      if (at === 64) continue;
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 1;
      writeFileSync(path, changed);
      expect(sealedCheckpoint(path, KEY, JOURNAL)).toBeUndefined();
    }
  });

  test('when there is none', () => {
    expect(readCheckpoint(join(folder(), 'none'), KEY, JOURNAL)).toBeUndefined();
  });
});

test('one whose seal holds says whether the journal is still the one that it was made from', () => {
  expect(sealedCheckpoint(written(), KEY, JOURNAL)?.fits).toBe(true);
  expect(sealedCheckpoint(written(), KEY, Buffer.from('two\n'))?.fits).toBe(false);
  expect(sealedCheckpoint(written(), OTHER_KEY, JOURNAL)).toBeUndefined();
});

test('is written when there is news, or when it is missing', () => {
  const run = newRun();
  const read = (): string => readFileSync(run.directory.checkpoint, 'utf8');
  const first = run.open();
  first.record(opened());
  first.close();
  const made = read();
  writeFileSync(run.directory.checkpoint, 'damaged');
  run.open().close();
  expect(read()).toBe('damaged');
  const second = run.open();
  second.record(started('plan'));
  second.close();
  expect(read()).not.toBe(made);
  expect(readCheckpoint(run.directory.checkpoint, KEY, readFileSync(run.directory.journal))?.head.seq).toBe(
    2,
  );
});
