import { fail } from '../model/result.js';
import type { Result } from '../model/result.js';
import { pathText, shownPath } from './records.js';
import type { Odd } from './walk.js';

const MOST_NAMED = 200;

const REMOVE = 'remove it, or add it to `.gitignore` if it does not belong to the work';

/** Names every path with what is wrong about it, and the way out of each kind of trouble once. */
export const refuseOdd = (tree: string, odd: readonly Odd[]) => {
  const lines = odd.slice(0, MOST_NAMED).map(({ path, what }) => `${shownPath(pathText(path))} is ${what}`);
  if (odd.length > MOST_NAMED) lines.push(`and ${odd.length - MOST_NAMED} more`);
  return fail({
    kind: 'evidence-refused',
    message: `the working copy holds what cannot be reviewed and committed:\n${lines.join('\n')}`,
    where: tree,
    next: [...new Set(odd.map(({ next }) => next ?? REMOVE))].join('; '),
  });
};

const MACHINE_FAULT =
  /No space left|Input\/output error|\.lock|Read-only file system|could not be started|was ended by/;

/** What `git add` cannot take is a fault of the tree, unless the machine failed. */
export const refuseAdd = (added: Extract<Result<unknown>, { ok: false }>) =>
  MACHINE_FAULT.test(added.failure.message)
    ? added
    : fail({
        ...added.failure,
        kind: 'evidence-refused',
        next: 'make every file of the working copy readable and its name acceptable to git, or remove it',
      });
