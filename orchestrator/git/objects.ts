import { ok, type Result } from '../model/result.js';
import { run } from './git.js';
import { type ObjectState, readObjects } from './object-stream.js';
import type { ReadRequest } from './read.js';
import { pathText, shownPath } from './records.js';

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
    .map(({ id, path }) => objectProblem(`${shownPath(pathText(path))}, object`, id, states.get(id)));
  return bad.length > NAMED ? [...named, `and ${bad.length - NAMED} more objects of tree ${tree}`] : named;
};
