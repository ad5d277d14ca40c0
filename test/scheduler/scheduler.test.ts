import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TargetValue } from '../../orchestrator/machine/target-machine.js';
import type { Target } from '../../orchestrator/model/pipeline.js';
import type { Freshness } from '../../orchestrator/scheduler/freshness.js';
import { runScheduler, type EffectResult, type SchedulerOptions, type SchedulerOutcome } from '../../orchestrator/scheduler/scheduler.js';
import { pipelineOf, target } from '../helpers/core.js';

/** Targets by name, with what they need: `{ a: [], b: ['a'] }`. */
type Graph = Readonly<Record<string, readonly string[]>>;

interface World {
  readonly values: Map<string, TargetValue>;
  /** What happened, in order: `start a`, `end a`, … */
  readonly log: string[];
  readonly judged: string[];
  halted: boolean;
  readonly run: (more?: Partial<SchedulerOptions>) => Promise<SchedulerOutcome>;
}

type Work = (target: Target, world: World) => Promise<EffectResult> | EffectResult;

const MOVED: EffectResult = { kind: 'moved' };

/** Targets that are made in one step by `work`, or at once; judged by their value alone unless `freshness` says more. */
const worldOf = (graph: Graph, work: Work = () => MOVED, freshness?: (name: string, world: World) => Freshness | undefined): World => {
  const names = Object.keys(graph);
  const pipeline = pipelineOf(names.map((name) => target(name, graph[name])));
  const world: World = {
    values: new Map(names.map((name) => [name, 'pending'])),
    log: [],
    judged: [],
    halted: false,
    run: (more = {}) => {
      const make = async (each: Target): Promise<EffectResult> => {
        world.log.push(`start ${each.name}`);
        world.values.set(each.name, 'running');
        const result = await work(each, world);
        world.log.push(`end ${each.name}`);
        if (result.kind === 'moved' && world.values.get(each.name) === 'running') world.values.set(each.name, 'done');
        return result;
      };
      return runScheduler({
        pipeline,
        valueOf: (name) => world.values.get(name) ?? 'pending',
        freshness: ({ name }) => {
          world.judged.push(name);
          const value = world.values.get(name);
          return freshness?.(name, world) ?? (value === 'done' ? { kind: 'fresh' } : { kind: 'stale', reason: 'never made' });
        },
        effects: { pending: make, running: make, gating: make, waiting: undefined, failed: undefined, paused: undefined, done: make, abandoned: undefined },
        halted: () => world.halted,
        ...more,
      });
    },
  };
  return world;
};

/** A promise that the test settles by hand. */
const gate = () => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
};

/** Lets everything that can go on go on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const before = (log: readonly string[], first: string, second: string): void => {
  expect(log).toContain(first);
  expect(log).toContain(second);
  expect(log.indexOf(first)).toBeLessThan(log.indexOf(second));
};

/** Random graphs: each target may need any that come before it. */
const graphs: fc.Arbitrary<Graph> = fc.integer({ min: 1, max: 12 }).chain((size) =>
  fc
    .tuple(...Array.from({ length: size }, (_, index) => fc.subarray(Array.from({ length: index }, (__, at) => `t${at}`))))
    .map((needs) => Object.fromEntries(needs.map((list, index) => [`t${index}`, list]))),
);

const ancestorsOf = (graph: Graph, name: string): Set<string> => {
  const found = new Set<string>();
  const stack = [name];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    stack.push(...(graph[next] ?? []));
  }
  return found;
};

