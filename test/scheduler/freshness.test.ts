import { describe, expect, test } from 'vitest';
import type { Digest } from '../../orchestrator/model/digest.js';
import type { RunEvent } from '../../orchestrator/model/event.js';
import type { Target } from '../../orchestrator/model/pipeline.js';
import { applyLine, emptyRun, type RunState } from '../../orchestrator/machine/run-state.js';
import {
  ABSENT,
  currentInputs,
  freshnessOf,
  outputDigest,
  type Freshness,
  type TargetFiles,
} from '../../orchestrator/scheduler/freshness.js';
import {
  abandoned,
  answered,
  digest,
  done,
  ended,
  failed,
  invalidated,
  paused,
  started,
  target,
} from '../helpers/core.js';

const NOW = Date.parse('2025-12-31T00:00:00.000Z');

/** Files as they are now: digests by path; inputs as the pipeline names them. */
const filesOf = (digests: Readonly<Record<string, string>>, isGone = false): TargetFiles => ({
  isGone: () => isGone,
  inputs: ({ inputs }) => inputs,
  digest: (path): Digest | undefined => (digests[path] === undefined ? undefined : digest(digests[path])),
});

const replay = (...events: readonly RunEvent[]): RunState => {
  const run = emptyRun('320');
  for (const event of events)
    applyLine(run, { v: 1, seq: run.seq + 1, at: '2025-11-30T12:00:00.000Z', event });
  return run;
};

/** `a`, `b` that needs it, made from these files. */
const made = (each: Target, files: TargetFiles): RunState => {
  const run = replay(started('a'), done('a'));
  const inputs = currentInputs(each, run, files);
  for (const event of [
    started(each.name, { inputs, recipe: each.recipeDigest, child: '01-b.1' }),
    done(each.name, { output: outputDigest(each, files, inputs) }),
  ]) {
    applyLine(run, { v: 1, seq: run.seq + 1, at: 'now', event });
  }
  return run;
};

const B = target('b', ['a'], { inputs: ['src/x.ts', 'src/y.ts'], outputs: ['dist/b', 'dist/c'] });
const FILES = { 'src/x.ts': 'x', 'src/y.ts': 'y', 'dist/b': 'b', 'dist/c': 'c' };

const judge = (
  each: Target,
  now: Readonly<Record<string, string>>,
  run = made(B, filesOf(FILES)),
): Freshness => freshnessOf(each, run, filesOf(now), NOW);
const without = (...paths: readonly (keyof typeof FILES)[]): Record<string, string> =>
  Object.fromEntries(Object.entries(FILES).filter(([path]) => !paths.includes(path as keyof typeof FILES)));

describe('a target that is done', () => {
  test('is fresh while recipe, inputs and outputs are what they were', () => {
    expect(judge(B, FILES)).toEqual({ kind: 'fresh' });
  });

  test.each<[string, Target, Readonly<Record<string, string>>]>([
    [
      'its recipe changed (definition, worker, kernel or manual)',
      { ...B, recipeDigest: digest('other') },
      FILES,
    ],
    ['input src/x.ts changed', B, { ...FILES, 'src/x.ts': 'other' }],
    ['input src/y.ts changed', B, without('src/y.ts')],
    [
      'input src/new.ts is new',
      { ...B, inputs: [...B.inputs, 'src/new.ts'] },
      { ...FILES, 'src/new.ts': 'n' },
    ],
    ['input src/y.ts is gone', { ...B, inputs: ['src/x.ts'] }, FILES],
    ['input c is new', { ...B, needs: ['a', 'c'] }, FILES],
    ['input a is gone', { ...B, needs: [] }, FILES],
    ['output dist/c is missing', B, without('dist/c')],
    ['an output was changed by someone else', B, { ...FILES, 'dist/b': 'other' }],
  ])('%s', (reason, each, now) => {
    const run = made(B, filesOf(FILES));
    for (const event of [started('c'), done('c')])
      applyLine(run, { v: 1, seq: run.seq + 1, at: 'now', event });
    expect(judge(each, now, run)).toEqual({ kind: 'stale', reason });
    expect(judge({ ...each, latch: true }, now, run)).toEqual({ kind: 'held', reason });
  });

  test('is out of date when what it needs came out differently, and not when that was made again with the same result', () => {
    const run = made(B, filesOf(FILES));
    const again = (output: Digest): void => {
      for (const event of [started('a', { attempt: 2 }), done('a', { output })])
        applyLine(run, { v: 1, seq: run.seq + 1, at: 'now', event });
    };
    again(digest('output of a'));
    expect(judge(B, FILES, run)).toEqual({ kind: 'fresh' });
    again(digest('another output'));
    expect(judge(B, FILES, run)).toEqual({ kind: 'stale', reason: 'input a changed' });
  });

  test('an input that was not there when it was made, and is not there now, is no change; its arrival is', () => {
    const run = made(B, filesOf(without('src/y.ts')));
    expect(judge(B, without('src/y.ts'), run)).toEqual({ kind: 'fresh' });
    expect(judge(B, FILES, run)).toEqual({ kind: 'stale', reason: 'input src/y.ts changed' });
  });

  test('that was left out (`when:`) had no child and made nothing: its outputs are not missed', () => {
    const run = replay(started('a'), done('a'));
    const inputs = currentInputs(B, run, filesOf(FILES));
    for (const event of [started('b', { inputs, recipe: B.recipeDigest }), done('b')]) {
      applyLine(run, { v: 1, seq: run.seq + 1, at: 'now', event });
    }
    expect(judge(B, without('dist/b', 'dist/c'), run)).toEqual({ kind: 'fresh' });
    expect(judge(B, { ...FILES, 'src/x.ts': 'other' }, run)).toEqual({
      kind: 'stale',
      reason: 'input src/x.ts changed',
    });
  });

  test('a path that is named twice, by itself and by a glob, counts once', () => {
    const twice = { ...B, inputs: ['src/x.ts', 'src/y.ts', 'src/x.ts'] };
    expect(judge(twice, FILES, made(twice, filesOf(FILES)))).toEqual({ kind: 'fresh' });
  });

  test('files that were cleaned away when nothing was left to make are no change; any other is told and held', () => {
    const run = made(B, filesOf(FILES));
    const gone = (each: Target): Freshness => freshnessOf(each, run, filesOf({}, true), NOW);
    expect(gone(B)).toEqual({ kind: 'fresh' });
    const told = (change: string): Freshness => ({
      kind: 'held',
      reason: `${change}, but the tree was cleaned away`,
    });
    expect(gone({ ...B, recipeDigest: digest('other') })).toEqual(
      told('its recipe changed (definition, worker, kernel or manual)'),
    );
    for (const event of [started('a', { attempt: 2 }), done('a', { output: digest('other') })]) {
      applyLine(run, { v: 1, seq: run.seq + 1, at: 'now', event });
    }
    expect(gone(B)).toEqual(told('input a changed'));
  });

  test('a file and a prerequisite of one name are two inputs', () => {
    const both = { ...B, inputs: ['a'] };
    const run = made(both, filesOf({ ...FILES, a: 'file' }));
    expect(judge(both, { ...FILES, a: 'file' }, run)).toEqual({ kind: 'fresh' });
    expect(judge(both, { ...FILES, a: 'other' }, run)).toEqual({ kind: 'stale', reason: 'input a changed' });
  });
});

