import { topologicalOrder } from './graph.js';
import type { Draft } from './resolve.js';

/** What a target can find ready when it starts, because something it needs made it. */
export type Provision = 'ticket' | 'plan' | 'diff' | 'review' | 'commit' | 'push';

const BIT: Readonly<Record<Provision, number>> = {
  ticket: 1,
  plan: 2,
  diff: 4,
  review: 8,
  commit: 16,
  push: 32,
};
const EVERYTHING = 63;

const own = (draft: Draft): number => {
  if (draft.damaged) return EVERYTHING;
  const { recipe, makes } = draft;
  let bits = 0;
  if (recipe.kind === 'builtin' && recipe.builtin in BIT) bits |= BIT[recipe.builtin as Provision] ?? 0;
  if (makes === 'plan' || makes === 'diff' || makes === 'review') bits |= BIT[makes];
  return bits;
};

/** Whether something before the target provides it. Where an unknown target stands in between, the answer is yes. */
export type Upstream = (draft: Draft, provision: Provision) => boolean;

/**
 * @param order topological; a target that is missing in it, or that needs a name that nobody has, may have anything
 *   before it: that is reported as such, and a second message would only hide it
 */
export const upstreamOf = (order: readonly Draft[]): Upstream => {
  const before = new Map<string, number>();
  const after = new Map<string, number>();
  for (const draft of order) {
    let bits = 0;
    for (const need of draft.needs) bits |= after.get(need) ?? EVERYTHING;
    before.set(draft.name, bits);
    after.set(draft.name, bits | own(draft));
  }
  return (draft, provision) => ((before.get(draft.name) ?? EVERYTHING) & BIT[provision]) !== 0;
};

/** For each name that a target sends work back to: the targets that come after it. */
export const descendantsOf = (
  drafts: readonly Draft[],
  names: ReadonlySet<string>,
): ReadonlyMap<string, ReadonlySet<string>> => {
  const result = new Map([...names].map((name): [string, Set<string>] => [name, new Set()]));
  if (names.size === 0) return result;
  const reachable = new Map<string, ReadonlySet<string>>();
  const nobody: ReadonlySet<string> = new Set();
  for (const draft of topologicalOrder(drafts).order) {
    const marks = new Set<string>();
    for (const need of draft.needs) {
      if (names.has(need)) marks.add(need);
      for (const mark of reachable.get(need) ?? nobody) marks.add(mark);
    }
    reachable.set(draft.name, marks.size === 0 ? nobody : marks);
    for (const mark of marks) result.get(mark)?.add(draft.name);
  }
  return result;
};