describe('S2: only settled prerequisites free a target', () => {
  test('in any graph, with work of any length, nothing starts before all that it needs has ended', async () => {
    await fc.assert(
      fc.asyncProperty(graphs, fc.scheduler(), async (graph, scheduler) => {
        const world = worldOf(graph, async ({ name }) => {
          await scheduler.schedule(Promise.resolve(), name);
          return MOVED;
        });
        const outcome = await scheduler.waitFor(world.run());
        for (const [name, needs] of Object.entries(graph)) for (const need of needs) before(world.log, `end ${need}`, `start ${name}`);
        const size = Object.keys(graph).length;
        expect(outcome).toEqual({ upToDate: size, made: size, wanted: size });
        expect(world.judged.toSorted()).toEqual(Object.keys(graph).toSorted());
      }),
      { numRuns: 60 },
    );
  });

  test('all that is free starts at once', async () => {
    const world = worldOf({ a: [], b: [], c: ['a', 'b'] });
    await world.run();
    expect(world.log.slice(0, 2)).toEqual(['start a', 'start b']);
  });

  test('of a diamond the end is made once, after both sides', async () => {
    const left = gate();
    const world = worldOf({ top: [], left: ['top'], right: ['top'], end: ['left', 'right'] }, async ({ name }) => {
      if (name === 'left') await left.opened;
      return MOVED;
    });
    const running = world.run();
    await settle();
    expect(world.log.at(-1)).toBe('end right');
    left.open();
    await running;
    expect(world.log.filter((line) => line === 'start end')).toHaveLength(1);
  });

  test('what is up to date is not made; what needs it may be', async () => {
    const world = worldOf({ a: [], b: ['a'] });
    world.values.set('a', 'done');
    expect(await world.run()).toEqual({ upToDate: 2, made: 1, wanted: 2 });
    expect(world.log).toEqual(['start b', 'end b']);
  });

  test('done and out of date is made again; held by a latch is not, and frees what needs it', async () => {
    const stale = worldOf({ a: [] }, undefined, (name, { log }) => (log.length > 0 ? undefined : { kind: 'stale', reason: `${name} changed` }));
    stale.values.set('a', 'done');
    expect(await stale.run()).toMatchObject({ made: 1, upToDate: 1 });
    const held = worldOf({ a: [], b: ['a'] }, undefined, (name) => (name === 'a' ? { kind: 'held', reason: 'latch' } : undefined));
    held.values.set('a', 'done');
    expect(await held.run()).toMatchObject({ made: 1, upToDate: 2 });
  });

  test('what rests keeps all below it waiting', async () => {
    const world = worldOf({ a: [], b: ['a'], c: [] }, undefined, (name) => (name === 'a' ? { kind: 'resting', reason: 'a person' } : undefined));
    expect(await world.run()).toEqual({ upToDate: 1, made: 1, wanted: 3 });
    expect(world.log).toEqual(['start c', 'end c']);
  });

  test('a target that comes to rest on its way frees nothing', async () => {
    for (const value of ['waiting', 'failed', 'paused', 'abandoned'] as const) {
      const world = worldOf({ a: [], b: ['a'] }, ({ name }, { values }) => {
        values.set(name, value);
        return MOVED;
      });
      expect(await world.run()).toEqual({ upToDate: 0, made: 0, wanted: 2 });
      expect(world.log).toEqual(['start a', 'end a']);
    }
  });
});

test('S1: a target is driven by one loop at a time, through as many states as it needs', async () => {
  let busy = 0;
  const next: Partial<Record<TargetValue, TargetValue>> = { pending: 'running', running: 'gating', gating: 'done' };
  const world = worldOf({ a: [], b: ['a'], c: ['a'] });
  const step = async ({ name }: Target): Promise<EffectResult> => {
    busy += name === 'a' ? 1 : 0;
    expect(busy).toBeLessThanOrEqual(1);
    await settle();
    const value = world.values.get(name) ?? 'pending';
    world.log.push(`${name} ${value}`);
    world.values.set(name, next[value] ?? 'done');
    busy -= name === 'a' ? 1 : 0;
    return MOVED;
  };
  await world.run({ effects: { pending: step, running: step, gating: step, waiting: undefined, failed: undefined, paused: undefined, done: step, abandoned: undefined } });
  expect(world.log.filter((line) => line.startsWith('a'))).toEqual(['a pending', 'a running', 'a gating']);
});

