import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Assignment } from './assignment.js';
import type { Returned } from './returned.js';
import type { PlanScript } from './script.js';
import { WorkerError } from './worker-error.js';

const FEEDBACK_LINES = 5;

const lineCount = (tree: string, path: string): number => {
  try {
    return readFileSync(join(tree, path), 'utf8').split('\n').length - 1;
  } catch {
    throw new WorkerError(`the plan's script reads \`${path}\`, which is not a file of the tree`);
  }
};

const frontMatter = ({ paths, files, lines }: PlanScript): readonly string[] => [
  '---',
  'paths:',
  ...paths.map((path) => `  - ${JSON.stringify(path)}`),
  ...(files === undefined ? [] : [`files: ${files}`]),
  ...(lines === undefined ? [] : [`lines: ${lines}`]),
  '---',
];

/** A script cannot think of another plan; but what a person said is part of what the next approval is bound to. */
const answerTo = (feedback: readonly string[]): readonly string[] =>
  feedback.length === 0
    ? []
    : [
        '## Feedback that this plan was given',
        '',
        ...feedback.slice(0, FEEDBACK_LINES).map((line) => `> ${line}`),
        '',
        'A scripted worker cannot think of another plan: the plan above is the written one.',
        '',
      ];

/** Reads the files that the script names and writes `out/plan.md`. */
export const plan = (assignment: Assignment, script: PlanScript): Returned => {
  const read = script.reads.map((path) => ({ path, lines: lineCount(assignment.tree, path) }));
  const document = [
    ...frontMatter(script),
    script.text.trimEnd(),
    '',
    '## What was read',
    '',
    ...read.map(({ path, lines }) => `- ${path} (${lines} lines)`),
    ...(read.length === 0 ? ['- nothing'] : []),
    '',
    ...answerTo(assignment.feedback),
  ];
  mkdirSync(assignment.out, { recursive: true });
  writeFileSync(join(assignment.out, 'plan.md'), document.join('\n'));
  return {
    status: 'done',
    summary: [
      `plan.md written: ${script.paths.length} paths in the blast radius (${script.paths.join(', ')})`,
      `read ${read.length} files, ${read.reduce((sum, { lines }) => sum + lines, 0)} lines`,
      ...(assignment.feedback.length === 0
        ? []
        : ['feedback quoted in the plan; a script cannot think of another one']),
    ],
  };
};
