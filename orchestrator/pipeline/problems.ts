import { relative } from 'node:path';

import { Problem } from '../model/failure.js';
import { visibleLine } from '../model/text.js';

/** Something wrong with a pipeline, at a place that an editor can jump to. */
export interface PipelineProblem {
  /** Relative to the root of the repository when it is inside, otherwise absolute. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units, as editors count. */
  readonly column: number;
  readonly message: string;
  readonly expected?: string;
  readonly fix?: string;
}

export type Path = readonly (string | number)[];

/** A problem before its place is known: the path of keys and list positions inside the file. */
export interface Finding {
  readonly path: Path;
  /** Whether to point at the value (default) or at its key. */
  readonly at?: 'key' | 'value';
  readonly message: string;
  readonly expected?: string;
  readonly fix?: string;
}

/** `targets.lint.gates[0].check`, as people write it. */
export const describePath = (path: Path): string =>
  path.map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at === 0 ? '' : '.'}${part}`)).join('');

export const displayPath = (root: string, path: string): string => {
  const short = relative(root, path);
  return short === '' || short.startsWith('..') ? path : short;
};

/** `a`, `b` and 3 more. */
export const listNames = (names: readonly string[], most = 10): string => {
  const shown = names.slice(0, most).map((name) => `\`${name}\``);
  const more = names.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
};

export const problemOf = (
  file: string,
  place: { readonly line: number; readonly column: number },
  finding: Omit<Finding, 'path' | 'at'>,
): PipelineProblem => ({
  file,
  line: place.line,
  column: place.column,
  message: finding.message,
  ...(finding.expected === undefined ? {} : { expected: finding.expected }),
  ...(finding.fix === undefined ? {} : { fix: finding.fix }),
});

const compareText = (a: string, b: string): number => {
  if (a === b) return 0;
  return a < b ? -1 : 1;
};

/** Sorted by file, line and column, each once. */
export const sortProblems = (problems: readonly PipelineProblem[]): readonly PipelineProblem[] => {
  const unique = new Map(problems.map((problem) => [JSON.stringify(problem), problem]));
  return [...unique.values()].toSorted(
    (a, b) =>
      compareText(a.file, b.file) ||
      a.line - b.line ||
      a.column - b.column ||
      compareText(a.message, b.message),
  );
};

/** `file:line:column: message; expected …`, and the fix on a line of its own. What the file calls its keys ends neither. */
export const describeProblem = (problem: PipelineProblem): string => {
  const expected = problem.expected === undefined ? '' : `; expected ${visibleLine(problem.expected)}`;
  const fix = problem.fix === undefined ? '' : `\n  fix: ${visibleLine(problem.fix)}`;
  return `${visibleLine(problem.file)}:${problem.line}:${problem.column}: ${visibleLine(problem.message)}${expected}${fix}`;
};

/** The error that a command ends with: every problem in one message, exit status 2. */
export const pipelineInvalid = (problems: readonly PipelineProblem[]): Problem => {
  const heading =
    problems.length === 1 ? '1 problem in the pipeline' : `${problems.length} problems in the pipeline`;
  return new Problem({
    kind: 'pipeline-invalid',
    message: [`${heading}, nothing was started`, ...problems.map(describeProblem)].join('\n'),
    next: 'correct the file, then `orchestrate validate` shows what is left',
  });
};
