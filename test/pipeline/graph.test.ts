import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  dependents,
  downstream,
  findCycles,
  frontier,
  layersOf,
  topologicalOrder,
} from '../../orchestrator/pipeline/graph.js';

interface Node {
  readonly name: string;
  readonly number: number;
  readonly needs: readonly string[];
}

const chain = (length: number): readonly Node[] =>
  Array.from({ length }, (_, at) => ({ name: `n${at}`, number: at, needs: at === 0 ? [] : [`n${at - 1}`] }));

/** Any graph without cycles: edges go from a later to an earlier node, and the list is shuffled by number. */
const dag = fc
  .integer({ min: 1, max: 24 })
  .chain((size) =>
    fc.tuple(
      fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 60 }),
      fc.shuffledSubarray(
        Array.from({ length: size }, (_, at) => at),
        { minLength: size, maxLength: size },
      ),
    ),
  )
  .map(([pairs, numbers]) =>
    numbers.map((number, at): Node => {
      const needs = pairs
        .filter(([a, b]) => Math.max(a, b) === at && a !== b)
        .map(([a, b]) => `n${Math.min(a, b)}`);
      return { name: `n${at}`, number, needs: [...new Set(needs)] };
    }),
  )
  .map((nodes) => nodes.toSorted((a, b) => a.number - b.number));

const anyGraph = fc
  .integer({ min: 1, max: 14 })
  .chain((size) =>
    fc.array(fc.array(fc.nat(size - 1), { maxLength: 3 }), { minLength: size, maxLength: size }),
  )
  .map((edges) =>
    edges.map((needs, at): Node => ({
      name: `n${at}`,
      number: at,
      needs: [...new Set(needs)].map((to) => `n${to}`),
    })),
  );

/** Adds what the members of a set need; tells whether there was anything new. */
const grow = (set: Set<string>, up: ReadonlyMap<string, ReadonlySet<string>>): boolean => {
  const found = Array.from(set, (name) => [...(up.get(name) ?? [])]).flat();
  const before = set.size;
  for (const name of found) set.add(name);
  return set.size > before;
};

