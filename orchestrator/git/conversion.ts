import { ok, type Result } from '../model/result.js';
import type { IndexRequest } from './add.js';
import type { Declared } from './declared.js';
import { run } from './git.js';
import { MOST_KEPT_BYTES } from './object-stream.js';
import { type PathRecord, pathText, shownPath } from './records.js';
import type { Odd } from './walk.js';

/** What is asked about a content; contents themselves are not kept. */
export interface Content {
  /** Of what is short enough to be a link or a pointer; bytes as characters. */
  readonly text: string | undefined;
  readonly hasCrlf: boolean;
  readonly isUtf8: boolean;
}

/** Longest path. A Git LFS pointer has at most 1,024 bytes. */
const SHORT_BYTES = 4096;

/** @param bytes of one file, or the first `MOST_KEPT_BYTES` of it */
export const contentOf = (bytes: Buffer): Content => ({
  text: bytes.length <= SHORT_BYTES ? bytes.toString('latin1') : undefined,
  hasCrlf: bytes.includes('\r\n'),
  isUtf8: isUtf8(bytes),
});

const isUtf8 = (bytes: Buffer): boolean => {
  try {
    // What was cut may end inside a character.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: bytes.length >= MOST_KEPT_BYTES });
    // UTF-16 of plain English is valid UTF-8 with a NUL for every other character.
    return !bytes.includes(0);
  } catch {
    return false;
  }
};

/** Ids of the files of the base, when a filter makes them matter: bytes that it has were stored by whoever may. */
export const storedBefore = async (
  { git, store, base }: IndexRequest,
  declared: ReadonlyMap<string, Declared>,
): Promise<Result<ReadonlySet<string>>> => {
  if (![...declared.values()].some(({ filter }) => filter !== undefined)) return ok(new Set());
  const listed = await run(git, {
    args: ['ls-tree', '-r', '--format=%(objectname)', base],
    gitDir: store.path,
  });
  return listed.ok ? ok(new Set(listed.value.stdout.toString('latin1').split('\n'))) : listed;
};

interface Known {
  readonly declared: ReadonlyMap<string, Declared>;
  /** By object id. */
  readonly contents: ReadonlyMap<string, Content>;
  /** Ids of the base's files, when a filter is declared. */
  readonly known: ReadonlySet<string>;
  /** Names of the filters that the user's git runs. */
  readonly filters: ReadonlySet<string>;
}

/**
 * Changed files that are not what git would store of them. We commit bytes as they were reviewed and run no filter, so such
 * a commit would go past Git LFS, past an encryption, or be shown as modified in every new checkout.
 */
export const oddConversions = (files: readonly PathRecord[], known: Known): Odd[] =>
  files.flatMap((record) => {
    const problem = problemOf(record, known);
    const path = record.pathBytes;
    return problem === undefined ? [] : [{ path, subject: path, ...problem }];
  });

type Problem = Required<Pick<Odd, 'what' | 'next'>>;

const problemOf = (record: PathRecord, known: Known): Problem | undefined => {
  const declared = known.declared.get(record.pathBytes);
  const content = known.contents.get(record.newId);
  if (declared === undefined || content === undefined) return undefined;
  const { filter, encoding, isText } = declared;
  const isKnown = known.known.has(record.newId);
  if (filter === 'lfs') return lfsProblem(content, isKnown);
  if (filter !== undefined && known.filters.has(filter) && !isKnown) return filterProblem(filter);
  if (encoding !== undefined && !content.isUtf8) return encodingProblem(encoding);
  return isText && bringsCrlf(content, known.contents.get(record.oldId)) ? CRLF_PROBLEM : undefined;
};

/** Where the base has CRLF already, the commit makes nothing worse. */
const bringsCrlf = (now: Content, before: Content | undefined): boolean =>
  now.hasCrlf && before?.hasCrlf !== true;

/** Source: specification of Git LFS, "The Pointer". An empty file is its own pointer. */
const POINTER =
  /^(?:version https:\/\/(?:git-lfs|hawser)\.github\.com\/spec\/v1\n(?:ext-\d-[^\n]*\n)*oid sha256:[0-9a-f]{64}\nsize \d+\n)?$/;

const LFS_NEXT =
  'put the pointers of Git LFS back and make such changes by hand with `git lfs` in your own checkout, or change `.gitattributes` so that Git LFS has no part in these files';

const lfsProblem = ({ text }: Content, isKnown: boolean): Problem | undefined => {
  if (text === undefined || !POINTER.test(text))
    return {
      what: 'written with contents where `.gitattributes` declares Git LFS, of which git stores a pointer',
      next: LFS_NEXT,
    };
  if (text === '' || isKnown) return undefined;
  return {
    what: 'a Git LFS pointer to contents that the base does not name: they are not uploaded from here',
    next: LFS_NEXT,
  };
};

const filterProblem = (filter: string): Problem => ({
  what: `changed where \`.gitattributes\` declares the filter ${shownPath(pathText(filter))}, which your git runs and which is not run here`,
  next: 'undo such changes and make them by hand, or change `.gitattributes` so that the filter has no part in these files',
});

const encodingProblem = (encoding: string): Problem => ({
  what: `no UTF-8, which is what git stores of a file with the \`working-tree-encoding\` ${shownPath(pathText(encoding))}`,
  next: 'write such files as UTF-8: git gives the other encoding where they are checked out',
});

const CRLF_PROBLEM: Problem = {
  what: 'written with CRLF line endings where `.gitattributes` declares text, of which git stores LF',
  next: 'write such files with LF line endings: git gives CRLF where they are checked out, if it is asked to',
};
