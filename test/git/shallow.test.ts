import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readShallow, updateShallow } from '../../orchestrator/git/shallow.js';

const A = 'a'.repeat(40);

const gitDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'orchestrate-shallow-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

test.each([
  ['a moment ago', 0],
  ['a minute ago', -60],
  ['by a clock that was set back since', 60],
])('a lock that a killed process left %s holds nobody up for ever', async (_, seconds) => {
  const dir = gitDir();
  const lock = join(dir, 'shallow.lock');
  writeFileSync(lock, '');
  const at = Date.now() / 1_000 + seconds;
  utimesSync(lock, at, at);
  await updateShallow(dir, { add: [A], drop: [] });
  expect(readShallow(dir)).toEqual([A]);
  expect(readdirSync(dir)).toEqual(['shallow']);
  await updateShallow(dir, { add: [], drop: [A] });
  expect(existsSync(join(dir, 'shallow'))).toBe(false);
});
