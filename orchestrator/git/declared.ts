import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ok, type Result } from '../model/result.js';
import type { IndexRequest } from './add.js';
import { run } from './git.js';
import type { IndexPaths } from './index-file.js';
import { makeGitDir } from './layout.js';
import { asBytes, type PathRecord } from './records.js';

/**
 * What the tree's own `.gitattributes` say about a path: how git converts it on its way in. We take bytes as they are, so
 * where git would store others the commit would not be what the repository asks for.
 */
export interface Declared {
  /** Name of a filter, e.g. `lfs`. */
  readonly filter: string | undefined;
  /** git takes CRLF out, whatever is stored already. */
  readonly isText: boolean;
  /** git stores UTF-8. */
  readonly encoding: string | undefined;
}

const ASKED = ['filter', 'text', 'eol', 'working-tree-encoding'] as const;
type Answers = Partial<Record<(typeof ASKED)[number], string>>;

const hasAttributes = ({ paths }: IndexPaths): boolean => {
  for (const path of paths) if (path === '.gitattributes' || path.endsWith('/.gitattributes')) return true;
  return false;
};

/** Regular files of the tree that are new or have other bytes. */
const isWritten = ({ newMode }: PathRecord): boolean => newMode.startsWith('100');

let counter = 0;

/**
 * Declarations for the changed files, by path, of those that have any. They are read from the index, so what counts is
 * what would be committed. No process without a `.gitattributes`, otherwise one.
 */
export const declarationsOf = async (
  request: IndexRequest,
  index: IndexPaths,
  records: readonly PathRecord[],
): Promise<Result<ReadonlyMap<string, Declared>>> => {
  const paths = records.filter(isWritten).map(({ pathBytes }) => pathBytes);
  if (paths.length === 0 || !hasAttributes(index)) return ok(new Map());
  counter += 1;
  // The neutral attributes of the store outrank every `.gitattributes`, so they are asked for in another git directory.
  const asker = join(request.store.path, `tmp-attributes-${process.pid}-${counter}.git`);
  rmSync(asker, { recursive: true, force: true });
  try {
    const { format } = request.store;
    makeGitDir({ path: asker, format, head: 'refs/heads/none', config: '', bare: true, attributes: '' });
    const checked = await run(request.git, {
      args: ['check-attr', '--cached', '-z', '--stdin', ...ASKED],
      gitDir: asker,
      indexFile: request.index,
      env: { GIT_OBJECT_DIRECTORY: join(request.store.path, 'objects') },
      input: asBytes(paths.map((path) => `${path}\0`).join('')),
    });
    return checked.ok ? ok(parse(checked.value.stdout.toString('latin1'))) : checked;
  } finally {
    rmSync(asker, { recursive: true, force: true });
  }
};

const NO_VALUE = new Set(['unspecified', 'set', 'unset']);

const valueOf = (answer: string | undefined): string | undefined =>
  answer === undefined || NO_VALUE.has(answer) ? undefined : answer;

/** Output of `git check-attr -z`: path, name and value, each with a NUL. */
const parse = (output: string): ReadonlyMap<string, Declared> => {
  const answers = new Map<string, Answers>();
  const parts = output.split('\0');
  for (let position = 0; position + 2 < parts.length; position += 3) {
    const [path = '', name = '', value = ''] = parts.slice(position, position + 3);
    answers.set(path, { ...answers.get(path), [name]: value });
  }
  const declared = new Map<string, Declared>();
  for (const [path, answer] of answers) {
    const { isText, filter, encoding } = declaredBy(answer);
    if (isText || filter !== undefined || encoding !== undefined)
      declared.set(path, { isText, filter, encoding });
  }
  return declared;
};

/**
 * `text=auto` is no declaration here: git stores a file that it once got with CRLF as it is, for good.
 * Source: gitattributes(5), `convert.c` of git.
 */
const declaredBy = (answer: Answers): Declared => {
  const { text, eol } = answer;
  const encoding = valueOf(answer['working-tree-encoding']);
  return {
    isText: text === 'set' || text === 'input' || (text === 'unspecified' && valueOf(eol) !== undefined),
    filter: valueOf(answer.filter),
    encoding: encoding === undefined || /^utf-?8$/i.test(encoding) ? undefined : encoding,
  };
};
