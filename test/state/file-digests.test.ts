import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '../../orchestrator/model/digest.js';
import type { FileStat } from '../../orchestrator/model/event.js';
import { fileDigests } from '../../orchestrator/state/file-digests.js';
import { folder } from '../helpers/core.js';

/** As long after the last change as a file must be to be remembered. */
const later = (): number => Date.now() + 60_000;

const open = (root: string, memory: Record<string, FileStat> = {}, now = later) => ({
  memory,
  ...fileDigests(root, memory, now),
});

test('a file has the digest of its bytes, also of more than one read', () => {
  const root = folder();
  const bytes = Buffer.alloc(200_000, 'ab');
  writeFileSync(join(root, 'a'), bytes);
  expect(open(root).digest('a')).toBe(digestOf(bytes));
});

test('what is not there has none, also below a file or behind a link that leads nowhere or in a circle', () => {
  const root = folder();
  writeFileSync(join(root, 'file'), 'x');
  symlinkSync('nowhere', join(root, 'dangling'));
  symlinkSync('circle', join(root, 'circle'));
  const { digest } = open(root);
  for (const path of ['none', 'file/below', 'none/below', 'dangling', 'circle'])
    expect(digest(path)).toBeUndefined();
});

test('an unchanged file is not read again: its remembered digest is believed', () => {
  const root = folder();
  writeFileSync(join(root, 'a'), 'x');
  const first = open(root);
  expect(first.learned()).toBe(false);
  first.digest('a');
  expect(first.learned()).toBe(true);
  const remembered = first.memory['a'];
  const planted = { ...remembered, digest: digestOf('planted') } as FileStat;
  const second = open(root, { a: planted });
  expect(second.digest('a')).toBe(digestOf('planted'));
  expect(second.learned()).toBe(false);
});

test.each<[string, (path: string) => void]>([
  ['another size', (path) => appendFileSync(path, 'more')],
  [
    'the same size and the old time set back',
    (path) => {
      const { atime, mtime } = statSync(path);
      writeFileSync(path, 'y');
      utimesSync(path, atime, mtime);
    },
  ],
  [
    'another file with the same times renamed over it',
    (path) => {
      const { atime, mtime } = statSync(path);
      writeFileSync(`${path}.new`, 'y');
      utimesSync(`${path}.new`, atime, mtime);
      renameSync(`${path}.new`, path);
    },
  ],
])('a change is seen: %s', (_, change) => {
  const root = folder();
  const path = join(root, 'a');
  writeFileSync(path, 'x');
  utimesSync(path, new Date('2025-01-01'), new Date('2025-01-01'));
  const digests = open(root);
  const before = digests.digest('a');
  change(path);
  expect(digests.digest('a')).not.toBe(before);
});

test('a file that was changed just now is not remembered: it may change again within the same tick of its clock', () => {
  const root = folder();
  writeFileSync(join(root, 'a'), 'x');
  const { mtimeMs } = statSync(join(root, 'a'));
  const fresh = open(root, {}, () => mtimeMs + 100);
  fresh.digest('a');
  expect(fresh.memory).toEqual({});
  const settled = open(root, {}, () => mtimeMs + 101);
  settled.digest('a');
  expect(Object.keys(settled.memory)).toEqual(['a']);
});

test('a folder changes with every name and every byte in it, and with nothing else', () => {
  const root = folder();
  mkdirSync(join(root, 'd', 'sub'), { recursive: true });
  writeFileSync(join(root, 'd', 'a'), 'x');
  writeFileSync(join(root, 'd', 'sub', 'b'), 'y');
  const digest = () => open(root).digest('d');
  const seen = new Set([digest()]);
  const changes = [
    () => writeFileSync(join(root, 'd', 'a'), 'z'),
    () => writeFileSync(join(root, 'd', 'c'), ''),
    () => renameSync(join(root, 'd', 'c'), join(root, 'd', 'e')),
    () => rmSync(join(root, 'd', 'sub'), { recursive: true }),
    () => symlinkSync('a', join(root, 'd', 'link')),
    () => {
      rmSync(join(root, 'd', 'link'));
      symlinkSync('e', join(root, 'd', 'link'));
    },
  ];
  for (const [index, change] of changes.entries()) {
    change();
    seen.add(digest());
    expect(seen.size).toBe(index + 2);
  }
  mkdirSync(join(root, 'd', '.git'));
  writeFileSync(join(root, 'd', '.git', 'index'), 'z');
  seen.add(digest());
  expect(seen.size).toBe(changes.length + 1);
});

test('links in a folder are not followed: two that lead back to it do no harm', () => {
  const root = folder();
  mkdirSync(join(root, 'd'));
  symlinkSync('.', join(root, 'd', 'one'));
  symlinkSync('..', join(root, 'd', 'two'));
  expect(open(root).digest('d')).toMatch(/^sha256:/);
});

test('a link that is named itself stands for what it leads to', () => {
  const root = folder();
  writeFileSync(join(root, 'a'), 'x');
  symlinkSync('a', join(root, 'link'));
  expect(open(root).digest('link')).toBe(digestOf('x'));
});

test('a pipe is not opened: nobody would ever write to it', () => {
  const root = folder();
  mkdirSync(join(root, 'd'));
  execFileSync('mkfifo', [join(root, 'pipe'), join(root, 'd', 'pipe')]);
  expect(open(root).digest('pipe')).toMatch(/^sha256:/);
  expect(open(root).digest('d')).toMatch(/^sha256:/);
});