describe('the review loop', () => {
  /** Rejects so many times, then approves. */
  const rejecting = (times: number): Work => {
    let left = times;
    return ({ name }, { values }) => {
      if (name !== 'review' || left === 0) return MOVED;
      left -= 1;
      for (const each of ['diff', 'review']) values.set(each, 'pending');
      return { kind: 'invalidated', target: 'diff' };
    };
  };

  test('makes the target again, and all between, until it is approved; then the rest', async () => {
    const world = worldOf({ plan: [], diff: ['plan'], lint: ['diff'], review: ['lint'], commit: ['review'] }, rejecting(4));
    const outcome = await world.run();
    const starts = (name: string): number => world.log.filter((line) => line === `start ${name}`).length;
    expect(['plan', 'diff', 'lint', 'review', 'commit'].map(starts)).toEqual([1, 5, 1, 5, 1]);
    expect(outcome).toMatchObject({ upToDate: 5, wanted: 5 });
    // Judged again, because what it was made from was made again.
    expect(world.judged.filter((name) => name === 'lint')).toHaveLength(5);
  });

  test('makes a diamond below it again once a round', async () => {
    const world = worldOf({ diff: [], a: ['diff'], b: ['diff'], review: ['a', 'b'], end: ['review'] }, rejecting(1));
    await world.run();
    expect(world.log.filter((line) => line.startsWith('start'))).toEqual(['start diff', 'start a', 'start b', 'start review', 'start diff', 'start review', 'start end']);
  });
});

describe('S4: two critics of one diff', () => {
  /** Verdicts by critic and round; each critic ends when its gate is opened. */
  const reviewed = (verdicts: Readonly<Record<string, readonly boolean[]>>) => {
    const gates = new Map([...Object.keys(verdicts)].map((name) => [name, gate()]));
    const rounds = new Map<string, number>();
    const world = worldOf({ diff: [], tests: ['diff'], security: ['diff'], commit: ['tests', 'security'] }, async ({ name }, { values }) => {
      const list = verdicts[name];
      if (list === undefined) return MOVED;
      const round = rounds.get(name) ?? 0;
      rounds.set(name, round + 1);
      if (round === 0) await gates.get(name)?.opened;
      if (list[round] !== false) return MOVED;
      for (const each of ['diff', name]) values.set(each, 'pending');
      return { kind: 'invalidated', target: 'diff' };
    });
    return { world, open: (name: string) => gates.get(name)?.open() };
  };

  test('when one rejects, the next round waits for the other, whatever that one says', async () => {
    for (const other of [true, false]) {
      const { world, open } = reviewed({ tests: [false], security: [other] });
      const running = world.run();
      await settle();
      open('tests');
      await settle();
      // The builder must not work under the eyes of a critic.
      expect(world.log).toEqual(['start diff', 'end diff', 'start tests', 'start security', 'end tests']);
      open('security');
      expect(await running).toMatchObject({ upToDate: 4 });
      expect(world.log.filter((line) => line === 'start diff')).toHaveLength(2);
      before(world.log, 'end security', 'start commit');
    }
  });

  test('one that must try again does so on the next round, not on the diff that went out of date', async () => {
    const failing = gate();
    let attempts = 0;
    const world = worldOf({ diff: [], tests: ['diff'], security: ['diff'] }, async ({ name }, { values }) => {
      if (name === 'security') {
        attempts += 1;
        if (attempts === 1) await failing.opened;
        if (attempts === 1) values.set('security', 'pending');
        return MOVED;
      }
      if (name !== 'tests' || attempts > 1 || values.get('diff') === 'pending') return MOVED;
      if (world.log.filter((line) => line === 'start tests').length > 1) return MOVED;
      for (const each of ['diff', 'tests']) values.set(each, 'pending');
      return { kind: 'invalidated', target: 'diff' };
    });
    const running = world.run();
    await settle();
    failing.open();
    await running;
    const starts = world.log.filter((line) => line.startsWith('start'));
    expect(starts).toEqual(['start diff', 'start tests', 'start security', 'start diff', 'start tests', 'start security']);
  });
});

