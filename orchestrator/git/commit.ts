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
      GIT_AUTHOR_DATE: when,
      GIT_COMMITTER_NAME: committer.name,
      GIT_COMMITTER_EMAIL: committer.email,
      GIT_COMMITTER_DATE: when,
    },
  });
  if (!made.ok) return made;
  const headers = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${author.name} <${author.email}> ${when}`,
    `committer ${committer.name} <${committer.email}> ${when}`,
  ];
  const expected = objectId(request.store, `${headers.join('\n')}\n\n${message}`);
  return made.value === expected ? made : await readBack(request, made.value);
};

/** The id says that tree, parents and message are as asked, without another process. */
const objectId = (store: Store, text: string): string => {
  const bytes = Buffer.from(text);
  return createHash(store.format).update(`commit ${bytes.length}\0`).update(bytes).digest('hex');
};

/** git drops some characters from names, such as `<`; then the commit itself must show its tree and parents. */
const readBack = async (request: CommitRequest, commit: string): Promise<Result<string>> => {
  const shown = await run(request.git, {
    args: ['cat-file', 'commit', commit],
    gitDir: request.store.path,
  });
  if (!shown.ok) return shown;
  const lines = shown.value.stdout.toString('utf8').split('\n');
  const wanted = [`tree ${request.tree}`, ...request.parents.map((parent) => `parent ${parent}`)];
  if (
    wanted.every((line, position) => lines[position] === line) &&
    lines[wanted.length]?.startsWith('author ')
  ) {
    return ok(commit);
  }
  return fail({
    kind: 'evidence-refused',
    message: `commit \`${commit}\` is not of the tree \`${request.tree}\` that was reviewed`,
    where: request.store.path,
  });
};
