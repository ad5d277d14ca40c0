/**
 * The loop: whatever has its prerequisites is judged; what is out of date is driven through its states by a table of
 * effects; what it reaches settles, and frees what waits for it.
 *
 * S1  A target is driven by one loop at a time.
 * S2  A target settles when it is up to date and so is everything above it. Only settled prerequisites free a target, for
 *     every attempt anew.
 * S3  Each step costs what its own edges cost; nothing walks all targets but the start.
 * S4  What went out of date is made again only when nothing below it is in flight any more: two critics of one diff both
 *     finish before its next round begins.
 * S5  After an effect that threw, nothing is started; what is in flight ends, then the error is thrown.
 * S6  The limit is on the fork, inside the effects, never on a target: a target that waits for another holds no slot.
 */
import type { Pipeline, Target } from '../model/pipeline.js';
import type { TargetValue } from '../machine/target-machine.js';
import type { Freshness } from './freshness.js';

/** What an effect did: `moved` on to another state, or could not (`halted`: the run is stopping), or made others out of date. */
export type EffectResult =
  | { readonly kind: 'moved' }
  | { readonly kind: 'halted' }
  | { readonly kind: 'invalidated'; readonly target: string };

export type Effect = (target: Target) => Promise<EffectResult>;

/** State → what it waits for. A state without an effect is at rest. */
export type Effects = Readonly<Record<TargetValue, Effect | undefined>>;

export interface SchedulerOptions {
  readonly pipeline: Pipeline;
  readonly valueOf: (name: string) => TargetValue;
  readonly freshness: (target: Target) => Freshness;
  readonly effects: Effects;
  /** Only this target and what it needs. */
  readonly until?: string;
  /** Start nothing new. */
  readonly halted: () => boolean;
  readonly onJudged?: (target: Target, freshness: Freshness) => void;
}

export interface SchedulerOutcome {
  readonly upToDate: number;
  readonly made: number;
  readonly wanted: number;
}

interface Node {
  readonly target: Target;
  readonly dependants: number[];
  readonly wanted: boolean;
  unmet: number;
  settled: boolean;
  driven: boolean;
}

const buildNodes = (pipeline: Pipeline, until: string | undefined): Node[] => {
  const index = new Map(pipeline.targets.map(({ name }, position) => [name, position]));
  const wanted = wantedOf(pipeline, index, until);
  const nodes = pipeline.targets.map((target, position): Node => ({
    target,
    dependants: [],
    wanted: wanted[position] ?? true,
    unmet: target.needs.length,
    settled: false,
    driven: false,
  }));
  for (const [position, { target }] of nodes.entries()) {
    for (const need of target.needs) nodes[index.get(need) ?? -1]?.dependants.push(position);
  }
  return nodes;
};

const wantedOf = (pipeline: Pipeline, index: Map<string, number>, until: string | undefined): boolean[] => {
  const wanted = pipeline.targets.map(({ name }) => until === undefined || name === until);
  // Topological order: a target comes after what it needs, so one pass from the end finds all ancestors.
  for (let position = pipeline.targets.length - 1; position >= 0; position -= 1) {
    if (wanted[position] !== true) continue;
    for (const need of pipeline.targets[position]?.needs ?? []) wanted[index.get(need) ?? -1] = true;
  }
  return wanted;
};

const isFree = (node: Node): boolean => node.unmet === 0 && !node.settled && !node.driven;

/** Positions of all targets below `start` that an effect is at work on. */
const inFlightBelow = (nodes: readonly Node[], start: number): Set<number> => {
  const found = new Set<number>();
  const seen = new Set([start]);
  const stack = [...(nodes[start]?.dependants ?? [])];
  while (stack.length > 0) {
    const position = stack.pop() ?? -1;
    if (seen.has(position)) continue;
    seen.add(position);
    if (nodes[position]?.driven === true) found.add(position);
    stack.push(...(nodes[position]?.dependants ?? []));
  }
  return found;
};

