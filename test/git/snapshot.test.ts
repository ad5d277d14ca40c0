import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { snapshot } from '../../orchestrator/git/snapshot.js';
import { digestOf } from '../../orchestrator/model/digest.js';
import { makeWorld, startTicket, type Ticket, unwrap, type World, writeFiles } from '../helpers/repo.js';

const take = (ticket: Ticket) => snapshot({ ...ticket, base: ticket.base.commit });

const EVIL = 'evil-marker';

const begin = async (files?: Record<string, string>): Promise<{ world: World; ticket: Ticket }> => {
  const world = makeWorld(files === undefined ? {} : { files });
  return { world, ticket: await startTicket(world) };
};

test('an untouched tree has the tree of its base and an empty diff', async () => {
  const { world, ticket } = await begin();
  const shot = unwrap(await take(ticket));
  expect(shot.treeId).toBe(world.run(world.user, 'rev-parse', 'HEAD^{tree}'));
  expect(shot).toMatchObject({
    records: [],
    files: 0,
    diffBytes: 0,
    addedLines: 0,
    removedLines: 0,
    ignored: [],
  });
  expect(shot.diffDigest).toBe(digestOf(''));
});

test('every kind of change is in the tree, in the records and in the diff', async () => {
  const { world, ticket } = await begin({
    'edited.txt': 'a\nb\n',
    'staged.txt': 'a\n',
    'deleted.txt': 'x\n',
    'mode.sh': '#!/bin/sh\n',
    'binary.bin': 'x\0y\n',
    'kept.txt': 'k\n',
  });
  const { tree } = ticket;
  writeFiles(tree, {
    'edited.txt': 'a\nB\nc\n',
    'staged.txt': 'staged edit\n',
    'new/untracked.txt': 'new\n',
    'empty.txt': '',
    'binary.bin': 'x\0z\n',
    'we"ird\nna\tme é.txt': 'odd\n',
    '-x': 'dash\n',
  });
  world.run(tree, 'add', 'staged.txt');
  rmSync(join(tree, 'deleted.txt'));
  chmodSync(join(tree, 'mode.sh'), 0o755);
  symlinkSync('kept.txt', join(tree, 'link'));
  const shot = unwrap(await take(ticket));
  expect(shot.records.map(({ status, path, newMode }) => [status, path, newMode])).toEqual([
    ['A', '-x', '100644'],
    ['M', 'binary.bin', '100644'],
    ['D', 'deleted.txt', '000000'],
    ['M', 'edited.txt', '100644'],
    ['A', 'empty.txt', '100644'],
    ['A', 'link', '120000'],
    ['M', 'mode.sh', '100755'],
    ['A', 'new/untracked.txt', '100644'],
    ['M', 'staged.txt', '100644'],
    ['A', 'we"ird\nna\tme é.txt', '100644'],
  ]);
  const diff = readFileSync(ticket.diffFile);
  expect(shot).toMatchObject({ files: 10, addedLines: 8, removedLines: 4, diffBytes: diff.length });
  expect(shot.diffDigest).toBe(digestOf(diff));
  for (const line of [
    '+B',
    '+staged edit',
    '+new',
    '-x',
    '+x\0z',
    '+odd',
    'new mode 100755',
    '+kept.txt',
    '+dash',
  ]) {
    expect(diff.toString()).toContain(`\n${line}\n`);
  }
});

test('file names that are not UTF-8 are told apart', async () => {
  const { ticket } = await begin();
  for (const byte of [0xe9, 0xe8]) {
    writeFileSync(Buffer.concat([Buffer.from(`${ticket.tree}/caf`), Buffer.from([byte])]), `${byte}\n`);
  }
  const shot = unwrap(await take(ticket));
  expect(shot.records.map(({ path }) => path)).toEqual([String.raw`"caf\350"`, String.raw`"caf\351"`]);
});

test('a second snapshot sees a change of the same size with its time put back, and an undone change', async () => {
  const { ticket } = await begin();
  const file = join(ticket.tree, 'README.md');
  const { atime, mtime } = statSync(file);
  writeFileSync(file, '# SAMPLE\n');
  utimesSync(file, atime, mtime);
  expect(unwrap(await take(ticket)).records.map(({ path }) => path)).toEqual(['README.md']);
  writeFileSync(file, '# Sample\n');
  expect(unwrap(await take(ticket)).records).toEqual([]);
});

test('the digest of the records depends on content and not on order of work; a changed byte changes it', async () => {
  const { ticket } = await begin();
  writeFiles(ticket.tree, { 'b.txt': 'b\n', 'a.txt': 'a\n' });
  const first = unwrap(await take(ticket));
  rmSync(ticket.index);
  expect(unwrap(await take(ticket)).recordsDigest).toBe(first.recordsDigest);
  writeFiles(ticket.tree, { 'a.txt': 'A\n' });
  expect(unwrap(await take(ticket)).recordsDigest).not.toBe(first.recordsDigest);
});

test('a missing or damaged index of ours is made again', async () => {
  const { ticket } = await begin({ '.gitignore': 'kept.log\n', 'a.txt': 'a\n' });
  writeFiles(ticket.tree, { 'b.txt': 'b\n' });
  const first = unwrap(await take(ticket));
  writeFileSync(ticket.index, 'DIRC nonsense');
  writeFileSync(`${ticket.index}.lock`, '');
  expect(unwrap(await take(ticket)).treeId).toBe(first.treeId);
});

test('a file that is tracked although an ignore rule names it stays in the tree', async () => {
  const world = makeWorld({ files: { 'kept.log': 'k\n' } });
  writeFiles(world.user, { '.gitignore': '*.log\n' });
  world.run(world.user, 'add', '--all');
  world.run(world.user, 'commit', '--quiet', '--message=Ignore');
  const ticket = await startTicket(world, world.run(world.user, 'rev-parse', 'HEAD'));
  rmSync(ticket.index);
  expect(unwrap(await take(ticket)).records).toEqual([]);
});

test('ignored files are listed, one by one, and their list has a digest', async () => {
  const { ticket } = await begin({ '.gitignore': 'build/\n*.log\n', 'a.txt': 'a\n' });
  const before = unwrap(await take(ticket));
  writeFiles(ticket.tree, { 'build/out.js': 'x', 'build/deep/out.js': 'x', 'x.log': 'x', 'seen.txt': 's\n' });
  const after = unwrap(await take(ticket));
  expect(after.ignored).toEqual(['build/deep/out.js', 'build/out.js', 'x.log']);
  expect(after.ignoredDigest).not.toBe(before.ignoredDigest);
  expect(after.records.map(({ path }) => path)).toEqual(['seen.txt']);
});

test('what a worker commits, stages or stashes without leaving it in the files is not in the tree', async () => {
  const { world, ticket } = await begin();
  writeFiles(ticket.tree, { 'ghost.js': `${EVIL}\n` });
  world.run(ticket.tree, 'add', 'ghost.js');
  rmSync(join(ticket.tree, 'ghost.js'));
  expect(unwrap(await take(ticket)).records).toEqual([]);
});

test('nothing but the diff is left in its folder, and nothing temporary in the store', async () => {
  const { ticket } = await begin();
  writeFiles(ticket.tree, { 'a.txt': 'a\n' });
  unwrap(await take(ticket));
  expect(existsSync(join(ticket.store.path, 'index'))).toBe(false);
  const left = execFileSync('find', [join(ticket.store.path, '..'), '-name', '*tmp*']).toString();
  expect(left).toBe('');
});
