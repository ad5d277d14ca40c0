import { childName } from '../state/run-dir.js';
import type { Pipeline, Target } from '../model/pipeline.js';

/** The parts of a pipeline that attacks are aimed at; absent where it has none. */
export interface Subject {
  readonly pipeline: Pipeline;
  /** Made by a worker, like `diff` and `review`: a plain command cannot be told to be hostile. */
  readonly plan: Target | undefined;
  readonly diff: Target | undefined;
  /** With a verdict gate, and of that diff. */
  readonly review: Target | undefined;
  /** Of that diff and behind its review, like `push` and `land`. */
  readonly commit: Target | undefined;
  readonly push: Target | undefined;
  readonly land: Target | undefined;
  /** Where a person is asked, before any diff is made. */
  readonly approval: Target | undefined;
  /** On that diff. */
  readonly check: Target | undefined;
}

export type Role = 'plan' | 'diff' | 'review' | 'commit' | 'push' | 'land' | 'approval' | 'check';

/** Why a role is missing, behind "the pipeline has". */
export const MISSING: Readonly<Record<Role, string>> = {
  plan: 'no worker that makes a plan',
  diff: 'no worker that makes a diff',
  review: 'no worker that reviews such a diff behind a `verdict` gate',
  commit: 'no `commit` behind a review',
  push: 'no `push` behind a review',
  land: 'no `land` behind a review',
  approval: 'no plan that a person approves',
  check: 'no check of a diff',
};

const isWorkers = ({ recipe }: Target): boolean => recipe.kind === 'worker';

export const subjectOf = (pipeline: Pipeline): Subject => {
  const { targets } = pipeline;
  const byName = new Map(targets.map((target) => [target.name, target]));
  const upstream = (target: Target, seen = new Set<string>()): ReadonlySet<string> => {
    for (const need of target.needs) {
      if (seen.has(need)) continue;
      seen.add(need);
      const next = byName.get(need);
      if (next !== undefined) upstream(next, seen);
    }
    return seen;
  };
  const diffs = targets.filter((target) => target.makes === 'diff' && isWorkers(target));
  const isReview = (target: Target): boolean =>
    target.makes === 'review' && isWorkers(target) && target.gates.some(({ kind }) => kind === 'verdict');
  const review = targets.find(
    (target) => isReview(target) && diffs.some(({ name }) => upstream(target).has(name)),
  );
  // The last diff before the review is the one that it judges.
  const diff = review === undefined ? diffs[0] : diffs.findLast(({ name }) => upstream(review).has(name));
  const builtin = (name: 'commit' | 'push' | 'land'): Target | undefined =>
    targets.find(
      (target) =>
        target.recipe.kind === 'builtin' &&
        target.recipe.builtin === name &&
        review !== undefined &&
        upstream(target).has(review.name),
    );
  const plan = targets.find((target) => target.makes === 'plan' && isWorkers(target));
  return {
    pipeline,
    plan,
    diff,
    review,
    commit: builtin('commit'),
    push: builtin('push'),
    land: builtin('land'),
    approval:
      plan?.gates.some((gate) => gate.kind === 'approval' && gate.by === 'person') === true
        ? plan
        : undefined,
    check: diff?.gates.some(({ kind }) => kind === 'check') === true ? diff : undefined,
  };
};

/** Folder of the n-th child of a target, from 1. */
export const childOf = (target: Target, attempt: number): string =>
  childName(target.number, target.name, attempt);
