import type { Page } from '../git/pages.js';
import type { Facts, Receipt } from '../model/event.js';
import type { Result } from '../model/result.js';
import type { Ticket } from '../model/ticket.js';

/** What the worker's files are now: a tree object, and the difference from the base. */
export interface Sealed {
  readonly receipt: Receipt;
  /** The rendered diff, in the run's artifacts. */
  readonly diffFile: string;
  /**
   * Files that the ignore rules leave out, and empty folders (`name/`), that the working copy was not given: they are in no
   * diff, no commit and no clean checkout. Sorted; may be many.
   */
  readonly ignored: readonly string[];
}

/** `seal` renders the diff into the run's artifacts; `compare` leaves what was sealed there alone. */
export type SnapshotPurpose = 'seal' | 'compare';

/** What is committed. */
export interface CommitRequest {
  readonly receipt: Receipt;
  readonly message: string;
  /** ISO 8601: the same for every try, so that a repeated commit has the same id. */
  readonly date: string;
}

/** What is landed; message and date are those of a merge commit, should one be needed. */
export interface LandingRequest extends CommitRequest {
  readonly commit: string;
}

/** Git for one ticket: all that the effects ask of it. Rejects only when the store itself cannot be used. */
export interface Workspace {
  /** Finds the base, makes the private store, and clones the tree. Idempotent. */
  readonly prepare: (ticket: Ticket) => Promise<Facts & { readonly notes: readonly string[] }>;
  readonly snapshot: (purpose: SnapshotPurpose) => Promise<Result<Sealed>>;
  /** Paths in which the sealed tree of a receipt differs from its base. */
  readonly changedPaths: (receipt: Receipt) => Promise<Result<readonly string[]>>;
  /** A checkout of a tree object, raw bytes, no `.git`. */
  readonly checkout: (treeId: string, folder: string, access: 'read-only' | 'write') => Promise<Result<void>>;
  readonly removeCheckout: (folder: string) => Promise<void>;
  /** Cuts the diff into pages in `folder`. */
  readonly pages: (diffFile: string, folder: string) => Promise<readonly Page[]>;
  readonly commit: (
    request: CommitRequest,
  ) => Promise<Result<{ readonly commit: string; readonly branch: string }>>;
  /** Refuses a commit that is not of the tree of the receipt on its base. */
  readonly push: (
    commit: string,
    receipt: Receipt,
  ) => Promise<Result<{ readonly head: string; readonly url: string }>>;
  readonly land: (
    request: LandingRequest,
  ) => Promise<Result<{ readonly landed: string; readonly how: string }>>;
}
