import { readFileSync } from 'node:fs';
import type { ObjectFormat } from './layout.js';

export interface IndexPaths {
  /** Every path of the index, bytes as characters. */
  readonly paths: ReadonlySet<string>;
  /** Those of them that are links to other repositories (mode 160000). */
  readonly gitlinks: readonly string[];
}

const HEADER_BYTES = 12;
/** Ten 32-bit fields in front of the object id: two times, device, inode, mode, owner, group, size. */
const STAT_BYTES = 40;
const MODE_OFFSET = 24;
const EXTENDED = 0x4000;
const GITLINK = 0o160000;

/**
 * Paths of an index that we wrote ourselves (version 2 or 3), read without a process: what is in a working copy but not
 * here is what the ignore rules left out. Source: gitformat-index(5).
 * @throws `Error` when it is of another version
 */
export const readIndexPaths = (file: string, format: ObjectFormat): IndexPaths => {
  const data = readFileSync(file);
  const version = data.readUInt32BE(4);
  if (data.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 3) {
    throw new Error(`\`${file}\` is not a git index of version 2 or 3`);
  }
  const idBytes = format === 'sha1' ? 20 : 32;
  const paths = new Set<string>();
  const gitlinks: string[] = [];
  let start = HEADER_BYTES;
  for (let left = data.readUInt32BE(8); left > 0; left -= 1) {
    const flags = data.readUInt16BE(start + STAT_BYTES + idBytes);
    const name = start + STAT_BYTES + idBytes + 2 + ((flags & EXTENDED) === 0 ? 0 : 2);
    const end = data.indexOf(0, name);
    const path = data.toString('latin1', name, end);
    paths.add(path);
    if (data.readUInt32BE(start + MODE_OFFSET) === GITLINK) gitlinks.push(path);
    // An entry is padded with 1 to 8 NULs to a multiple of 8 bytes.
    start += (Math.floor((end - start) / 8) + 1) * 8;
  }
  return { paths, gitlinks };
};
