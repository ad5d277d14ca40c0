import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openTargetFiles } from '../../orchestrator/effects/target-files.js';
import { digestOf } from '../../orchestrator/model/digest.js';
import type { FileStat } from '../../orchestrator/model/event.js';
import type { Target } from '../../orchestrator/model/pipeline.js';
import { folder, pipelineOf, target } from '../helpers/core.js';

const withFiles = (...paths: readonly string[]): string => {
  const root = folder();
  mkdirSync(join(root, 'src'));
  for (const path of paths) writeFileSync(join(root, path), path);
  return root;
};

const open = (root: string, each: Target, more: Partial<Parameters<typeof openTargetFiles>[0]> = {}) =>
  openTargetFiles({
    pipeline: pipelineOf([each]),
    root: () => root,
    memory: {},
    now: () => Date.now() + 60_000,
    isOver: () => false,
    ...more,
  });

test('inputs are the paths as they stand, with globs expanded; a file that two of them name is one input', async () => {
  const each = target('a', [], { inputs: ['src/*', 'none', 'src/b', 'src/{b,c}'] });
  const files = await open(withFiles('src/a', 'src/b', 'src/c'), each);
  expect(files.inputs(each)).toEqual(['src/a', 'src/b', 'src/c', 'none']);
});

test('a file that arrives is seen at the next question', async () => {
  const each = target('a', [], { inputs: ['src/*'] });
  const root = withFiles('src/a');
  const files = await open(root, each);
  expect(files.inputs(each)).toEqual(['src/a']);
  writeFileSync(join(root, 'src/b'), '');
  expect(files.inputs(each)).toEqual(['src/a', 'src/b']);
});

test('without a glob nothing is expanded', async () => {
  const each = target('a', [], { inputs: ['src/a', 'src'] });
  const files = await open(withFiles('src/a'), each);
  expect(files.inputs(each)).toBe(each.inputs);
});

test('paths are relative to the folder of the moment: the repository first, the tree when there is one', async () => {
  const [repository, tree] = [withFiles('src/a'), withFiles('src/a')];
  writeFileSync(join(tree, 'src/a'), 'changed');
  let root = repository;
  const files = await open('', target('a', [], { inputs: ['src/a'] }), { root: () => root });
  expect(files.digest('src/a')).toBe(digestOf('src/a'));
  root = tree;
  expect(files.digest('src/a')).toBe(digestOf('changed'));
  root = repository;
  expect(files.digest('src/a')).toBe(digestOf('src/a'));
  expect(files.digest('none')).toBeUndefined();
});

test('what was learned is in the memory that was given, and is said', async () => {
  const memory: Record<string, FileStat> = {};
  const root = withFiles('src/a');
  const first = await open(root, target('a'), { memory });
  expect(first.learned()).toBe(false);
  first.digest('src/a');
  expect(first.learned()).toBe(true);
  expect(memory['src/a']?.digest).toBe(digestOf('src/a'));
  const second = await open(root, target('a'), { memory });
  second.digest('src/a');
  expect(second.learned()).toBe(false);
});

test('a folder that was cleaned away is gone only when nothing is to be made any more', async () => {
  const root = withFiles('src/a');
  expect((await open(root, target('a'), { isOver: () => true })).isGone()).toBe(false);
  rmSync(root, { recursive: true });
  expect((await open(root, target('a'), { isOver: () => true })).isGone()).toBe(true);
  expect((await open(root, target('a'))).isGone()).toBe(false);
});

test("the ticket's own file is an input of the target that reads it, wherever the others lie", async () => {
  const root = withFiles();
  const checkout = folder();
  mkdirSync(join(checkout, 'tickets'));
  writeFileSync(join(checkout, 'tickets/320.md'), 'ticket');
  const each = target('ticket', [], { recipe: { kind: 'builtin', builtin: 'ticket' }, inputs: ['src'] });
  const files = await open(root, each, { ticket: { root: checkout, id: '320' } });
  const [own, ...others] = files.inputs(each);
  expect(others).toEqual(['src']);
  expect(files.digest(own ?? '')).toBe(digestOf('ticket'));
  rmSync(join(checkout, 'tickets/320.md'));
  expect(files.digest(own ?? '')).toBeUndefined();
  expect(files.inputs(target('other'))).toEqual([]);
});
