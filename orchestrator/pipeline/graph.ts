/**
 * Graph algorithms over named nodes. All are linear (the order: `n log n`) and iterative: a chain of 100,000 targets
 * costs no stack. Names that no node has are skipped here; `validate.ts` reports them.
 */
export interface GraphNode {
  readonly name: string;
  /** Names of prerequisites. */
  readonly needs: readonly string[];
}

export interface NumberedNode extends GraphNode {
  readonly number: number;
}

interface Edges {
  /** Index of each prerequisite, by index of the node. */
  readonly up: readonly (readonly number[])[];
  /** Index of each dependent, by index of the node. */
  readonly down: readonly (readonly number[])[];
}

const edgesOf = (nodes: readonly GraphNode[]): Edges => {
  const index = new Map(nodes.map((node, at) => [node.name, at]));
  const down: number[][] = nodes.map(() => []);
  const up = nodes.map((node, at) => {
    const known: number[] = [];
    for (const need of node.needs) {
      const from = index.get(need);
      if (from === undefined) continue;
      known.push(from);
      down[from]?.push(at);
    }
    return known;
  });
  return { up, down };
};

/** A binary heap of node indexes, smallest key first. */
const createHeap = (key: (item: number) => number) => {
  const items: number[] = [];
  const keyAt = (at: number): number => {
    const item = items[at];
    return item === undefined ? Number.POSITIVE_INFINITY : key(item);
  };
  const swap = (a: number, b: number): void => {
    const [x, y] = [items[a], items[b]];
    if (x === undefined || y === undefined) return;
    items[a] = y;
    items[b] = x;
  };
  const push = (item: number): void => {
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (keyAt(parent) <= keyAt(at)) return;
      swap(parent, at);
      at = parent;
    }
  };
  const sink = (): void => {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const child = keyAt(left + 1) < keyAt(left) ? left + 1 : left;
      if (keyAt(child) >= keyAt(at)) return;
      swap(child, at);
      at = child;
    }
  };
  const pop = (): number | undefined => {
    const first = items[0];
    const last = items.pop();
    if (last !== undefined && items.length > 0) {
      items[0] = last;
      sink();
    }
    return first;
  };
  return { push, pop };
};

export interface Ordering<T> {
  /** Every node after all of its prerequisites; where several could come next, the one with the lowest number. */
  readonly order: readonly T[];
  /** Nodes that are part of a cycle or come after one, in the given order. Empty for a proper graph. */
  readonly cyclic: readonly T[];
}

export const topologicalOrder = <T extends NumberedNode>(nodes: readonly T[]): Ordering<T> => {
  const { up, down } = edgesOf(nodes);
  const missing = up.map((list) => list.length);
  const ready = createHeap((item) => nodes[item]?.number ?? 0);
  for (const [at, count] of missing.entries()) if (count === 0) ready.push(at);
  const order: T[] = [];
  for (let at = ready.pop(); at !== undefined; at = ready.pop()) {
    const node = nodes[at];
    if (node !== undefined) order.push(node);
    for (const next of down[at] ?? []) {
      const left = (missing[next] ?? 0) - 1;
      missing[next] = left;
      if (left === 0) ready.push(next);
    }
  }
  return { order, cyclic: nodes.filter((_, at) => (missing[at] ?? 0) > 0) };
};

