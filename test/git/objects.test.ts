import { chmodSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { inspectObjects } from '../../orchestrator/git/objects.js';
import { commitFiles, makeWorld, startTicket, type Files, type Ticket, type World } from '../helpers/repo.js';

interface Begun {
  readonly world: World;
  readonly ticket: Ticket;
  readonly commit: string;
  readonly tree: string;
  readonly store: (...args: string[]) => string;
}

/** Our own objects are loose in the store, those of the base are in a pack. */
const begin = async (files: Files, format: 'sha1' | 'sha256' = 'sha1'): Promise<Begun> => {
  const world = makeWorld({ format });
  const ticket = await startTicket(world);
  const commit = await commitFiles(ticket, files);
  const store = (...args: string[]): string =>
    world.run(ticket.store.path, '--git-dir', ticket.store.path, ...args);
  return { world, ticket, commit, tree: store('rev-parse', `${commit}^{tree}`), store };
};

const problemsOf = async ({ ticket, commit, tree }: Begun): Promise<Record<string, readonly string[]>> => {
  const { problems } = await inspectObjects(ticket, [
    { id: commit, type: 'commit' },
    { id: tree, type: 'tree' },
    { id: ticket.base.commit, type: 'commit' },
  ]);
  return {
    commit: problems.get(commit) ?? [],
    tree: problems.get(tree) ?? [],
    base: problems.get(ticket.base.commit) ?? [],
  };
};

const loose = (
  { ticket, store }: Begun,
  revision: string,
): { readonly id: string; readonly path: string } => {
  const id = store('rev-parse', revision);
  const path = join(ticket.store.path, 'objects', id.slice(0, 2), id.slice(2));
  chmodSync(path, 0o644);
  return { id, path };
};

const FINE = { commit: [], tree: [], base: [] };

test.each(['sha1', 'sha256'] as const)(
  'a commit, a tree and a base whose every byte is what its id says have no problems (%s)',
  async (format) => {
    const begun = await begin({ 'new.txt': 'new\n', 'empty.txt': '', 'deep/er/x.txt': 'x\n' }, format);
    expect(await problemsOf(begun)).toEqual(FINE);
    const { commits } = await inspectObjects(begun.ticket, [{ id: begun.commit, type: 'commit' }]);
    expect(commits.get(begun.commit)).toEqual({ tree: begun.tree, parents: [begun.world.head] });
  },
);

test('an object that is larger than one chunk of output is read through', async () => {
  const begun = await begin({ 'big.txt': 'x'.repeat(3_000_000), 'next.txt': 'n\n' });
  expect(await problemsOf(begun)).toEqual(FINE);
});

test.each([
  [
    'holds other bytes',
    (path: string) => writeFileSync(path, deflateSync('blob 4\0bad\n')),
    'is damaged: its bytes are not what its id says',
  ],
  [
    'says that it is longer than it is',
    (path: string) => writeFileSync(path, deflateSync('blob 400\0bad\n')),
    'is damaged: its bytes are not what its id says',
  ],
  [
    'is of another type',
    (path: string) => writeFileSync(path, deflateSync('tree 4\0new\n')),
    'is damaged: its bytes are not what its id says',
  ],
  [
    'was cut short',
    (path: string) => truncateSync(path, 10),
    'is damaged: its bytes are not what its id says',
  ],
  ['is empty', (path: string) => truncateSync(path, 0), 'is missing from the private store'],
  ['is gone', (path: string) => rmSync(path), 'is missing from the private store'],
])('a file that %s is named, and nothing else', async (_, change, problem) => {
  const begun = await begin({ 'a.txt': 'before\n', 'm.txt': 'new\n', 'z.txt': 'after\n' });
  const { id, path } = loose(begun, `${begun.commit}:m.txt`);
  change(path);
  const found = [`\`m.txt\`, object ${id} ${problem}`];
  expect(await problemsOf(begun)).toEqual({ commit: found, tree: found, base: [] });
});

test('a tree that is gone or is not what its id says is named for everything that stands on it', async () => {
  const begun = await begin({ 'deep/x.txt': 'x\n', 'm.txt': 'm\n' });
  const root = loose(begun, `${begun.commit}^{tree}`);
  rmSync(root.path);
  expect(await problemsOf(begun)).toEqual({
    commit: [`tree ${begun.tree} is missing from the private store`],
    tree: [`tree ${begun.tree} is missing from the private store`],
    base: [],
  });

  const other = await begin({ 'deep/x.txt': 'x\n', 'm.txt': 'm\n' });
  rmSync(loose(other, `${other.commit}:deep`).path);
  const { tree, base } = await problemsOf(other);
  expect(tree).toEqual([expect.stringMatching(/^tree [0-9a-f]{40} cannot be listed: /)]);
  expect(base).toEqual([]);
});

test('a commit that is gone, and an object of another type than was claimed, are named', async () => {
  const begun = await begin({ 'new.txt': 'new\n' });
  const { problems } = await inspectObjects(begun.ticket, [{ id: begun.tree, type: 'commit' }]);
  expect(problems.get(begun.tree)).toEqual([`object ${begun.tree} is a tree and not a commit`]);
  rmSync(loose(begun, begun.commit).path);
  expect(await problemsOf(begun)).toEqual({
    ...FINE,
    commit: [`commit ${begun.commit} is missing from the private store`],
  });
});

test('of many damaged files the first are named and the rest is counted', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `file-${String(index).padStart(2, '0')}.txt`);
  const begun = await begin(Object.fromEntries(names.map((name) => [name, `${name}\n`])));
  for (const name of names) truncateSync(loose(begun, `${begun.commit}:${name}`).path, 12);
  const { tree } = await problemsOf(begun);
  expect(tree).toHaveLength(6);
  expect(tree?.at(-1)).toBe(`and 7 more objects of tree ${begun.tree}`);
});

test('what is no id is no object, and starts nothing', async () => {
  const begun = await begin({ 'new.txt': 'new\n' });
  for (const id of ['--output=/tmp/x', 'HEAD', `${begun.commit}^{tree}`, 'x\ny']) {
    const { problems } = await inspectObjects(begun.ticket, [{ id, type: 'tree' }]);
    expect(problems.get(id)).toHaveLength(1);
  }
});