export const runScheduler = async (options: SchedulerOptions): Promise<SchedulerOutcome> => {
  const nodes = buildNodes(options.pipeline, options.until);
  const index = new Map(options.pipeline.targets.map(({ name }, position) => [name, position]));
  let inFlight = 0;
  let wake = (): void => undefined;
  const queue: number[] = [];
  let made = 0;
  let failure: { readonly error: unknown } | undefined;
  /** S4: what is out of date → what is in flight below it. */
  const heldUp = new Map<number, Set<number>>();

  const isOver = (): boolean => failure !== undefined || options.halted();
  const enqueueReady = (position: number): void => {
    const node = nodes[position];
    if (node !== undefined && node.wanted && isFree(node) && !heldUp.has(position)) queue.push(position);
  };
  const settle = (node: Node): void => {
    node.settled = true;
    for (const dependant of node.dependants) {
      const next = nodes[dependant];
      if (next === undefined) continue;
      next.unmet -= 1;
      enqueueReady(dependant);
    }
  };
  /** It and everything below it must be judged again. */
  const unsettle = (name: string): void => {
    const start = index.get(name) ?? -1;
    const stack = [start];
    while (stack.length > 0) {
      const node = nodes[stack.pop() ?? -1];
      if (node === undefined || !node.settled) continue;
      node.settled = false;
      for (const dependant of node.dependants) {
        const next = nodes[dependant];
        if (next !== undefined) next.unmet += 1;
        stack.push(dependant);
      }
    }
    const below = inFlightBelow(nodes, start);
    if (below.size > 0) heldUp.set(start, below);
    enqueueReady(start);
  };
  /** It is no longer in flight: what waited for that may go on. */
  const land = (position: number): void => {
    for (const [waiting, below] of heldUp) {
      below.delete(position);
      if (below.size > 0) continue;
      heldUp.delete(waiting);
      enqueueReady(waiting);
    }
  };
  const drive = async (node: Node, position: number): Promise<void> => {
    for (let steps = 0; ; steps += 1) {
      const value = options.valueOf(node.target.name);
      const effect = options.effects[value];
      // A target that was done when it was judged is made again; one that has become so has arrived.
      if (effect === undefined || (value === 'done' && steps > 0)) break;
      // Another attempt is a new start.
      if (value === 'pending' && (node.unmet > 0 || isOver())) break;
      const result = await effect(node.target);
      if (result.kind === 'halted') break;
      if (result.kind === 'invalidated') {
        node.driven = false;
        unsettle(result.target);
        return;
      }
    }
    node.driven = false;
    if (options.valueOf(node.target.name) !== 'done') return;
    made += 1;
    if (node.unmet === 0) settle(node);
    // Otherwise what it was made from went out of date meanwhile: it is judged again when that is settled.
    else enqueueReady(position);
  };
  const judge = (position: number): void => {
    const node = nodes[position];
    if (node === undefined || !isFree(node) || heldUp.has(position)) return;
    const freshness = options.freshness(node.target);
    options.onJudged?.(node.target, freshness);
    if (freshness.kind === 'fresh' || freshness.kind === 'held') settle(node);
    if (freshness.kind !== 'stale' || isOver()) return;
    node.driven = true;
    inFlight += 1;
    void drive(node, position)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        inFlight -= 1;
        land(position);
        wake();
      });
  };
  const judgeAll = (): void => {
    for (let head = 0; head < queue.length; head += 1) judge(queue[head] ?? -1);
    queue.length = 0;
  };

  for (const position of nodes.keys()) enqueueReady(position);
  for (;;) {
    try {
      judgeAll();
    } catch (error) {
      // S5: what is in flight must not be left behind.
      failure ??= { error };
      queue.length = 0;
    }
    if (inFlight === 0) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  if (failure !== undefined) throw failure.error;
  return {
    upToDate: nodes.filter((node) => node.wanted && node.settled).length,
    made,
    wanted: nodes.filter((node) => node.wanted).length,
  };
};
