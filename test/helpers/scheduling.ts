/** A world for the scheduler without processes or disk: targets by name, work by hand, a log of what happened. */
import fc from 'fast-check';
import type { TargetValue } from '../../orchestrator/machine/target-machine.js';
import type { Target } from '../../orchestrator/model/pipeline.js';
import type { Freshness } from '../../orchestrator/scheduler/freshness.js';
import {
  runScheduler,
  type EffectResult,
  type SchedulerOptions,
  type SchedulerOutcome,
} from '../../orchestrator/scheduler/scheduler.js';
import { pipelineOf, target } from './core.js';

/** Targets by name, with what they need: `{ a: [], b: ['a'] }`. */
export type Graph = Readonly<Record<string, readonly string[]>>;

/** `valueOf` is a method of every object, which makes it no optional property. */
type More = Partial<Omit<SchedulerOptions, 'valueOf'>>;

export interface World {
  readonly values: Map<string, TargetValue>;
  /** What happened, in order: `start a`, `end a`, … */
  readonly log: string[];
  readonly judged: string[];
  halted: boolean;
  /** How often a target's value was asked for. */
  asked: number;
  readonly run: (more?: More) => Promise<SchedulerOutcome>;
}

export type Work = (target: Target, world: World) => Promise<EffectResult> | EffectResult;

export const MOVED: EffectResult = { kind: 'moved' };

/** Targets that are made in one step by `work`, or at once; judged by their value alone unless `freshness` says more. */
export const worldOf = (
  graph: Graph,
  work: Work = () => MOVED,
  freshness?: (name: string, world: World) => Freshness | undefined,
): World => {
  const names = Object.keys(graph);
  const pipeline = pipelineOf(names.map((name) => target(name, graph[name])));
  const world: World = {
    values: new Map(names.map((name) => [name, 'pending'])),
    log: [],
    judged: [],
    halted: false,
    asked: 0,
    run: (more = {}) => {
      const make = async (each: Target): Promise<EffectResult> => {
        world.log.push(`start ${each.name}`);
        world.values.set(each.name, 'running');
        const result = await work(each, world);
        world.log.push(`end ${each.name}`);
        if (result.kind === 'moved' && world.values.get(each.name) === 'running')
          world.values.set(each.name, 'done');
        return result;
      };
      return runScheduler({
        pipeline,
        valueOf: (name) => {
          world.asked += 1;
          return world.values.get(name) ?? 'pending';
        },
        freshness: ({ name }) => {
          world.judged.push(name);
          const value = world.values.get(name);
          return (
            freshness?.(name, world) ??
            (value === 'done' ? { kind: 'fresh' } : { kind: 'stale', reason: 'never made' })
          );
        },
        effects: {
          pending: make,
          running: make,
          gating: make,
          waiting: undefined,
          failed: undefined,
          paused: undefined,
          done: make,
          abandoned: undefined,
        },
        halted: () => world.halted,
        ...more,
      });
    },
  };
  return world;
};

/** A promise that the test settles by hand. */
export const gate = () => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
};

/** Lets everything that can go on go on. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Random graphs: each target may need any that come before it. */
export const graphs: fc.Arbitrary<Graph> = fc
  .integer({ min: 1, max: 12 })
  .chain((size) =>
    fc
      .tuple(
        ...Array.from({ length: size }, (_, index) =>
          fc.subarray(Array.from({ length: index }, (__, at) => `t${at}`)),
        ),
      )
      .map((needs) => Object.fromEntries(needs.map((list, index) => [`t${index}`, list]))),
  );
