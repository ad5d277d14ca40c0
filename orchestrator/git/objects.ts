import { createHash, type Hash } from 'node:crypto';
import { ok, type Result } from '../model/result.js';
import { run } from './git.js';
import type { ReadRequest } from './read.js';
import { pathText } from './records.js';

/** An object whose id was computed again from its bytes. */
export type ObjectState =
  | { readonly kind: 'intact'; readonly type: string; /** Of commits only. */ readonly body: string }
  | { readonly kind: 'missing' | 'damaged' | 'unread' };

export interface Root {
  readonly id: string;
  readonly type: 'commit' | 'tree';
}

export interface CommitFacts {
  readonly tree: string;
  readonly parents: readonly string[];
}

export interface Inspection {
  /** What is wrong with a root or with anything below it, by root; an empty list when every byte is what its id says. */
  readonly problems: ReadonlyMap<string, readonly string[]>;
  /** Of the roots that are intact commits. */
  readonly commits: ReadonlyMap<string, CommitFacts>;
}

/**
 * Reads every object of the roots from the store, history apart, and computes its id again: git itself believes what lies
 * under a name. Links to other repositories are left out, as their commits are not ours. Two processes and one a tree.
 */
export const inspectObjects = async (request: ReadRequest, roots: readonly Root[]): Promise<Inspection> => {
  const first = await readObjects(request, [...new Set(roots.map(({ id }) => id))]);
  const commits = new Map<string, CommitFacts>();
  const treeOfRoot = new Map<string, string>();
  const problems = new Map<string, string[]>(roots.map(({ id }) => [id, []]));
  for (const { id, type } of roots) {
    const state = first.get(id);
    const problem = rootProblem(id, type, state);
    if (problem !== undefined) problems.set(id, [problem]);
    if (problem !== undefined || state?.kind !== 'intact') continue;
    const commit = type === 'commit' ? parseCommit(state.body) : undefined;
    if (commit !== undefined) commits.set(id, commit);
    treeOfRoot.set(id, commit?.tree ?? id);
  }
  const listings = await listTrees(request, new Set(treeOfRoot.values()));
  const all = [...listings.values()].flatMap((listing) =>
    listing.ok ? listing.value.map(({ id }) => id) : [],
  );
  const below = await readObjects(request, [...new Set([...treeOfRoot.values(), ...all])]);
  for (const [root, tree] of treeOfRoot)
    problems.get(root)?.push(...treeProblems(tree, listings.get(tree), below));
  return { problems, commits };
};

const rootProblem = (id: string, type: string, state: ObjectState | undefined): string | undefined => {
  if (state?.kind !== 'intact') return objectProblem(type, id, state);
  return state.type === type ? undefined : `object ${id} is a ${state.type} and not a ${type}`;
};

const WORDS = {
  missing: 'is missing from the private store',
  damaged: 'is damaged: its bytes are not what its id says',
  unread: 'was not read: too many objects are damaged',
} as const;

const objectProblem = (what: string, id: string, state: ObjectState | undefined): string =>
  `${what} ${id} ${state === undefined || state.kind === 'intact' ? WORDS.unread : WORDS[state.kind]}`;

const parseCommit = (body: string): CommitFacts => {
  const headers = body.slice(0, Math.max(body.indexOf('\n\n'), 0)).split('\n');
  const valuesOf = (name: string): string[] =>
    headers.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  return { tree: valuesOf('tree')[0] ?? '', parents: valuesOf('parent') };
};

interface Entry {
  readonly id: string;
  readonly path: string;
}

type Listings = ReadonlyMap<string, Result<readonly Entry[]>>;

const listTrees = async (request: ReadRequest, trees: ReadonlySet<string>): Promise<Listings> => {
  const listings = new Map<string, Result<readonly Entry[]>>();
  for (const tree of trees) listings.set(tree, await listTree(request, tree));
  return listings;
};

const listTree = async ({ git, store }: ReadRequest, tree: string): Promise<Result<readonly Entry[]>> => {
  const listed = await run(git, {
    args: ['ls-tree', '-r', '-t', '-z', '--full-tree', tree],
    gitDir: store.path,
  });
  if (!listed.ok) return listed;
  const entries: Entry[] = [];
  for (const line of listed.value.stdout.toString('latin1').split('\0')) {
    const tab = line.indexOf('\t');
    const [, type, id] = line.slice(0, Math.max(tab, 0)).split(' ');
    if (id !== undefined && type !== 'commit') entries.push({ id, path: line.slice(tab + 1) });
  }
  return ok(entries);
};

/** Damaged objects of one tree that are named before the rest is only counted. */
const NAMED = 5;

