import { fail, ok, type Result } from '../model/result.js';
import type { IndexRequest } from './add.js';
import { type Content, contentOf, oddConversions, storedBefore } from './conversion.js';
import { declarationsOf } from './declared.js';
import type { RenderedDiff } from './diff.js';
import type { IndexPaths } from './index-file.js';
import { leadsOut } from './links.js';
import { readObjects } from './object-stream.js';
import { treeOf } from './read.js';
import type { PathRecord } from './records.js';
import type { Odd } from './walk.js';

export interface ContentsRequest extends IndexRequest {
  /** Names of the filters that the user's git runs. Default: none; Git LFS is known without. */
  readonly filters?: () => Promise<ReadonlySet<string>>;
}

/** What a snapshot took. */
export interface Taken {
  readonly treeId: string;
  readonly index: IndexPaths;
  readonly rendered: RenderedDiff;
}

const LINK = '120000';

/**
 * Reads all that the diff was made from once more. Every object must be what its id says, on both sides: git believes
 * whatever lies under a name, so an object that was planted or swapped in the store would show other bytes than those that
 * are committed. Changed links must stay in the tree, and changed files must be what their declarations ask for.
 * @returns what cannot be committed; `evidence-refused` when an object is false or missing
 */
export const lookAtContents = async (request: ContentsRequest, taken: Taken): Promise<Result<Odd[]>> => {
  const { records, objects } = taken.rendered;
  const baseTree = await treeOfBase(request);
  if (!baseTree.ok) return baseTree;
  const declared = await declarationsOf(request, taken.index, records);
  if (!declared.ok) return declared;
  const known = await storedBefore(request, declared.value);
  if (!known.ok) return known;
  const links = linkIds(taken);
  const files = records.filter(({ pathBytes }) => declared.value.has(pathBytes));
  const contents = new Map<string, Content>();
  const states = await readObjects(
    request,
    [...new Set([request.base, baseTree.value, taken.treeId, ...objects, ...links])],
    {
      ids: new Set([...links, ...files.flatMap(({ oldId, newId }) => [oldId, newId])]),
      take: (id, bytes) => contents.set(id, contentOf(bytes)),
    },
  );
  const bad = [...states].filter(([, { kind }]) => kind !== 'intact').map(([id]) => id);
  if (bad.length > 0) return falseObjects(request, bad);
  const conversions = oddConversions(files, {
    declared: declared.value,
    contents,
    known: known.value,
    filters: (await request.filters?.()) ?? new Set(),
  });
  return ok([...leavingLinks(taken, (id) => contents.get(id)?.text ?? ''), ...conversions]);
};

/** Asked once for a command: an id stands for the same bytes for ever. */
const treeOfBase = async (request: ContentsRequest): Promise<Result<string>> => {
  const key = `tree:${request.store.path}:${request.base}`;
  const asked = request.git.memo.get(key) ?? treeOf(request, request.base);
  request.git.memo.set(key, asked);
  return (await asked) as Result<string>;
};

const MOST_NAMED = 5;

const falseObjects = ({ store }: ContentsRequest, ids: readonly string[]) => {
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : '';
  return fail({
    kind: 'evidence-refused',
    message: `objects of the private store are missing or not what their ids say: ${ids.slice(0, MOST_NAMED).join(', ')}${more}`,
    where: store.path,
    next: 'find out what wrote there; to start afresh move `.orchestrate` away and run the tickets again',
  });
};

const hasNewLink = (records: readonly PathRecord[]): boolean =>
  records.some(({ newMode }) => newMode === LINK);

/** All links of the tree and the old ones, when a link changed: others may lead through it. */
const linkIds = ({ index, rendered: { records } }: Taken): string[] => {
  if (!hasNewLink(records)) return [];
  const old = records.filter(({ oldMode }) => oldMode === LINK).map(({ oldId }) => oldId);
  return [...index.links.values(), ...old];
};

/** Links that lead out; those that did so before and were not touched are the user's own. */
const leavingLinks = ({ index, rendered }: Taken, textOf: (id: string) => string): Odd[] => {
  const { records } = rendered;
  if (!hasNewLink(records)) return [];
  const changed = new Set(records.map(({ pathBytes }) => pathBytes));
  const now = new Map([...index.links].map(([path, id]) => [path, textOf(id)]));
  const before = new Map([...now].filter(([path]) => !changed.has(path)));
  for (const { oldMode, oldId, pathBytes } of records)
    if (oldMode === LINK) before.set(pathBytes, textOf(oldId));
  return [...now.keys()]
    .filter((path) => leadsOut(now, path) && (changed.has(path) || !leadsOut(before, path)))
    .map((path) => ({
      path,
      what: 'a symbolic link that leads out of the tree',
      subject: path,
      next: 'let links lead to a place inside the tree by a relative path, or remove them',
    }));
};
