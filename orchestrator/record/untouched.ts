import { readFileSync, statSync } from 'node:fs';
import { Problem } from '../model/failure.js';
import type { RunState } from '../machine/run-state.js';
import { DOCUMENTS, type RunDirectory } from '../state/run-dir.js';

interface Written {
  /** Text of 99 as it was written last; `undefined` when there is none yet. */
  readonly nextText: string | undefined;
  readonly journalBytes: number;
}

/** @throws `Problem` `record-refused` for the first file that is not as it was written */
export const requireUntouched = (directory: RunDirectory, run: RunState, written: Written): void => {
  const expected: Readonly<Record<string, string | undefined>> = {
    ...run.documents,
    '99_next_action.md': written.nextText,
  };
  // A document that is not to be there yet is checked as well: nobody writes the first record of 30 but us.
  for (const name of DOCUMENTS) {
    const path = directory.document(name);
    if (textOf(path) !== expected[name]) throw touched(path, `\`${name}\``, run.ticket);
  }
  if (statSync(directory.journal, { throwIfNoEntry: false })?.size !== written.journalBytes) {
    throw touched(directory.journal, 'the journal', run.ticket);
  }
};

const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

const touched = (where: string, what: string, ticket: string): Problem =>
  new Problem({
    kind: 'record-refused',
    message: `${what} was changed while a child was running: nobody but orchestrate writes there`,
    where,
    next: `nothing of that child was believed. \`orchestrate verify --ticket ${ticket}\` says what still holds; restore the file, then run again`,
  });
