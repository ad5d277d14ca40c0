import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import {
  childName,
  DOCUMENTS,
  makeRunDirectory,
  runDirectory,
  stateFolder,
  storePath,
  ticketsWithRuns,
} from '../../orchestrator/state/run-dir.js';
import { folder } from '../helpers/core.js';

test('the five documents have the names and the order in which they are read', () => {
  expect(DOCUMENTS).toEqual([
    '00_governance.md',
    '10_ticket.md',
    '20_plan_approved.md',
    '30_critic_summary.md',
    '99_next_action.md',
  ]);
  expect(DOCUMENTS.toSorted()).toEqual([...DOCUMENTS]);
});

test('everything of a run lies below its own folder, and naming creates nothing', () => {
  const root = folder();
  const run = runDirectory(root, '320');
  const paths = [
    run.state,
    run.journal,
    run.checkpoint,
    run.inbox,
    run.children,
    run.artifacts,
    run.tree,
    run.document('00_governance.md'),
    run.child('03-x.1'),
  ];
  for (const path of paths) expect(relative(run.path, path)).not.toMatch(/^\.\./);
  expect(new Set(paths).size).toBe(paths.length);
  expect(run.path).toBe(join(root, '.orchestrate', '320'));
  expect(storePath(root)).toBe(join(root, '.orchestrate', 'store.git'));
  expect(readdirSync(root)).toEqual([]);
});

test('making it is harmless when it is there, and the folder ignores itself', () => {
  const root = folder();
  const run = runDirectory(root, '320');
  makeRunDirectory(root, run);
  writeFileSync(run.journal, 'x');
  writeFileSync(join(stateFolder(root), '.gitignore'), 'own\n');
  makeRunDirectory(root, run);
  makeRunDirectory(root, runDirectory(root, '321'));
  expect(readFileSync(run.journal, 'utf8')).toBe('x');
  expect(readFileSync(join(stateFolder(root), '.gitignore'), 'utf8')).toBe('own\n');
  expect([run.state, run.inbox, run.children, run.artifacts].every((path) => existsSync(path))).toBe(true);
  expect(readdirSync(run.state)).toEqual([]);
  const other = folder();
  makeRunDirectory(other, runDirectory(other, '1'));
  expect(readFileSync(join(other, '.orchestrate', '.gitignore'), 'utf8')).toBe('*\n');
});

test('a child is named by its number, target and generation', () => {
  expect(childName(3, 'implementation-diff', 2)).toBe('03-implementation-diff.2');
  expect(childName(123, 'a', 10)).toBe('123-a.10');
});

test('tickets with runs are those with a journal, in lexical order', () => {
  const root = folder();
  expect(ticketsWithRuns(root)).toEqual([]);
  for (const ticket of ['321', '320', 'a', 'store.git', '.hidden']) {
    mkdirSync(join(root, '.orchestrate', ticket), { recursive: true });
    writeFileSync(join(root, '.orchestrate', ticket, 'journal.jsonl'), '');
  }
  mkdirSync(join(root, '.orchestrate', '322'));
  writeFileSync(join(root, '.orchestrate', '323'), '');
  expect(ticketsWithRuns(root)).toEqual(['320', '321', 'a']);
});
