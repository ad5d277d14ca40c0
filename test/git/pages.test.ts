import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Page, writePages } from '../../orchestrator/git/pages.js';
import { digestOf } from '../../orchestrator/model/digest.js';
import { PAGE_BYTES } from '../../orchestrator/model/limits.js';
import { temporaryFolder } from '../helpers/repo.js';

const cut = async (bytes: Buffer, folder = temporaryFolder()): Promise<Page[]> => {
  const file = join(folder, 'branch.diff');
  writeFileSync(file, bytes);
  return writePages(file, join(folder, 'pages'));
};

const joined = (pages: readonly Page[]): Buffer => Buffer.concat(pages.map(({ path }) => readFileSync(path)));

test('a page of exactly the limit is one page; one byte more makes two', async () => {
  const line = 'x'.repeat(1023);
  const exact = Buffer.from(`${line}\n`.repeat(PAGE_BYTES / 1024));
  expect(exact).toHaveLength(PAGE_BYTES);
  expect((await cut(exact)).map(({ bytes }) => bytes)).toEqual([PAGE_BYTES]);
  const pages = await cut(Buffer.concat([exact, Buffer.from('y')]));
  expect(pages.map(({ bytes }) => bytes)).toEqual([PAGE_BYTES, 1]);
});

test('pages end at the end of a line where there is one', async () => {
  const text = `${'a'.repeat(30_000)}\n`.repeat(4);
  const pages = await cut(Buffer.from(text));
  expect(pages).toHaveLength(4);
  for (const { path } of pages) expect(readFileSync(path, 'utf8')).toMatch(/^a+\n$/);
});

test('a long line is cut between characters, never inside one', async () => {
  for (const shift of ['', 'x', 'xx', 'xxx']) {
    const bytes = Buffer.from(shift + '😀'.repeat(40_000));
    const pages = await cut(bytes);
    expect(pages.length).toBeGreaterThan(3);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for (const { path } of pages) expect(() => decoder.decode(readFileSync(path))).not.toThrow();
    expect(joined(pages).equals(bytes)).toBe(true);
  }
});

test('every page is a read-only file with the digest of its bytes; an empty diff has none', async () => {
  const pages = await cut(Buffer.from('line\n'.repeat(20_000)));
  for (const page of pages) {
    expect(statSync(page.path).mode & 0o777).toBe(0o444);
    expect(page.digest).toBe(digestOf(readFileSync(page.path)));
  }
  expect(await cut(Buffer.alloc(0))).toEqual([]);
});

test('pages of a longer diff before it do not stay', async () => {
  const folder = temporaryFolder();
  await cut(Buffer.from('long\n'.repeat(30_000)), folder);
  writeFileSync(join(folder, 'pages/note.txt'), 'kept');
  const pages = await cut(Buffer.from('short\n'), folder);
  expect(readdirSync(join(folder, 'pages'))).toEqual(['note.txt', 'page-0001.diff']);
  expect(joined(pages).toString()).toBe('short\n');
});

test('whatever the bytes, the pages joined are the diff and none is over the limit', async () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.constantFrom(
      Buffer.alloc(50_000, 0x80),
      Buffer.from('\n'),
      Buffer.from('é'.repeat(30_000)),
      Buffer.alloc(60_000, 120),
    ),
  );
  const folder = temporaryFolder();
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 6 }), async (pieces) => {
      const bytes = Buffer.concat(pieces);
      const pages = await cut(bytes, folder);
      expect(joined(pages).equals(bytes)).toBe(true);
      for (const { bytes: size } of pages) expect(size).toBeLessThanOrEqual(PAGE_BYTES);
    }),
    { numRuns: 40 },
  );
});

test('a page that has what a reader does not see says so; tabs, CRLF and emoji are nothing', async () => {
  const plain = `${'+x = "é ⚠️"\t\r\n'.repeat(3_500)}`;
  const pages = await cut(Buffer.from(`${plain}+if (admin\u202E) {}\n`));
  expect(pages.map(({ hiding }) => hiding)).toEqual([undefined, true]);
});
