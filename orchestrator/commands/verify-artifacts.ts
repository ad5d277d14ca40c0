import { existsSync, lstatSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf, type Digest } from '../model/digest.js';
import type { Pipeline } from '../model/pipeline.js';
import { targetState, type RunState } from '../machine/run-state.js';
import { ticketText } from '../builtins/ticket-text.js';
import type { RunDirectory } from '../state/run-dir.js';
import { BROKEN_JOURNAL, eachProblem, failed, held, untold, type Check } from './verify-check.js';
import type { Seal } from './verify-evidence.js';
import type { JournalReading } from './verify-journal.js';

const NOTE = /^notes\/[^/]+\.md$/;

/** Sealed copies against their digests: the plan, the diff of the last seal and its pages, the ticket, the notes. */
export const artifactChecks = (
  directory: RunDirectory,
  reading: JournalReading,
  pipeline: Pipeline | undefined,
): Check[] => {
  const { run, evidence } = reading;
  const own = [...evidence.seals].filter(([path, seal]) => isOurs(path, seal, run, pipeline));
  return [
    ...ticketCheck(directory, run),
    ...own.filter(([path]) => !NOTE.test(path)).flatMap(([path, seal]) => sealedCheck(directory, run, path, seal)),
    ...noteChecks(directory, reading, own.filter(([path]) => NOTE.test(path))),
  ];
};

/** What a target of files seals lies in the tree, but for its notes, and an epoch that is over has its own archive. */
const isOurs = (path: string, { target, epoch }: Seal, run: RunState, pipeline: Pipeline | undefined): boolean => {
  if (epoch !== run.epoch) return false;
  if (NOTE.test(path)) return path.startsWith(`notes/${target}-`);
  const makes = pipeline?.targets.find(({ name }) => name === target)?.makes;
  return (path === 'plan.md' && (makes ?? 'plan') === 'plan') || (path === 'branch.diff' && (makes ?? 'diff') === 'diff');
};

/** Is it made again at this moment, so that the disk may be ahead of the record? */
const isOpen = (run: RunState, { target, attempt }: Seal): boolean => {
  const { context } = targetState(run, target);
  return context.attempt !== attempt && context.artifacts === undefined;
};

const sealedCheck = (directory: RunDirectory, run: RunState, path: string, seal: Seal): Check[] => {
  const name = `artifacts/${path}`;
  if (isOpen(run, seal)) return [untold(name, `${seal.target} is making it again`)];
  const checks = [fileCheck(name, join(directory.artifacts, path), seal.digest)];
  if (path !== 'branch.diff' || seal.receipt === undefined) return checks;
  return [...checks, ...pageChecks(directory, seal.receipt.pages)];
};

const fileProblem = (path: string, digest: Digest): string | undefined => {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 'is missing';
  if (!stat.isFile()) return 'is not a regular file';
  return digestOf(readFileSync(path)) === digest ? undefined : `is not what was sealed (${digest})`;
};

const fileCheck = (name: string, path: string, digest: Digest): Check => {
  const problem = fileProblem(path, digest);
  return problem === undefined ? held(name, digest) : failed(name, problem);
};

const pageChecks = (directory: RunDirectory, pages: readonly Digest[]): Check[] => {
  const problems = pages.flatMap((digest, position) => {
    const name = `page-${String(position + 1).padStart(4, '0')}.diff`;
    const problem = fileProblem(join(directory.artifacts, 'pages', name), digest);
    return problem === undefined ? [] : [`\`${name}\` ${problem}`];
  });
  return eachProblem('artifacts/pages', problems, `${pages.length} pages`);
};

/** The ticket's text is a recorded fact, so its bytes are known. */
const ticketCheck = (directory: RunDirectory, run: RunState): Check[] => {
  const maker = [...run.targets.values()].findLast(({ context }) => context.facts?.ticket !== undefined);
  const ticket = maker?.context.facts?.ticket;
  if (maker?.value !== 'done' || ticket === undefined) return [];
  return [fileCheck('artifacts/ticket.md', join(directory.artifacts, 'ticket.md'), digestOf(ticketText(ticket)))];
};

/** A note goes into prompts: one that nobody sealed is as bad as one that was changed. */
const noteChecks = (directory: RunDirectory, { run, broken }: JournalReading, seals: readonly (readonly [string, Seal])[]): Check[] => {
  const folder = join(directory.artifacts, 'notes');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.md')) : [];
  const known = new Set(seals.map(([path]) => path));
  const strangers = names.filter((name) => !known.has(`notes/${name}`) && !mayBeNew(run, name));
  if (broken !== undefined && strangers.length > 0) return [untold('artifacts/notes', BROKEN_JOURNAL)];
  const changed = seals
    .filter(([, seal]) => !isOpen(run, seal))
    .flatMap(([path, seal]) => {
      const problem = fileProblem(join(directory.artifacts, path), seal.digest);
      return problem === undefined ? [] : [`\`${path}\` ${problem}`];
    });
  const problems = [...changed, ...strangers.map((name) => `\`notes/${name}\` was sealed by no target`)];
  return problems.length + known.size === 0 ? [] : eachProblem('artifacts/notes', problems, `${known.size} notes`);
};

/** Copied, and its target's seal not recorded yet: a crash left it. */
const mayBeNew = (run: RunState, name: string): boolean =>
  [...run.targets].some(([target, { value, context }]) => name.startsWith(`${target}-`) && value === 'gating' && context.artifacts === undefined);

/** Directives that a boot has read must still be what it read: write-once, like an approval. */
export const inboxChecks = (directory: RunDirectory, { evidence }: JournalReading): Check[] => {
  const problems = evidence.directives.flatMap(({ id, digest }) => {
    const name = `${String(id).padStart(4, '0')}.md`;
    const problem = fileProblem(join(directory.inbox, name), digest);
    return problem === undefined ? [] : [`\`${name}\` ${problem.replace('sealed', 'read')}`];
  });
  const count = evidence.directives.length;
  return count === 0 ? [] : eachProblem('inbox', problems, `${count} directives are as they were read`);
};
