import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  cacheFolder,
  checkoutsFolder,
  existingKey,
  orchestrateHome,
  sealKey,
  treesFolder,
} from '../../orchestrator/state/home.js';
import { failureOf, folder } from '../helpers/core.js';

test.each([
  [{ ORCHESTRATE_HOME: '/own', XDG_STATE_HOME: '/state', HOME: '/home/a' }, '/own'],
  [{ XDG_STATE_HOME: '/state', HOME: '/home/a' }, '/state/orchestrate'],
  [{ HOME: '/home/a' }, '/home/a/.local/state/orchestrate'],
  [{ ORCHESTRATE_HOME: '', XDG_STATE_HOME: '', HOME: '' }, join(homedir(), '.local/state/orchestrate')],
])('with %j home is %s', (env, path) => {
  expect(orchestrateHome(env)).toBe(path);
});

test('two clones of one project never share a folder, and nothing of it lies in the repository', () => {
  const folders = ['/a/project', '/b/project', '/a/other project'].flatMap((root) => [
    treesFolder('/home', root),
    checkoutsFolder('/home', root),
  ]);
  expect(new Set([...folders, cacheFolder('/home')]).size).toBe(7);
  for (const path of folders) expect(path).toMatch(/^\/home\/(trees|checkouts)\/[A-Za-z0-9._-]+$/);
});

describe('the seal key', () => {
  test('is made once: 32 random bytes that only the user can read', () => {
    const home = join(folder(), 'deep', 'home');
    expect(existingKey(home)).toBeUndefined();
    const key = sealKey(home);
    expect(key).toHaveLength(32);
    expect(statSync(join(home, 'key')).mode & 0o777).toBe(0o600);
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(sealKey(home).equals(key)).toBe(true);
    expect(existingKey(home)?.equals(key)).toBe(true);
    expect(sealKey(join(folder(), 'other')).equals(key)).toBe(false);
  });

  test.each([0o644, 0o640, 0o602, 0o610])(
    'with mode %o it is refused: others could seal as we do',
    (mode) => {
      const home = folder();
      sealKey(home);
      chmodSync(join(home, 'key'), mode);
      const { kind, where, next } = failureOf(() => sealKey(home));
      expect([kind, where]).toEqual(['record-refused', join(home, 'key')]);
      expect(next).toContain('chmod 600');
    },
  );

  test('a key that is short, a link or a folder is refused', () => {
    const short = folder();
    writeFileSync(join(short, 'key'), 'x'.repeat(31), { mode: 0o600 });
    const link = folder();
    writeFileSync(join(link, 'real'), 'x'.repeat(32), { mode: 0o600 });
    symlinkSync('real', join(link, 'key'));
    const directory = folder();
    mkdirSync(join(directory, 'key'), { mode: 0o700 });
    for (const home of [short, link, directory])
      expect(failureOf(() => sealKey(home)).kind).toBe('record-refused');
    expect(readFileSync(join(short, 'key'), 'utf8')).toBe('x'.repeat(31));
  });

  test('where none can be made, that is said with what to set', () => {
    const path = join(folder(), 'file');
    writeFileSync(path, '');
    const { kind, next } = failureOf(() => sealKey(join(path, 'home')));
    expect(kind).toBe('not-writable');
    expect(next).toContain('ORCHESTRATE_HOME');
  });
});