describe('stopping', () => {
  test('a failure stops new starts; what is running ends and is counted', async () => {
    const slow = gate();
    const world = worldOf({ bad: [], slow: [], after: ['slow'], other: ['bad'] }, async ({ name }, of) => {
      if (name === 'bad') {
        await settle();
        of.values.set('bad', 'failed');
        of.halted = true;
      }
      if (name === 'slow') await slow.opened;
      return MOVED;
    });
    const running = world.run();
    await settle();
    slow.open();
    expect(await running).toEqual({ upToDate: 1, made: 1, wanted: 4 });
    expect(world.log).toEqual(['start bad', 'start slow', 'end bad', 'end slow']);
  });

  test('halted from the start, nothing starts, and what is up to date is still seen', async () => {
    const world = worldOf({ a: [], b: ['a'], c: ['b'] });
    world.values.set('a', 'done');
    world.halted = true;
    expect(await world.run()).toEqual({ upToDate: 1, made: 0, wanted: 3 });
  });

  test('an attempt that is to be tried again is not, once the run stops', async () => {
    const world = worldOf({ a: [] }, ({ name }, of) => {
      of.values.set(name, 'pending');
      of.halted = true;
      return MOVED;
    });
    await world.run();
    expect(world.log).toEqual(['start a', 'end a']);
  });

  test('an effect that could not start leaves its target where it is', async () => {
    const world = worldOf({ a: [], b: ['a'] }, () => ({ kind: 'halted' }));
    expect(await world.run()).toEqual({ upToDate: 0, made: 0, wanted: 2 });
  });
});

describe('S5: what throws', () => {
  test('an effect: nothing starts after it, what is in flight ends, then the error is thrown', async () => {
    const slow = gate();
    const world = worldOf({ bad: [], slow: [], after: ['slow'] }, async ({ name }) => {
      if (name === 'bad') throw new Error('no space left');
      if (name === 'slow') await slow.opened;
      return MOVED;
    });
    let over = false;
    const running = world.run().finally(() => {
      over = true;
    });
    const ended = expect(running).rejects.toThrow('no space left');
    await settle();
    expect(over).toBe(false);
    slow.open();
    await ended;
    expect(world.log).toEqual(['start bad', 'start slow', 'end slow']);
  });

  test('a judgement: the same', async () => {
    const slow = gate();
    const world = worldOf(
      { slow: [], bad: [], after: ['slow'] },
      async () => {
        await slow.opened;
        return MOVED;
      },
      (name) => {
        if (name === 'bad') throw new Error('not readable');
        return undefined;
      },
    );
    const ended = expect(world.run()).rejects.toThrow('not readable');
    await settle();
    slow.open();
    await ended;
    expect(world.log).toEqual(['start slow', 'end slow']);
  });

  test('of two errors the first is told', async () => {
    const world = worldOf({ a: [], b: [] }, ({ name }) => {
      throw new Error(name);
    });
    await expect(world.run()).rejects.toThrow('a');
  });
});

test('until: only that target and what it needs, in any graph', async () => {
  await fc.assert(
    fc.asyncProperty(graphs, fc.nat(), async (graph, pick) => {
      const names = Object.keys(graph);
      const until = names[pick % names.length] ?? '';
      const world = worldOf(graph);
      const outcome = await world.run({ until });
      const wanted = ancestorsOf(graph, until);
      expect(new Set(world.judged)).toEqual(wanted);
      expect(outcome).toEqual({ upToDate: wanted.size, made: wanted.size, wanted: wanted.size });
    }),
    { numRuns: 40 },
  );
});

test('every judgement is told, once each time', async () => {
  const told: string[] = [];
  const world = worldOf({ a: [], b: ['a'] });
  await world.run({ onJudged: ({ name }, { kind }) => told.push(`${name} ${kind}`) });
  expect(told).toEqual(['a stale', 'b stale']);
});

test.each<[string, (index: number) => readonly string[]]>([
  ['independent', () => []],
  ['in a chain', (index) => (index === 0 ? [] : [`t${index - 1}`])],
  ['with a join over all', (index) => (index === 4_999 ? Array.from({ length: 4_999 }, (_, at) => `t${at}`) : [])],
])('S3: 5,000 targets %s cost a few steps each', async (_, needs) => {
  const graph = Object.fromEntries(Array.from({ length: 5_000 }, (__, index) => [`t${index}`, needs(index)]));
  let asked = 0;
  const world = worldOf(graph);
  const outcome = await world.run({
    valueOf: (name) => {
      asked += 1;
      return world.values.get(name) ?? 'pending';
    },
  });
  expect(outcome.upToDate).toBe(5_000);
  expect(world.judged).toHaveLength(5_000);
  expect(asked).toBeLessThan(5 * 5_000);
});
