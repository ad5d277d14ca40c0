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
  if (split === undefined) return { problems: ['plan.md has no front matter with `paths:` (the blast radius)'] };
  const head = parseHead(split.head);
  if (typeof head === 'string') return { problems: [`the front matter of plan.md is not YAML: ${oneLine(head)}`] };
  const paths = head['paths'];
  if (!Array.isArray(paths) || paths.length === 0 || !paths.every((path) => typeof path === 'string')) {
    return { problems: ['`paths:` in plan.md must be a list of globs with at least one entry'] };
  }
  const bad = paths.filter((path: string) => !isSafeGlob(path));
  if (bad.length > 0) return { problems: bad.map((path: string) => `\`paths:\` in plan.md: ${JSON.stringify(oneLine(path))} is not a path inside the tree`) };
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
    const value: unknown = parse(text, { maxAliasCount: 10 });
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : 'it is not a mapping';
  } catch (error) {
    return (error as Error).message;
  }
};

const countOf = <K extends 'files' | 'lines'>(name: K, value: unknown): Partial<Record<K, number>> =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? ({ [name]: value } as Record<K, number>) : {};

/** Relative, inside the tree, no control characters, not the whole disk by way of `..`. */
const isSafeGlob = (path: string): boolean =>
  path !== '' &&
  cleanText(path) === path &&
  !path.includes('\n') &&
  !path.startsWith('/') &&
  !path.startsWith('!') &&
  !path.split('/').includes('..');