const treeProblems = (
  tree: string,
  listing: Result<readonly Entry[]> | undefined,
  states: ReadonlyMap<string, ObjectState>,
): string[] => {
  const root = states.get(tree);
  if (root?.kind !== 'intact') return [objectProblem('tree', tree, root)];
  if (listing === undefined || !listing.ok)
    return [`tree ${tree} cannot be listed: ${listing?.failure.message ?? ''}`];
  const bad = listing.value.filter(({ id }) => states.get(id)?.kind !== 'intact');
  const named = bad
    .slice(0, NAMED)
    .map(({ id, path }) => objectProblem(`\`${pathText(path)}\`, object`, id, states.get(id)));
  return bad.length > NAMED ? [...named, `and ${bad.length - NAMED} more objects of tree ${tree}`] : named;
};

/** Processes that may end early at a damaged object before the rest is given up. */
const MOST_RESTARTS = 100;

/** Contents stream through, so their size costs no memory. A damaged object can end git: then the rest is read by another. */
const readObjects = async (
  { git, store }: ReadRequest,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ObjectState>> => {
  const states = new Map<string, ObjectState>();
  let rest = ids;
  for (let round = 0; rest.length > 0 && round < MOST_RESTARTS; round += 1) {
    const sink = new ObjectSink(rest, store.format);
    await run(git, {
      args: ['cat-file', '--batch', '--buffer'],
      gitDir: store.path,
      input: `${rest.join('\n')}\n`,
      onOutput: async (chunk) => sink.take(chunk),
    });
    for (const [id, state] of sink.end()) states.set(id, state);
    rest = rest.filter((id) => !states.has(id));
  }
  for (const id of rest) states.set(id, { kind: 'unread' });
  return states;
};

const NEWLINE = 10;
/** A header is shorter: an id of at most 64 digits, a type and a size. */
const HEADER_BYTES = 200;

interface Body {
  readonly type: string;
  readonly hash: Hash;
  readonly kept: Buffer[] | undefined;
  left: number;
}

/**
 * Takes the output of `git cat-file --batch` apart: `ID TYPE SIZE\n`, the bytes, `\n`; or `ID missing\n`. Out of step, as
 * after an object with a false size, it takes nothing more.
 */
class ObjectSink {
  private readonly states = new Map<string, ObjectState>();
  private readonly ids: readonly string[];
  private readonly format: string;
  private pending: Buffer = Buffer.alloc(0);
  private position = 0;
  private body: Body | undefined;
  private lost = false;

  constructor(ids: readonly string[], format: string) {
    this.ids = ids;
    this.format = format;
  }

  take(chunk: Buffer): void {
    let data = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    while (!this.lost) {
      const rest = this.body === undefined ? this.takeHeader(data) : this.takeBody(data, this.body);
      if (rest === undefined) break;
      data = rest;
    }
    this.pending = data;
  }

  /** States by id. At least one: the object at which the output ended is damaged. */
  end(): ReadonlyMap<string, ObjectState> {
    const current = this.ids[this.position];
    const stuck = this.body !== undefined || this.position === 0;
    if (current !== undefined && stuck) this.states.set(current, { kind: 'damaged' });
    return this.states;
  }

  /** What follows; `undefined` when more is needed. */
  private takeHeader(data: Buffer): Buffer | undefined {
    const end = data.indexOf(NEWLINE);
    if (end === -1) {
      this.lost = data.length > HEADER_BYTES;
      return undefined;
    }
    const [id, type, size] = data.toString('latin1', 0, end).split(' ');
    if (id === undefined || id !== this.ids[this.position]) {
      this.lost = true;
      return undefined;
    }
    if (type === 'missing') this.settle({ kind: 'missing' });
    else this.start(type ?? '', size ?? '');
    return data.subarray(end + 1);
  }

  private start(type: string, size: string): void {
    const hash = createHash(this.format).update(`${type} ${size}\0`);
    this.body = { type, hash, kept: type === 'commit' ? [] : undefined, left: Number(size) };
    this.lost = !/^\d+$/.test(size);
  }

  private takeBody(data: Buffer, body: Body): Buffer | undefined {
    const part = data.subarray(0, body.left);
    body.hash.update(part);
    body.kept?.push(part);
    body.left -= part.length;
    const rest = data.subarray(part.length);
    // Its last byte may be there; the newline that ends it is not.
    if (rest.length === 0) return part.length === 0 ? undefined : rest;
    const isWhole = body.hash.digest('hex') === this.ids[this.position];
    this.body = undefined;
    this.lost = rest[0] !== NEWLINE;
    if (isWhole)
      this.settle({ kind: 'intact', type: body.type, body: Buffer.concat(body.kept ?? []).toString('utf8') });
    else this.settle({ kind: 'damaged' });
    return rest.subarray(1);
  }

  private settle(state: ObjectState): void {
    const id = this.ids[this.position];
    if (id !== undefined) this.states.set(id, state);
    this.position += 1;
  }
}
