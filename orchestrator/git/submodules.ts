import { ok, type Result } from '../model/result.js';
import type { IndexRequest } from './add.js';
import { run } from './git.js';
import type { IndexPaths } from './index-file.js';
import { pathText, shownPath } from './records.js';
import type { Odd, Walked } from './walk.js';

const NEXT =
  'empty the folders of submodules again: what is to change in one belongs to a ticket of its own repository';

/**
 * Paths of the submodules that the base has; bytes as characters. The index may have others, of repositories that lie in the
 * tree. No process when it has none; asked once for a command.
 */
export const submodulesOf = async (
  request: IndexRequest,
  index: Pick<IndexPaths, 'gitlinks'>,
): Promise<Result<readonly string[]>> => {
  if (index.gitlinks.length === 0) return ok([]);
  const key = `submodules:${request.store.path}:${request.base}`;
  const asked = request.git.memo.get(key) ?? listSubmodules(request);
  request.git.memo.set(key, asked);
  return (await asked) as Result<readonly string[]>;
};

const ENTRY = /^160000 commit [0-9a-f]+\t(.*)$/s;

const listSubmodules = async ({ git, store, base }: IndexRequest): Promise<Result<readonly string[]>> => {
  const listed = await run(git, { args: ['ls-tree', '-r', '-z', base], gitDir: store.path });
  if (!listed.ok) return listed;
  const entries = listed.value.stdout.toString('latin1').split('\0');
  return ok(entries.flatMap((entry) => ENTRY.exec(entry)?.[1] ?? []));
};

/**
 * Submodules with anything in their folders. git does not look below a gitlink, so what is there would be in no diff; in a
 * clone of ours the folder is empty.
 * @param gitlinks paths of the submodules; bytes as characters
 */
export const filledSubmodules = (walked: Walked, gitlinks: readonly string[]): Odd[] =>
  gitlinks.flatMap((gitlink) => {
    const inside = [...walked.odd.map(({ path }) => path), ...walked.files].filter((path) =>
      path.startsWith(`${gitlink}/`),
    );
    const [first] = inside;
    if (first === undefined) return [];
    const more = inside.length === 1 ? '' : ` and ${inside.length - 1} more`;
    const what = `a submodule with something in it (${shownPath(pathText(first))}${more})`;
    return [{ path: gitlink, what, subject: gitlink, next: NEXT }];
  });

/** Whether a path is in the folder of a submodule. */
export const isInSubmodule = (path: string, gitlinks: readonly string[]): boolean =>
  gitlinks.some((gitlink) => path.startsWith(`${gitlink}/`));
