import { lstatSync, readFileSync } from 'node:fs';
import { Problem } from '../model/failure.js';
import type { RunState } from '../machine/run-state.js';
import { stampOf } from '../state/journal.js';
import { DOCUMENTS, type RunDirectory } from '../state/run-dir.js';

interface Written {
  /** Text of 99 as it was written last; `undefined` when there is none yet. */
  readonly nextText: string | undefined;
  /** See `Journal.stamp`. */
  readonly journal: string;
}

/** @throws `Problem` `record-refused` for the first file that is not as it was written */
export const requireUntouched = (directory: RunDirectory, run: RunState, written: Written): void => {
  const expected: Readonly<Record<string, string | undefined>> = {
    ...run.documents,
    '99_next_action.md': written.nextText,
  };
  for (const path of [directory.path, directory.state]) {
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw touched(path, 'the state folder', run.ticket);
  }
  // A document that is not to be there yet is checked as well: nobody writes the first record of 30 but us.
  for (const name of DOCUMENTS) {
    const path = directory.document(name);
    if (textOf(path) !== expected[name]) throw touched(path, `\`${name}\``, run.ticket);
  }
  if (stampOf(directory.journal) !== written.journal) {
    throw touched(directory.journal, 'the journal', run.ticket);
  }
};

/** What no document says: something else is in its place, such as a link, which would be written through. */
const NO_FILE = '\0';

const textOf = (path: string): string | undefined => {
  try {
    return lstatSync(path).isFile() ? readFileSync(path, 'utf8') : NO_FILE;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : NO_FILE;
  }
};

const touched = (where: string, what: string, ticket: string): Problem =>
  new Problem({
    kind: 'record-refused',
    message: `${what} was changed while a child was running: nobody but orchestrate writes there`,
    where,
    next: `nothing of that child was believed. \`orchestrate verify --ticket ${ticket}\` says what still holds; restore the file, then run again`,
  });
