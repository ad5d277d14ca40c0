import { parse } from 'yaml';
import { splitFrontMatter } from '../state/front-matter.js';
import { cleanText, oneLine } from '../model/text.js';

/** What a plan promises: the paths that the diff may touch, and how much of them. */
export interface PlanPromise {
  /** Globs relative to the tree: the blast radius. */
  readonly paths: readonly string[];
  readonly files?: number;
  readonly lines?: number;
  readonly body: string;
}

/** @returns sentences that say what is wrong when the front matter does not promise a blast radius */
export const readPlan = (text: string): PlanPromise | { readonly problems: readonly string[] } => {
  const split = splitFrontMatter(text);
  if (split === undefined)
    return { problems: ['plan.md has no front matter with `paths:` (the blast radius)'] };
  const head = parseHead(split.head);
  if (typeof head === 'string')
    return { problems: [`the front matter of plan.md is not YAML: ${oneLine(head)}`] };
  const paths = head['paths'];
  if (!Array.isArray(paths) || paths.length === 0 || !paths.every((path) => typeof path === 'string')) {
    return { problems: ['`paths:` in plan.md must be a list of globs with at least one entry'] };
  }
  const problems = pathProblems(paths as readonly string[]);
  if (problems.length > 0) return { problems };
  if (split.body.trim() === '') return { problems: ['plan.md has no text after its front matter'] };
  return {
    paths: paths as string[],
    body: split.body,
    ...countOf('files', head['files']),
    ...countOf('lines', head['lines']),
  };
};

const parseHead = (text: string): Record<string, unknown> | string => {
  try {
    const value: unknown = parse(text, { maxAliasCount: 10, logLevel: 'error' });
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : 'it is not a mapping';
  } catch (error) {
    return (error as Error).message;
  }
};

const countOf = <K extends 'files' | 'lines'>(name: K, value: unknown): Partial<Record<K, number>> =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? ({ [name]: value } as Record<K, number>)
    : {};

/** Globs of a plan, and problems of them that are told. */
const MOST_PATHS = 500;
const MOST_PROBLEMS = 10;
/** Matching goes back and forth, and both the globs and the names of the files are an agent's: their product is bounded. */
const GLOB_CHARACTERS = 300;
const MOST_STARS = 4;
const MOST_DEEP_STARS = 2;
const MOST_BRACES = 2;

const pathProblems = (paths: readonly string[]): string[] => {
  if (paths.length > MOST_PATHS)
    return [`\`paths:\` in plan.md has ${paths.length} entries; at most ${MOST_PATHS} are read`];
  return paths
    .map((path) => ({ path, problem: globProblem(path) }))
    .filter(({ problem }) => problem !== undefined)
    .slice(0, MOST_PROBLEMS)
    .map(({ path, problem }) => `\`paths:\` in plan.md: ${JSON.stringify(oneLine(path))} ${problem ?? ''}`);
};

const globProblem = (path: string): string | undefined => {
  if (!isSafeGlob(path)) return 'is not a path inside the tree';
  const count = (of: RegExp): number => path.match(of)?.length ?? 0;
  const isSimple =
    path.length <= GLOB_CHARACTERS &&
    count(/\*+/g) <= MOST_STARS &&
    count(/\*{2,}/g) <= MOST_DEEP_STARS &&
    count(/\{/g) <= MOST_BRACES;
  return isSimple
    ? undefined
    : 'is too intricate: use at most four wildcards, two of them `**`, and two `{…}`';
};

/** Relative, inside the tree, no control characters, not the whole disk by way of `..`. */
const isSafeGlob = (path: string): boolean =>
  path !== '' &&
  cleanText(path) === path &&
  !path.includes('\n') &&
  !path.startsWith('/') &&
  !path.startsWith('!') &&
  !path.split(/[/{},]/).includes('..');
