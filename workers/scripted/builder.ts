import type { Assignment } from './assignment.js';
import { applyEdits, outlookOf } from './edits.js';
import type { Returned } from './returned.js';
import { runCommand, type CommandResult } from './run-command.js';
import type { DiffScript, Edit, Step } from './script.js';
import { WorkerError } from './worker-error.js';

type Fix = DiffScript['fixes'][number];

const pathsOf = (edits: readonly Edit[]): string => [...new Set(edits.map(({ path }) => path))].join(', ');

const shown = (argv: readonly string[]): string => `\`${argv.join(' ')}\``;

const seen = ({ how, counts }: CommandResult): string => (counts === undefined ? how : `${how}; ${counts}`);

/** Nothing of it can be applied: it is there, or what came after it has taken its place. */
const isBehindUs = (tree: string, edits: readonly Edit[]): boolean =>
  edits.every((edit) => ['in-place', 'misfit'].includes(outlookOf(tree, edit)));

interface Red {
  readonly lines: readonly string[];
  /** The work was done before: an attempt was lost, or the target is made again in a new epoch. */
  readonly isDone: boolean;
}

/** Red: a test that passes before the change proves nothing, unless the change is there already. */
const seeTestFail = (tree: string, step: Step): Red => {
  if (step.test === undefined) return { lines: [], isDone: false };
  const { edits, run } = step.test;
  applyEdits(tree, edits);
  const result = runCommand(run, tree);
  if (result.outcome === 'not-started') throw new WorkerError(`${shown(run)}: ${result.how}`);
  if (result.outcome === 'failed') {
    return {
      lines: [`test first: ${pathsOf(edits)} written, ${shown(run)} seen to fail (${seen(result)})`],
      isDone: false,
    };
  }
  if (isBehindUs(tree, step.change)) {
    return {
      lines: ['test first: the change of an earlier attempt is in place, the test passes'],
      isDone: true,
    };
  }
  throw new WorkerError(`the test passes before the change (${shown(run)}), so it proves nothing`);
};

/** Green. */
const seeTestsPass = (tree: string, { run }: Step): readonly string[] => {
  if (run === undefined) return [];
  const result = runCommand(run, tree);
  if (result.outcome === 'passed') return [`afterwards: ${shown(run)} seen to pass (${seen(result)})`];
  throw new WorkerError(`${shown(run)} after the change: ${seen(result)}\n${result.tail.join('\n')}`);
};

const perform = (tree: string, step: Step): readonly string[] => {
  const red = seeTestFail(tree, step);
  const change = red.isDone ? [] : step.change;
  applyEdits(tree, change);
  const changed = change.length === 0 ? [] : [`change: ${pathsOf(change)}`];
  return [...red.lines, ...changed, ...seeTestsPass(tree, step)];
};

/** A fix whose first edit finds nothing to replace was overtaken by a later one: rounds only go forward. */
const isOvertaken = (tree: string, fix: Fix): boolean => {
  const [first] = fix.change;
  return first !== undefined && outlookOf(tree, first) === 'misfit';
};

const fixesFor = (assignment: Assignment, fixes: readonly Fix[]): readonly Fix[] => {
  const { feedback, quoted, round } = assignment;
  // Without a heading that announces feedback a later round looks at all that is quoted.
  const allLines = round === 1 ? [] : quoted;
  const lines = feedback.length > 0 ? feedback : allLines;
  return fixes.filter(({ blocker }) => lines.some((line) => line.includes(blocker)));
};

/**
 * Performs the work, test first, and the fixes for the blockers that this round was given.
 * @param hasWork false in a later round, whose tree has the work of the first already
 */
export const build = (assignment: Assignment, script: DiffScript, hasWork: boolean): Returned => {
  const { tree } = assignment;
  const worked = hasWork && script.work !== undefined ? perform(tree, script.work) : [];
  const asked = fixesFor(assignment, script.fixes);
  const fixes = asked.filter((fix) => !isOvertaken(tree, fix));
  if (asked.length > 0 && fixes.length === 0) {
    throw new WorkerError(`no written fix applies any more; the first was for: ${asked[0]?.blocker}`);
  }
  const fixed = fixes.flatMap((fix) => [`blocker: ${fix.blocker}`, ...perform(tree, fix)]);
  const summary = [...worked, ...fixed];
  return summary.length > 0
    ? { status: 'done', summary }
    : { status: 'blocked', summary: [`round ${assignment.round}: the script has no fix for this feedback`] };
};