describe('a target that is not done', () => {
  const state = (...events: readonly RunEvent[]): Freshness =>
    freshnessOf(target('a'), replay(...events), filesOf({}), NOW);

  test.each<[Freshness, readonly RunEvent[]]>([
    [{ kind: 'stale', reason: 'it was never made' }, []],
    [{ kind: 'stale', reason: 'round 1: REJECTED' }, [started('a'), done('a'), invalidated('a')]],
    [{ kind: 'stale', reason: 'its child was left running or its end was not recorded' }, [started('a')]],
    [
      { kind: 'stale', reason: 'its work is there and its gates are still to be asked' },
      [started('a'), ended('a')],
    ],
    [{ kind: 'stale', reason: 'it failed: exit status 1' }, [started('a'), failed('a')]],
    [
      { kind: 'resting', reason: 'it waits for a person' },
      [started('a'), ended('a'), answered('a', { outcome: 'awaiting' })],
    ],
    [{ kind: 'resting', reason: 'it was abandoned: not wanted any more' }, [abandoned('a')]],
    [{ kind: 'resting', reason: 'it is paused until 2026-01-01T00:00:00.000Z' }, [started('a'), paused('a')]],
    [
      { kind: 'stale', reason: 'its pause is over' },
      [started('a'), paused('a', { until: '2025-12-30T00:00:00.000Z' })],
    ],
    [{ kind: 'stale', reason: 'its pause is over' }, [started('a'), paused('a', { until: null })]],
  ])('%j', (freshness, events) => {
    expect(state(...events)).toEqual(freshness);
  });
});

describe('outputDigest', () => {
  test('of output files is over their paths and bytes, whatever it was made from', () => {
    const of = (files: Readonly<Record<string, string>>, each = B): Digest =>
      outputDigest(each, filesOf(files), { a: digest('a') });
    expect(of(FILES)).toBe(outputDigest({ ...B, recipeDigest: digest('other') }, filesOf(FILES), {}));
    expect(of({ ...FILES, 'dist/b': 'other' })).not.toBe(of(FILES));
    expect(of(without('dist/b'))).not.toBe(of(FILES));
    expect(of(FILES, { ...B, outputs: ['dist/b'] })).not.toBe(of(FILES));
    expect(of({ ...FILES, 'dist/b': 'c', 'dist/c': 'b' })).not.toBe(of(FILES));
  });

  test('without output files is over recipe and inputs', () => {
    const each = { ...B, outputs: [] };
    const of = (inputs: Record<string, Digest>, recipeDigest = each.recipeDigest): Digest =>
      outputDigest({ ...each, recipeDigest }, filesOf({}), inputs);
    expect(of({ a: digest('1') })).toBe(of({ a: digest('1') }));
    expect(of({ a: digest('2') })).not.toBe(of({ a: digest('1') }));
    expect(of({ a: digest('1') }, digest('other'))).not.toBe(of({ a: digest('1') }));
  });
});

test('the inputs that are recorded: outputs of prerequisites by name, files by path, what is absent as absent', () => {
  const run = replay(started('a'), done('a'));
  expect(currentInputs({ ...B, needs: ['a', 'c'] }, run, filesOf({ 'src/x.ts': 'x' }))).toEqual({
    a: digest('output of a'),
    c: ABSENT,
    'file:src/x.ts': digest('x'),
    'file:src/y.ts': ABSENT,
  });
});
