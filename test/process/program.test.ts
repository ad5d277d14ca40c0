import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveProgram } from '../../orchestrator/process/program.js';
import { temporaryFolder } from '../helpers/child.js';

const program = (path: string, mode = 0o755): string => {
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, mode);
  return path;
};

test('the first executable file on the path is the program', () => {
  const cwd = temporaryFolder();
  for (const name of ['a', 'b', 'c']) mkdirSync(join(cwd, name));
  program(join(cwd, 'a', 'tool'), 0o644);
  mkdirSync(join(cwd, 'b', 'tool'));
  const tool = program(join(cwd, 'c', 'tool'));
  const path = [...['a', 'b', 'c'].map((name) => join(cwd, name)), '/no/such/folder'].join(':');
  expect(resolveProgram('tool', { path, cwd })).toBe(tool);
  expect(resolveProgram('other', { path, cwd })).toBeUndefined();
});

test('relative and empty entries of the path are skipped', () => {
  const cwd = temporaryFolder();
  program(join(cwd, 'tool'));
  for (const path of ['', '.', ':', './', ':.:'])
    expect(resolveProgram('tool', { path, cwd })).toBeUndefined();
});

test('a name with a slash is relative to the folder, not looked for', () => {
  const cwd = temporaryFolder();
  const tool = program(join(cwd, 'tool'));
  symlinkSync(tool, join(cwd, 'link'));
  expect(resolveProgram('./tool', { path: undefined, cwd })).toBe(tool);
  expect(resolveProgram('./link', { path: undefined, cwd })).toBe(join(cwd, 'link'));
  expect(resolveProgram(tool, { path: undefined, cwd: '/' })).toBe(tool);
  expect(resolveProgram('./nothing', { path: '/usr/bin', cwd })).toBeUndefined();
});

test('without a path the usual folders are searched', () => {
  expect(resolveProgram('sh', { path: undefined, cwd: '/' })).toMatch(/\/bin\/sh$/);
});

test('no name is no program', () => {
  for (const name of ['', 'a\0b'])
    expect(resolveProgram(name, { path: '/usr/bin', cwd: '/' })).toBeUndefined();
});
