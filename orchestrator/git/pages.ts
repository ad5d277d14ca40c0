import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, digestOf } from '../model/digest.js';
import { PAGE_BYTES } from '../model/limits.js';
import { isHiding } from '../model/text.js';

export interface Page {
  /** Absolute path of a read-only file. */
  readonly path: string;
  readonly digest: Digest;
  /** At most `PAGE_BYTES`. */
  readonly bytes: number;
  /** It has characters that act on a terminal, are not drawn, or change the order of what is read. */
  readonly hiding?: true;
}

const PAGE_NAME = /^page-\d{4,}\.diff$/;
const CHUNK_BYTES = 64 * 1024;

/**
 * Cuts a diff into pages that can be read in one piece, at the end of a line where there is one and never inside a UTF-8
 * character. Joined in order, the pages are the diff, byte for byte. Pages of an earlier diff in `folder` are removed.
 * @returns the pages in order; none for an empty diff
 */
export const writePages = async (diffFile: string, folder: string): Promise<Page[]> => {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (PAGE_NAME.test(name)) rmSync(join(folder, name));
  }
  const handle = await open(diffFile, 'r');
  try {
    return await cut(handle, folder);
  } finally {
    await handle.close();
  }
};

const cut = async (handle: FileHandle, folder: string): Promise<Page[]> => {
  const pages: Page[] = [];
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of chunksOf(handle)) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length > PAGE_BYTES) {
      const end = pageEnd(pending);
      pages.push(writePage(folder, pages.length + 1, pending.subarray(0, end)));
      pending = pending.subarray(end);
    }
  }
  if (pending.length > 0) pages.push(writePage(folder, pages.length + 1, pending));
  return pages;
};

const chunksOf = async function* (handle: FileHandle): AsyncGenerator<Buffer> {
  for (;;) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
};

const NEWLINE = 10;
const LONGEST_CHARACTER = 4;

const pageEnd = (data: Buffer): number => {
  const line = data.lastIndexOf(NEWLINE, PAGE_BYTES - 1);
  if (line !== -1) return line + 1;
  for (let end = PAGE_BYTES; end > PAGE_BYTES - LONGEST_CHARACTER; end -= 1) {
    if (!isContinuation(data[end])) return end;
  }
  // Not UTF-8 here: any border is as good as another.
  return PAGE_BYTES;
};

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

const writePage = (folder: string, number: number, bytes: Buffer): Page => {
  const path = join(folder, `page-${String(number).padStart(4, '0')}.diff`);
  writeFileSync(path, bytes, { flag: 'wx', mode: 0o444 });
  const hiding = isHiding(bytes.toString('utf8'));
  return { path, digest: digestOf(bytes), bytes: bytes.length, ...(hiding ? { hiding } : {}) };
};
