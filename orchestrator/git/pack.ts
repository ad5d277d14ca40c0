import { closeSync, openSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ok, type Result } from '../model/result.js';
import { type Git, type GitCommand, run } from './git.js';

export interface PackTransfer {
  readonly git: Git;
  /** Git directory that has the objects. */
  readonly from: string;
  /** Git directory that gets them. */
  readonly to: string;
  /** What to send, as lines for `git pack-objects --revs`: commits, `^commit`, `--shallow COMMIT`. */
  readonly revisions: readonly string[];
  /** Folder for a temporary file, on any file system. */
  readonly scratch: string;
  /** Few objects become loose ones, as `git fetch` does; otherwise always a pack. */
  readonly loose: boolean;
  /** What reading the objects needs besides, see `lazyFetching`. */
  readonly reading?: Pick<GitCommand, 'env' | 'timeoutMs'>;
}

/** Above this many objects a pack is kept as it is. Source: git-config(1), `fetch.unpackLimit`. */
const UNPACK_LIMIT = 100;

/** Faults in old commits and trees that change no content: reported by git, not a reason to refuse a history. */
const TOLERATED = [
  'zeroPaddedFilemode',
  'badTimezone',
  'badDate',
  'zeroPaddedDate',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'missingNameBeforeEmail',
  'missingEmail',
  'badEmail',
]
  .map((fault) => `${fault}=warn`)
  .join(',');

let counter = 0;

/**
 * Copies objects from one git directory to another as a pack. The receiving side computes every object's id from its
 * bytes and checks objects and links, so nothing false comes across. No ref, no configuration and no hook of either side
 * takes part, which is why this is not `git fetch`.
 * @returns name of the pack (`pack-<hex>`), or `undefined` when the objects became loose ones; `git-failed` when an
 * object is missing or is not what its id says
 */
export const transferPack = async (transfer: PackTransfer): Promise<Result<string | undefined>> => {
  counter += 1;
  const file = join(transfer.scratch, `tmp-transfer-${process.pid}-${counter}.pack`);
  rmSync(file, { force: true });
  try {
    const packed = await run(transfer.git, {
      args: ['pack-objects', '--revs', '--stdout', '-q', '--delta-base-offset', '--window=0'],
      ...transfer.reading,
      gitDir: transfer.from,
      input: `${transfer.revisions.join('\n')}\n`,
      outputFile: file,
    });
    return packed.ok ? await receive(transfer, file) : packed;
  } finally {
    rmSync(file, { force: true });
  }
};

const receive = async (transfer: PackTransfer, file: string): Promise<Result<string | undefined>> => {
  const unpack = transfer.loose && objectCount(file) < UNPACK_LIMIT;
  const received = await run(transfer.git, {
    args: unpack ? ['unpack-objects', '-q', '--strict'] : ['index-pack', '--stdin', `--strict=${TOLERATED}`],
    gitDir: transfer.to,
    input: { file },
  });
  if (!received.ok) return received;
  const id = /^(?:pack|keep)\t([0-9a-f]+)$/m.exec(received.value.stdout.toString('latin1'))?.[1];
  return ok(id === undefined ? undefined : `pack-${id}`);
};

/** Objects in a pack: 4 bytes at offset 8. Source: gitformat-pack(5). */
const objectCount = (file: string): number => {
  const header = Buffer.alloc(12);
  const fd = openSync(file, 'r');
  try {
    readSync(fd, header, 0, header.length, 0);
  } finally {
    closeSync(fd);
  }
  return header.readUInt32BE(8);
};