/** All pairs by repeated closure: slow, and obviously right. */
const reaches = (nodes: readonly Node[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const up = new Map(nodes.map(({ name, needs }): [string, Set<string>] => [name, new Set(needs)]));
  while (Array.from(up.values(), (set) => grow(set, up)).some(Boolean));
  return up;
};

/** Ties by number, by trying every node again and again. */
const bruteOrder = (nodes: readonly Node[]): readonly string[] => {
  const done: string[] = [];
  while (done.length < nodes.length) {
    const ready = nodes.filter(
      ({ name, needs }) => !done.includes(name) && needs.every((need) => done.includes(need)),
    );
    const next = ready.toSorted((a, b) => a.number - b.number)[0];
    if (next === undefined) break;
    done.push(next.name);
  }
  return done;
};

describe('order', () => {
  test('is the one that repeated search for the lowest ready number finds', () => {
    fc.assert(
      fc.property(dag, (nodes) => {
        const { order, cyclic } = topologicalOrder(nodes);
        expect(order.map(({ name }) => name)).toEqual(bruteOrder(nodes));
        expect(cyclic).toEqual([]);
      }),
    );
  });

  test('leaves out exactly the nodes on or behind a cycle', () => {
    fc.assert(
      fc.property(anyGraph, (nodes) => {
        const up = reaches(nodes);
        const stuck = ({ name, needs }: Node): boolean =>
          [name, ...needs, ...(up.get(name) ?? [])].some((other) => up.get(other)?.has(other) === true);
        const { order, cyclic } = topologicalOrder(nodes);
        expect(cyclic).toEqual(nodes.filter(stuck));
        expect(order).toHaveLength(nodes.length - cyclic.length);
      }),
    );
  });

  test('skips names that nobody has', () => {
    expect(topologicalOrder([{ name: 'a', number: 0, needs: ['ghost'] }]).order).toHaveLength(1);
  });
});

describe('cycles', () => {
  test('there is one a knot, it is closed, and only when a node reaches itself through another', () => {
    fc.assert(
      fc.property(anyGraph, (nodes) => {
        const up = reaches(
          nodes.map((node) => ({ ...node, needs: node.needs.filter((need) => need !== node.name) })),
        );
        const inKnot = nodes.filter(({ name }) => up.get(name)?.has(name) === true);
        const cycles = findCycles(nodes);
        expect(cycles.length > 0).toBe(inKnot.length > 0);
        for (const cycle of cycles) {
          for (const [at, name] of cycle.entries()) {
            const next = cycle[(at + 1) % cycle.length];
            expect(nodes.find((node) => node.name === name)?.needs).toContain(next);
          }
          expect(new Set(cycle).size).toBe(cycle.length);
        }
        const knotOf = (name: string) =>
          inKnot.filter((other) => up.get(name)?.has(other.name) && up.get(other.name)?.has(name));
        const knots = new Set(
          inKnot.map(({ name }) =>
            knotOf(name)
              .map((other) => other.name)
              .join(' '),
          ),
        );
        expect(cycles).toHaveLength(knots.size);
      }),
    );
  });

  test('names the nodes in the order of need', () => {
    const nodes = [
      { name: 'a', needs: ['b'] },
      { name: 'b', needs: ['c'] },
      { name: 'c', needs: ['a'] },
    ];
    expect(findCycles(nodes)).toEqual([['a', 'b', 'c']]);
  });
});

describe('frontier', () => {
  test('is the active nodes and all that a path leads from to them, as brute force finds it', () => {
    fc.assert(
      fc.property(dag, fc.array(fc.nat(23), { maxLength: 4 }), (nodes, picks) => {
        const active = picks
          .map((pick) => `n${pick}`)
          .filter((name) => nodes.some((node) => node.name === name));
        const up = reaches(nodes);
        const expected = new Set(active.flatMap((name) => [name, ...(up.get(name) ?? [])]));
        expect(frontier(nodes, active)).toEqual(expected);
      }),
    );
  });

  test('of a diamond with two active ends is all of it; of nothing it is empty', () => {
    const nodes = [
      { name: 'top', needs: [] },
      { name: 'left', needs: ['top'] },
      { name: 'right', needs: ['top'] },
      { name: 'other', needs: [] },
    ];
    expect([...frontier(nodes, ['left', 'right'])].toSorted()).toEqual(['left', 'right', 'top']);
    expect(frontier(nodes, [])).toEqual(new Set());
    expect(frontier(nodes, ['ghost'])).toEqual(new Set());
  });

  test('downstream is its mirror image', () => {
    fc.assert(
      fc.property(dag, (nodes) => {
        const up = reaches(nodes);
        for (const { name } of nodes) {
          const after = nodes
            .filter((node) => up.get(node.name)?.has(name) === true)
            .map((node) => node.name);
          expect(downstream(nodes, [name])).toEqual(new Set([name, ...after]));
        }
      }),
      { numRuns: 30 },
    );
  });
});

test('reverse edges are the edges, turned round', () => {
  fc.assert(
    fc.property(dag, (nodes) => {
      const pairs = [...dependents(nodes)].flatMap(([from, names]) => names.map((to) => `${from} ${to}`));
      expect(pairs.toSorted()).toEqual(
        nodes.flatMap(({ name, needs }) => needs.map((need) => `${need} ${name}`)).toSorted(),
      );
    }),
  );
});

test('a chain of 100,000 targets needs no stack in any algorithm', () => {
  const nodes = chain(100_000);
  const { order } = topologicalOrder(nodes.toReversed());
  expect(order[0]?.name).toBe('n0');
  expect(order.at(-1)?.name).toBe('n99999');
  expect(frontier(nodes, ['n99999']).size).toBe(100_000);
  expect(downstream(nodes, ['n0']).size).toBe(100_000);
  expect(layersOf(nodes).get('n99999')).toBe(99_999);
  const ring = nodes.map((node, at) => (at === 0 ? { ...node, needs: ['n99999'] } : node));
  expect(findCycles(ring)[0]).toHaveLength(100_000);
  expect(topologicalOrder(ring).cyclic).toHaveLength(100_000);
});