/** Strongly connected components with more than one node (Tarjan 1972, with an own stack). */
const components = (up: Edges['up']): readonly (readonly number[])[] => {
  const seen = up.map(() => -1);
  const low = up.map(() => 0);
  const onStack = up.map(() => false);
  const stack: number[] = [];
  const found: number[][] = [];
  let clock = 0;

  const enter = (at: number): void => {
    seen[at] = clock;
    low[at] = clock;
    clock += 1;
    stack.push(at);
    onStack[at] = true;
  };
  const lower = (at: number, value: number | undefined): void => {
    low[at] = Math.min(low[at] ?? 0, value ?? 0);
  };
  const close = (root: number): void => {
    const members = stack.splice(stack.lastIndexOf(root));
    for (const member of members) onStack[member] = false;
    if (members.length > 1) found.push(members);
  };

  const leave = (at: number, parent: number | undefined): void => {
    if (parent !== undefined) lower(parent, low[at]);
    if (low[at] === seen[at]) close(at);
  };
  const walkFrom = (start: number): void => {
    const walk = [{ at: start, next: 0 }];
    enter(start);
    for (let frame = walk.at(-1); frame !== undefined; frame = walk.at(-1)) {
      const to = up[frame.at]?.[frame.next];
      frame.next += 1;
      if (to === undefined) {
        walk.pop();
        leave(frame.at, walk.at(-1)?.at);
      } else if (seen[to] === -1) {
        enter(to);
        walk.push({ at: to, next: 0 });
      } else if (onStack[to] === true) lower(frame.at, seen[to]);
    }
  };

  for (const start of up.keys()) if (seen[start] === -1) walkFrom(start);
  return found;
};

/** One cycle inside a component: from its first member along prerequisites inside it until a node comes again. */
const cycleIn = (members: readonly number[], up: Edges['up']): readonly number[] => {
  const inside = new Set(members);
  const position = new Map<number, number>();
  const walk: number[] = [];
  let at = members.reduce((least, member) => Math.min(least, member), Number.POSITIVE_INFINITY);
  while (!position.has(at)) {
    position.set(at, walk.length);
    walk.push(at);
    at = up[at]?.find((to) => inside.has(to)) ?? at;
  }
  return walk.slice(position.get(at));
};

/**
 * A cycle of each knot of nodes that need each other, as names: `['a', 'b']` means that `a` needs `b` and `b` needs `a`.
 * A node that needs itself is not listed: it is an error of its own.
 */
export const findCycles = (nodes: readonly GraphNode[]): readonly (readonly string[])[] => {
  const { up } = edgesOf(nodes);
  return components(up).map((members) => cycleIn(members, up).map((at) => nodes[at]?.name ?? ''));
};

/** Names of the direct dependents of each node, in the order of the nodes. */
export const dependents = (nodes: readonly GraphNode[]): ReadonlyMap<string, readonly string[]> => {
  const { down } = edgesOf(nodes);
  return new Map(nodes.map((node, at) => [node.name, (down[at] ?? []).map((to) => nodes[to]?.name ?? '')]));
};

const reach = (
  nodes: readonly GraphNode[],
  starts: Iterable<string>,
  edges: Edges['up'],
): ReadonlySet<string> => {
  const index = new Map(nodes.map((node, at) => [node.name, at]));
  const reached = new Set<string>();
  const open: number[] = [];
  const visit = (at: number | undefined): void => {
    const name = at === undefined ? undefined : nodes[at]?.name;
    if (at === undefined || name === undefined || reached.has(name)) return;
    reached.add(name);
    open.push(at);
  };
  for (const name of starts) visit(index.get(name));
  for (let at = open.pop(); at !== undefined; at = open.pop()) for (const to of edges[at] ?? []) visit(to);
  return reached;
};

/**
 * Active nodes and every node on a path to an active one. Source: DESIGN section 7, REQUIREMENTS F3.
 * Names that no node has are ignored.
 */
export const frontier = (nodes: readonly GraphNode[], activeNames: Iterable<string>): ReadonlySet<string> =>
  reach(nodes, activeNames, edgesOf(nodes).up);

/** The named nodes and everything that needs them, directly or not: what becomes out of date with them. */
export const downstream = (nodes: readonly GraphNode[], names: Iterable<string>): ReadonlySet<string> =>
  reach(nodes, names, edgesOf(nodes).down);

/**
 * Layer of each node: 0 without prerequisites, otherwise one more than the highest of its prerequisites.
 * `order` must be topological.
 */
export const layersOf = (order: readonly GraphNode[]): ReadonlyMap<string, number> => {
  const layers = new Map<string, number>();
  for (const node of order) {
    let layer = 0;
    for (const need of node.needs) layer = Math.max(layer, (layers.get(need) ?? -1) + 1);
    layers.set(node.name, layer);
  }
  return layers;
};
