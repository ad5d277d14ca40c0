import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { ObjectFormat } from './layout.js';

export interface IndexPaths {
  /** Every path of the index, bytes as characters. */
  readonly paths: ReadonlySet<string>;
  /** Those of them that are links to other repositories (mode 160000). */
  readonly gitlinks: readonly string[];
  /** Symbolic links (mode 120000), with the object that holds what they say. */
  readonly links: ReadonlyMap<string, string>;
  /** Entries carry no bit that makes git pass over a file: assume-unchanged, skip-worktree, intent-to-add, a conflict. */
  readonly isPlain: boolean;
}

const HEADER_BYTES = 12;
/** Ten 32-bit fields in front of the object id: two times, device, inode, mode, owner, group, size. */
const STAT_BYTES = 40;
const MODE_OFFSET = 24;
/** Seconds and nanoseconds of the change time, then of the modification time. */
const TIMES_BYTES = 16;
/** Of the 16 flag bits those that are not the length of the name: assume-valid, extended, stage. */
const FLAGS = 0xf000;
const EXTENDED = 0x4000;
const GITLINK = 0o160000;
const LINK = 0o120000;

const ID_BYTES = { sha1: 20, sha256: 32 } as const;

/** Where an entry and its name are in the file. */
interface Place {
  readonly start: number;
  readonly name: number;
  readonly end: number;
  readonly flags: number;
}

/** @throws `Error` when it is of another version, `RangeError` when it ends early */
const visitEntries = (data: Buffer, format: ObjectFormat, visit: (place: Place) => void): void => {
  const version = data.readUInt32BE(4);
  if (data.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 3)
    throw new Error('not a git index of version 2 or 3');
  let start = HEADER_BYTES;
  for (let left = data.readUInt32BE(8); left > 0; left -= 1) {
    const flagsAt = start + STAT_BYTES + ID_BYTES[format];
    const flags = data.readUInt16BE(flagsAt);
    const name = flagsAt + 2 + ((flags & EXTENDED) === 0 ? 0 : 2);
    const end = data.indexOf(0, name);
    visit({ start, name, end, flags });
    // An entry is padded with 1 to 8 NULs to a multiple of 8 bytes.
    start += (Math.floor((end - start) / 8) + 1) * 8;
  }
};

/**
 * Paths of an index that we wrote ourselves (version 2 or 3), read without a process: what is in a working copy but not
 * here is what the ignore rules left out. Source: gitformat-index(5).
 * @throws `Error` when it is of another version or ends early
 */
export const readIndexPaths = (file: string, format: ObjectFormat): IndexPaths => {
  const data = readFileSync(file);
  const paths = new Set<string>();
  const gitlinks: string[] = [];
  const links = new Map<string, string>();
  let isPlain = true;
  visitEntries(data, format, ({ start, name, end, flags }) => {
    const path = data.toString('latin1', name, end);
    const mode = data.readUInt32BE(start + MODE_OFFSET);
    paths.add(path);
    isPlain &&= (flags & FLAGS) === 0;
    if (mode === GITLINK) gitlinks.push(path);
    const id = start + STAT_BYTES;
    if (mode === LINK) links.set(path, data.toString('hex', id, id + ID_BYTES[format]));
  });
  return { paths, gitlinks, links, isPlain };
};

/**
 * Has git read the files again at the next snapshot that changed in this second or later: their times are taken out of the
 * index. git compares times by the second, so it would not see that such a file changes once more in the same second, when
 * its size stays and its modification time is put back.
 * @param since seconds since 1970
 */
export const distrustSince = (file: string, format: ObjectFormat, since: number): void => {
  const data = readFileSync(file);
  let isChanged = false;
  visitEntries(data, format, ({ start }) => {
    // The change time comes first.
    if (data.readUInt32BE(start) < since) return;
    data.fill(0, start, start + TIMES_BYTES);
    isChanged = true;
  });
  if (!isChanged) return;
  const body = data.subarray(0, data.length - ID_BYTES[format]);
  const temporary = `${file}.tmp-${process.pid}`;
  writeFileSync(temporary, Buffer.concat([body, createHash(format).update(body).digest()]));
  renameSync(temporary, file);
};
