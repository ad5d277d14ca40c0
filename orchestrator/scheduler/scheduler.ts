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
  readonly position: number;
  readonly target: Target;
  readonly dependants: number[];
  readonly wanted: boolean;
  unmet: number;
  settled: boolean;
  driven: boolean;
}

/** What one run of the loop knows; it lives as long as the call. */
interface Loop {
  readonly options: SchedulerOptions;
  readonly nodes: readonly Node[];
  readonly index: ReadonlyMap<string, number>;
  /** Targets that are to be judged. */
  readonly queue: Node[];
  /** S4: what is out of date → what is in flight below it. */
  readonly heldUp: Map<Node, Set<Node>>;
  inFlight: number;
  made: number;
  failure: { readonly error: unknown } | undefined;
  /** Ends the wait of the loop. */
  wake: () => void;
}

const openLoop = (options: SchedulerOptions): Loop => {
  const { targets } = options.pipeline;
  const index = new Map(targets.map(({ name }, position) => [name, position]));
  const wanted = wantedOf(targets, index, options.until);
  const nodes = targets.map((target, position): Node => ({
    position,
    target,
    dependants: [],
    wanted: wanted[position] ?? true,
    unmet: target.needs.length,
    settled: false,
    driven: false,
  }));
  for (const { target, position } of nodes) {
    for (const need of target.needs) nodes[index.get(need) ?? -1]?.dependants.push(position);
  }
  return {
    options,
    nodes,
    index,
    queue: [],
    heldUp: new Map(),
    inFlight: 0,
    made: 0,
    failure: undefined,
    wake: () => undefined,
  };
};

const wantedOf = (
  targets: readonly Target[],
  index: ReadonlyMap<string, number>,
  until: string | undefined,
): boolean[] => {
  const wanted = targets.map(({ name }) => until === undefined || name === until);
  // Topological order: a target comes after what it needs, so one pass from the end finds all ancestors.
  for (let position = targets.length - 1; position >= 0; position -= 1) {
    if (wanted[position] !== true) continue;
    for (const need of targets[position]?.needs ?? []) wanted[index.get(need) ?? -1] = true;
  }
  return wanted;
};

/** Nothing new is started any more. */
const isOver = ({ failure, options }: Loop): boolean => failure !== undefined || options.halted();

const canBeJudged = ({ heldUp }: Loop, node: Node): boolean =>
  node.wanted && node.unmet === 0 && !node.settled && !node.driven && !heldUp.has(node);

const enqueue = (loop: Loop, node: Node): void => {
  if (canBeJudged(loop, node)) loop.queue.push(node);
};

const settle = (loop: Loop, node: Node): void => {
  node.settled = true;
  for (const position of node.dependants) {
    const dependant = loop.nodes[position];
    if (dependant === undefined) continue;
    dependant.unmet -= 1;
    enqueue(loop, dependant);
  }
};

/** It and everything below it must be judged again. */
const unsettle = (loop: Loop, name: string): void => {
  const { nodes } = loop;
  const start = nodes[loop.index.get(name) ?? -1];
  if (start === undefined) return;
  const stack = [start];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (!node.settled) continue;
    node.settled = false;
    for (const position of node.dependants) {
      const dependant = nodes[position];
      if (dependant === undefined) continue;
      dependant.unmet += 1;
      stack.push(dependant);
    }
  }
  const below = inFlightBelow(nodes, start);
  if (below.size > 0) loop.heldUp.set(start, below);
  enqueue(loop, start);
};

/** All targets below `start` that an effect is at work on. */
const inFlightBelow = (nodes: readonly Node[], start: Node): Set<Node> => {
  const found = new Set<Node>();
  const seen = new Set<number>();
  const stack = [...start.dependants];
  for (let position = stack.pop(); position !== undefined; position = stack.pop()) {
    const node = nodes[position];
    if (node === undefined || seen.has(position)) continue;
    seen.add(position);
    if (node.driven) found.add(node);
    stack.push(...node.dependants);
  }
  return found;
};

/** It is no longer in flight: what waited for that may go on. */
const landed = (loop: Loop, node: Node): void => {
  for (const [waiting, below] of loop.heldUp) {
    below.delete(node);
    if (below.size > 0) continue;
    loop.heldUp.delete(waiting);
    enqueue(loop, waiting);
  }
};

const drive = async (loop: Loop, node: Node): Promise<void> => {
  const { effects, valueOf } = loop.options;
  const { target } = node;
  for (let steps = 0; ; steps += 1) {
    const value = valueOf(target.name);
    const effect = effects[value];
    // A target that was done when it was judged is made again; one that has become so has arrived.
    if (effect === undefined || (value === 'done' && steps > 0)) break;
    // S2: another attempt is a new start.
    if (value === 'pending' && (node.unmet > 0 || isOver(loop))) break;
    const result = await effect(target);
    if (result.kind === 'halted') break;
    if (result.kind === 'invalidated') {
      node.driven = false;
      unsettle(loop, result.target);
      return;
    }
  }
  node.driven = false;
  if (valueOf(target.name) !== 'done') return;
  loop.made += 1;
  // What it was made from may have gone out of date meanwhile: then it is judged again when that is settled.
  if (node.unmet === 0) settle(loop, node);
};

const judge = (loop: Loop, node: Node): void => {
  if (!canBeJudged(loop, node)) return;
  const { options } = loop;
  const freshness = options.freshness(node.target);
  options.onJudged?.(node.target, freshness);
  if (freshness.kind === 'fresh' || freshness.kind === 'held') settle(loop, node);
  if (freshness.kind !== 'stale' || isOver(loop)) return;
  node.driven = true;
  loop.inFlight += 1;
  void drive(loop, node)
    .catch((error: unknown) => {
      loop.failure ??= { error };
    })
    .finally(() => {
      loop.inFlight -= 1;
      landed(loop, node);
      loop.wake();
    });
};

const judgeAll = (loop: Loop): void => {
  const { queue } = loop;
  try {
    for (let head = 0; head < queue.length; head += 1) {
      const node = queue[head];
      if (node !== undefined) judge(loop, node);
    }
  } catch (error) {
    // S5: what is in flight must not be left behind.
    loop.failure ??= { error };
  }
  queue.length = 0;
};

/** @throws what an effect or a judgement threw, after everything that was in flight has ended */
export const runScheduler = async (options: SchedulerOptions): Promise<SchedulerOutcome> => {
  const loop = openLoop(options);
  for (const node of loop.nodes) enqueue(loop, node);
  for (;;) {
    judgeAll(loop);
    if (loop.inFlight === 0) break;
    await new Promise<void>((resolve) => {
      loop.wake = resolve;
    });
  }
  if (loop.failure !== undefined) throw loop.failure.error;
  const wanted = loop.nodes.filter((node) => node.wanted);
  return { upToDate: wanted.filter((node) => node.settled).length, made: loop.made, wanted: wanted.length };
};
