import type { Digest } from '../model/digest.js';
import type { RawRecord } from '../model/git.js';
import { ok, type Result } from '../model/result.js';
import { type Git, run, runForText } from './git.js';
import { digestOfRecords, parseRecords } from './records.js';
import type { Store } from './store.js';

export interface ReadRequest {
  readonly git: Git;
  readonly store: Store;
}

export interface Records {
  readonly records: readonly RawRecord[];
  readonly digest: Digest;
}

/** Id of the tree of a commit in the store. */
export const treeOf = (request: ReadRequest, commit: string): Promise<Result<string>> =>
  runForText(request.git, {
    args: ['rev-parse', '--verify', '--quiet', '--end-of-options', `${commit}^{tree}`],
    gitDir: request.store.path,
  });

/** What differs between two commits or trees in the store, and the digest that a receipt holds of it. */
export const recordsBetween = async (
  request: ReadRequest,
  from: string,
  to: string,
): Promise<Result<Records>> => {
  const listed = await run(request.git, {
    args: [
      'diff-tree',
      '-r',
      '-z',
      '--raw',
      '--no-renames',
      '--full-index',
      '--ignore-submodules=none',
      from,
      to,
    ],
    gitDir: request.store.path,
  });
  if (!listed.ok) return listed;
  const records = parseRecords(listed.value.stdout);
  return ok({
    records: records.map(({ pathBytes: _, ...record }) => record),
    digest: digestOfRecords(records),
  });
};
