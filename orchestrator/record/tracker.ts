import { targetState, type RunState } from '../machine/run-state.js';
import type { TargetValue } from '../machine/target-machine.js';

/** Targets that are neither waiting for their turn nor at their end. */
export const isNotable = (value: TargetValue): boolean =>
  value !== 'pending' && value !== 'done' && value !== 'abandoned';

/** Counts that follow every event, so that nobody walks ten thousand targets to write one line. */
export interface Tracker {
  done: number;
  abandoned: number;
  /** Names, in the order in which they became so. */
  readonly notable: Set<string>;
  /** Targets whose child may be alive. */
  readonly withChild: Set<string>;
  /** So many targets at the front of the pipeline are done; a hint for the search of the next one. */
  front: number;
}

export const trackerOf = (run: RunState): Tracker => {
  const tracker: Tracker = { done: 0, abandoned: 0, notable: new Set(), withChild: new Set(), front: 0 };
  for (const name of run.targets.keys()) track(tracker, run, name, 'pending');
  return tracker;
};

/** Call after a target's state may have changed from `before`. */
export const track = (tracker: Tracker, run: RunState, name: string, before: TargetValue): void => {
  const { value, context } = targetState(run, name);
  if (before === 'done') tracker.done -= 1;
  if (before === 'done' && value !== 'done') tracker.front = 0;
  if (value === 'done') tracker.done += 1;
  if (before === 'abandoned') tracker.abandoned -= 1;
  if (value === 'abandoned') tracker.abandoned += 1;
  if (isNotable(value)) tracker.notable.add(name);
  else tracker.notable.delete(name);
  if (value === 'running' && context.child !== undefined) tracker.withChild.add(name);
  else tracker.withChild.delete(name);
};
