import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { boot } from '../../orchestrator/record/boot.js';
import { emptyRun } from '../../orchestrator/machine/run-state.js';
import { checkpointWriter, readCheckpoint, sealedCheckpoint } from '../../orchestrator/record/checkpoint.js';
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
  const journal = join(folder(), 'journal.jsonl');
  writeFileSync(journal, JOURNAL);
  checkpointWriter(path, KEY, journal).write(HEAD, run);
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

test('a long run writes one now and then: a kill leaves no more than some thousand lines to be replayed', () => {
  const run = newRun();
  const first = run.open();
  first.record(opened());
  for (let id = 1; id <= 2_500; id += 1) {
    first.record({ type: 'directive.read', id, digest: `sha256:${'0'.repeat(64)}`, text: `directive ${id}` });
  }
  // Killed here: nothing is closed.
  const journal = readFileSync(run.directory.journal);
  const checkpoint = readCheckpoint(run.directory.checkpoint, KEY, journal);
  expect(checkpoint?.head.seq).toBeGreaterThanOrEqual(2_000);
  expect(checkpoint?.head.seq).toBeLessThanOrEqual(2_501);
  const booted = boot(run.directory, KEY);
  expect(booted.head.seq).toBe(2_501);
  expect(booted.run.directivesRead).toHaveLength(2_500);
});
