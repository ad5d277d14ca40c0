/**
 * The loop: whatever has its prerequisites is judged; what is out of date is driven through its states by a table of
 * effects; what it reaches settles, and frees what waits for it.
 *
 * S1  A target is driven by one loop at a time.
 * S2  A target settles when it is up to date and so is everything above it. Only settled prerequisites free a target.
 * S3  Each step costs what its own edges cost; nothing walks all targets but the start.
 * S4  The limit is on the fork, inside the effects, never on a target: a target that waits for another holds no slot.
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

export const runScheduler = async (options: SchedulerOptions): Promise<SchedulerOutcome> => {
  const nodes = buildNodes(options.pipeline, options.until);
  const index = new Map(options.pipeline.targets.map(({ name }, position) => [name, position]));
  let inFlight = 0;
  let wake = (): void => undefined;
  const queue: number[] = [];
  let made = 0;
  let failure: { readonly error: unknown } | undefined;

  const enqueueReady = (position: number): void => {
    const node = nodes[position];
    if (node !== undefined && node.wanted && node.unmet === 0 && !node.settled && !node.driven) queue.push(position);
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
    enqueueReady(start);
  };
  const drive = async (node: Node, position: number): Promise<void> => {
    for (let steps = 0; ; steps += 1) {
      const value = options.valueOf(node.target.name);
      const effect = options.effects[value];
      // A target that was done when it was judged is made again; one that has become so has arrived.
      if (effect === undefined || (value === 'done' && steps > 0)) break;
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
    if (node === undefined || node.settled || node.driven || node.unmet > 0) return;
    const freshness = options.freshness(node.target);
    options.onJudged?.(node.target, freshness);
    if (freshness.kind === 'fresh' || freshness.kind === 'held') settle(node);
    if (freshness.kind !== 'stale' || options.halted()) return;
    node.driven = true;
    inFlight += 1;
    void drive(node, position)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        inFlight -= 1;
        wake();
      });
  };

  for (const position of nodes.keys()) enqueueReady(position);
  for (;;) {
    for (let head = 0; head < queue.length; head += 1) judge(queue[head] ?? -1);
    queue.length = 0;
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
