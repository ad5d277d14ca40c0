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

/** Names that begin with a dot are halves of a write. */
const NOTE = /^notes\/[^./][^/]*\.md$/;

/** Sealed copies against their digests: the plan, the diff of the last seal and its pages, the ticket, the notes. */
export const artifactChecks = (
  directory: RunDirectory,
  reading: JournalReading,
  pipeline: Pipeline | undefined,
  /** Seals of epochs before: a kept target's notes stay, also those of attempts that are not recorded again. */
  earlier: ReadonlyMap<string, Seal>,
): Check[] => {
  const { run, evidence } = reading;
  const own = [...evidence.seals].filter(([path, seal]) => isOurs(path, seal, pipeline));
  return [
    ...ticketCheck(directory, run),
    ...own
      .filter(([path]) => !NOTE.test(path))
      .flatMap(([path, seal]) => sealedCheck(directory, run, path, seal)),
    ...noteChecks(
      directory,
      reading,
      own.filter(([path]) => NOTE.test(path)),
      earlier,
    ),
  ];
};

/** What a target of files seals lies in the tree, but for its notes. */
const isOurs = (path: string, { target }: Seal, pipeline: Pipeline | undefined): boolean => {
  if (NOTE.test(path)) return path.startsWith(`notes/${target}-`);
  const makes = pipeline?.targets.find(({ name }) => name === target)?.makes;
  return (
    (path === 'plan.md' && (makes ?? 'plan') === 'plan') ||
    (path === 'branch.diff' && (makes ?? 'diff') === 'diff')
  );
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
  return [
    fileCheck('artifacts/ticket.md', join(directory.artifacts, 'ticket.md'), digestOf(ticketText(ticket))),
  ];
};

/** A note goes into prompts: one that nobody sealed is as bad as one that was changed. */
const noteChecks = (
  directory: RunDirectory,
  { run, broken }: JournalReading,
  own: readonly (readonly [string, Seal])[],
  earlier: ReadonlyMap<string, Seal>,
): Check[] => {
  const folder = join(directory.artifacts, 'notes');
  const onDisk = existsSync(folder)
    ? readdirSync(folder)
        .map((name) => `notes/${name}`)
        .filter((path) => NOTE.test(path))
    : [];
  const seals = new Map(own);
  for (const path of onDisk) {
    const seal = seals.get(path) ?? earlier.get(path);
    if (seal !== undefined) seals.set(path, seal);
  }
  const strangers = onDisk.filter((path) => !seals.has(path) && !mayBeNew(run, path));
  if (broken !== undefined && strangers.length > 0) return [untold('artifacts/notes', BROKEN_JOURNAL)];
  const changed = [...seals]
    .filter(([, seal]) => !isOpen(run, seal))
    .flatMap(([path, seal]) => {
      const problem = fileProblem(join(directory.artifacts, path), seal.digest);
      return problem === undefined ? [] : [`\`${path}\` ${problem}`];
    });
  const problems = [...changed, ...strangers.map((path) => `\`${path}\` was sealed by no target`)];
  return problems.length + seals.size === 0
    ? []
    : eachProblem('artifacts/notes', problems, `${seals.size} notes`);
};

/** Copied, and its target's seal not recorded yet: a crash left it. */
const mayBeNew = (run: RunState, path: string): boolean =>
  [...run.targets].some(
    ([target, { value, context }]) =>
      path.startsWith(`notes/${target}-`) && value === 'gating' && context.artifacts === undefined,
  );

/** Directives that a boot has read must still be what it read: write-once, like an approval. */
export const inboxChecks = (inbox: string, directives: ReadonlyMap<number, Digest>): Check[] => {
  const problems = [...directives].flatMap(([id, digest]) => {
    const name = `${String(id).padStart(4, '0')}.md`;
    const problem = fileProblem(join(inbox, name), digest);
    return problem === undefined ? [] : [`\`${name}\` ${problem.replace('sealed', 'read')}`];
  });
  return directives.size === 0
    ? []
    : eachProblem('inbox', problems, `${directives.size} directives are as they were read`);
};
