import type { Merged } from './extend.js';
import type { ManualRead } from './manuals.js';
import type { Draft, Resolved } from './resolve.js';
import type { Suggest } from '../model/suggest.js';
import type { Upstream } from './upstream.js';

/** All that a rule may look at. */
export interface Scene {
  readonly resolved: Resolved;
  readonly drafts: readonly Draft[];
  readonly byName: ReadonlyMap<string, Draft>;
  /** Topological; targets on or behind a cycle are missing. */
  readonly order: readonly Draft[];
  readonly upstream: Upstream;
  readonly manuals: ReadonlyMap<string, ManualRead>;
  readonly merged: Merged;
  readonly suggest: Suggest;
}
