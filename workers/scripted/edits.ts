import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Edit } from './script.js';
import { WorkerError } from './worker-error.js';

/** `applied`: the bytes changed; `in-place`: they were like that already; `misfit`: the text to replace is not there. */
export type EditOutcome = 'applied' | 'in-place' | 'misfit';

/** Bytes of a file, or `undefined` when it does not exist. */
const contentOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};

/** A link in the tree could lead out of it, so nothing is written through one. */
const refuseLinks = (root: string, path: string): void => {
  const parts = path.split('/');
  for (let length = 1; length <= parts.length; length += 1) {
    const part = parts.slice(0, length).join('/');
    if (lstatSync(join(root, part), { throwIfNoEntry: false })?.isSymbolicLink() === true) {
      throw new WorkerError(`\`${part}\` is a symbolic link; a script changes plain files only`);
    }
  }
};

type Replacement = Extract<Edit, { kind: 'replace' }>;

const occurrences = (content: string, part: string): number => content.split(part).length - 1;

const replacementOutlook = (content: string, edit: Replacement): EditOutcome => {
  const isThere = edit.new !== '' && content.includes(edit.new);
  if (!content.includes(edit.old)) return isThere || edit.new === '' ? 'in-place' : 'misfit';
  // A text that grows around the old one still contains it: doing it again would nest it.
  return isThere && edit.new.includes(edit.old) ? 'in-place' : 'applied';
};

const replaceIn = (path: string, edit: Replacement): void => {
  const content = readFileSync(path, 'utf8');
  const count = occurrences(content, edit.old);
  if (count > 1)
    throw new WorkerError(`\`${edit.path}\` contains the text to replace ${count} times; quote more of it`);
  writeFileSync(
    path,
    content.replace(edit.old, () => edit.new),
  );
};

const apply = (path: string, edit: Edit): void => {
  switch (edit.kind) {
    case 'write':
      mkdirSync(dirname(path), { recursive: true });
      return writeFileSync(path, edit.text);
    case 'replace':
      return replaceIn(path, edit);
    case 'delete':
      return rmSync(path, { recursive: true });
  }
};

/** What an edit would do now, without doing it. */
export const outlookOf = (root: string, edit: Edit): EditOutcome => {
  const content = contentOf(join(root, edit.path));
  switch (edit.kind) {
    case 'write':
      return content === edit.text ? 'in-place' : 'applied';
    case 'replace':
      return content === undefined ? 'misfit' : replacementOutlook(content, edit);
    case 'delete':
      return lstatSync(join(root, edit.path), { throwIfNoEntry: false }) === undefined
        ? 'in-place'
        : 'applied';
  }
};

/**
 * Applies edits in order, each a change of one file below `root`. Repeating them changes nothing, so that an attempt
 * can follow a lost one.
 * @throws WorkerError for a text to replace that is absent or occurs twice, and for a symbolic link
 */
export const applyEdits = (root: string, edits: readonly Edit[]): void => {
  for (const edit of edits) {
    refuseLinks(root, edit.path);
    const outlook = outlookOf(root, edit);
    if (outlook === 'misfit') throw new WorkerError(`the text to replace is not in \`${edit.path}\``);
    if (outlook === 'applied') apply(join(root, edit.path), edit);
  }
};
