import { createHash } from 'node:crypto';
import { fail, ok, type Result } from '../model/result.js';
import { type Git, run, runForText } from './git.js';
import type { Store } from './store.js';
import type { Identity } from './user-config.js';

export interface CommitRequest {
  readonly git: Git;
  readonly store: Store;
  /** Tree object in the store, full id. */
  readonly tree: string;
  /** Full ids; one for a ticket's commit, two for a merge. */
  readonly parents: readonly string[];
  /** Taken as it is; a newline is added at the end when there is none. */
  readonly message: string;
  readonly author: Identity;
  /** Default: the author. */
  readonly committer?: Identity;
  /** ISO 8601; whole seconds count. Recorded as UTC. */
  readonly date: string;
}

/**
 * Makes a commit of exactly this tree object, in the store. No index, no hook, no signature takes part. The same request
 * gives the same id, so repeating it after a crash is harmless.
 * @returns the full id; `evidence-refused` when what git made is not that commit
 */
export const commitTree = async (request: CommitRequest): Promise<Result<string>> => {
  const { tree, parents, author, date } = request;
  const committer = request.committer ?? author;
  const when = `${Math.floor(Date.parse(date) / 1000)} +0000`;
  const message = request.message.endsWith('\n') ? request.message : `${request.message}\n`;
  const made = await runForText(request.git, {
    args: ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-F', '-'],
    gitDir: request.store.path,
    input: message,
    env: {
      GIT_AUTHOR_NAME: author.name,
      GIT_AUTHOR_EMAIL: author.email,
      // With the sign git takes any number of seconds for one, small ones as well.
      GIT_AUTHOR_DATE: `@${when}`,
      GIT_COMMITTER_NAME: committer.name,
      GIT_COMMITTER_EMAIL: committer.email,
      GIT_COMMITTER_DATE: `@${when}`,
    },
  });
  if (!made.ok) return made;
  const headers = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${author.name} <${author.email}> ${when}`,
    `committer ${committer.name} <${committer.email}> ${when}`,
  ];
  const expected = objectId(request.store, Buffer.from(`${headers.join('\n')}\n\n${message}`));
  // git drops some characters from names, such as `<`; then the commit itself must show its tree and parents.
  return made.value === expected ? made : await readBack(request, made.value);
};

/** The id says that tree, parents and message are as asked, without another process. */
const objectId = (store: Store, bytes: Uint8Array): string =>
  createHash(store.format).update(`commit ${bytes.length}\0`).update(bytes).digest('hex');

/**
 * Says whether a commit of the store is of this tree and has these parents and no others, as it shows itself.
 * @returns its id; `evidence-refused` when it is another one, or its bytes are not what its id says
 */
export const readBack = async (
  { git, store, tree, parents }: Pick<CommitRequest, 'git' | 'store' | 'tree' | 'parents'>,
  commit: string,
): Promise<Result<string>> => {
  const shown = await run(git, { args: ['cat-file', 'commit', commit], gitDir: store.path });
  if (!shown.ok) return shown;
  const { stdout } = shown.value;
  const lines = stdout.toString('utf8').split('\n');
  const wanted = [`tree ${tree}`, ...parents.map((parent) => `parent ${parent}`)];
  const isOurs =
    objectId(store, stdout) === commit &&
    wanted.every((line, position) => lines[position] === line) &&
    lines[wanted.length]?.startsWith('author ') === true;
  if (isOurs) return ok(commit);
  return fail({
    kind: 'evidence-refused',
    message: `commit \`${commit}\` is not of the tree \`${tree}\` that was reviewed, or not on its base`,
    where: store.path,
    next: 'nothing was sent; run again, and the reviewed tree is committed anew',
  });
};
