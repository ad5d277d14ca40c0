import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TargetValue } from '../../orchestrator/machine/target-machine.js';
import type { Target } from '../../orchestrator/model/pipeline.js';
import type { EffectResult } from '../../orchestrator/scheduler/scheduler.js';
import { gate, graphs, MOVED, settle, worldOf, type Graph } from '../helpers/scheduling.js';

const before = (log: readonly string[], first: string, second: string): void => {
  expect(log).toContain(first);
  expect(log).toContain(second);
  expect(log.indexOf(first)).toBeLessThan(log.indexOf(second));
};

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
        for (const [name, needs] of Object.entries(graph))
          for (const need of needs) before(world.log, `end ${need}`, `start ${name}`);
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
    const world = worldOf(
      { top: [], left: ['top'], right: ['top'], end: ['left', 'right'] },
      async ({ name }) => {
        if (name === 'left') await left.opened;
        return MOVED;
      },
    );
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
    const stale = worldOf({ a: [] }, undefined, (name, { log }) =>
      log.length > 0 ? undefined : { kind: 'stale', reason: `${name} changed` },
    );
    stale.values.set('a', 'done');
    expect(await stale.run()).toMatchObject({ made: 1, upToDate: 1 });
    const held = worldOf({ a: [], b: ['a'] }, undefined, (name) =>
      name === 'a' ? { kind: 'held', reason: 'latch' } : undefined,
    );
    held.values.set('a', 'done');
    expect(await held.run()).toMatchObject({ made: 1, upToDate: 2 });
  });

  test('what rests keeps all below it waiting', async () => {
    const world = worldOf({ a: [], b: ['a'], c: [] }, undefined, (name) =>
      name === 'a' ? { kind: 'resting', reason: 'a person' } : undefined,
    );
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
  const next: Partial<Record<TargetValue, TargetValue>> = {
    pending: 'running',
    running: 'gating',
    gating: 'done',
  };
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
  await world.run({
    effects: {
      pending: step,
      running: step,
      gating: step,
      waiting: undefined,
      failed: undefined,
      paused: undefined,
      done: step,
      abandoned: undefined,
    },
  });
  expect(world.log.filter((line) => line.startsWith('a'))).toEqual(['a pending', 'a running', 'a gating']);
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
    const ended = running.catch((error: unknown) => error);
    await settle();
    expect(over).toBe(false);
    slow.open();
    expect(await ended).toEqual(new Error('no space left'));
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
    const ended = world.run().catch((error: unknown) => error);
    await settle();
    slow.open();
    expect(await ended).toEqual(new Error('not readable'));
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
  [
    'with a join over all',
    (index) => (index === 4_999 ? Array.from({ length: 4_999 }, (_, at) => `t${at}`) : []),
  ],
])('S3: 5,000 targets %s cost a few steps each', async (_, needs) => {
  const graph = Object.fromEntries(Array.from({ length: 5_000 }, (__, index) => [`t${index}`, needs(index)]));
  const world = worldOf(graph);
  const outcome = await world.run();
  expect(outcome.upToDate).toBe(5_000);
  expect(world.judged).toHaveLength(5_000);
  expect(world.asked).toBeLessThan(5 * 5_000);
});
