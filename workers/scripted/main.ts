import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { plan } from './archaeologist.js';
import { readAssignment, type Assignment } from './assignment.js';
import { build } from './builder.js';
import { review } from './critic.js';
import { actionsFor, misbehave, returnBytes } from './misbehave.js';
import { readScript } from './read-script.js';
import { writeReturn, type Returned } from './returned.js';
import { recordScars } from './scribe.js';
import { partFor, type DiffScript, type Part, type Script } from './script.js';
import { WorkerError } from './worker-error.js';

const say = (line: string): boolean => process.stdout.write(`${line}\n`);

const readPrompt = async (): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
};

const loadScript = ({ tree, ticket }: Assignment): Script => {
  const file = `tickets/${ticket}.script.yaml`;
  let source: string;
  try {
    source = readFileSync(join(tree, file), 'utf8');
  } catch (error) {
    throw new WorkerError(
      `\`${file}\` cannot be read in the tree; a scripted worker performs a written script and can do nothing without one`,
      { cause: error },
    );
  }
  return readScript(file, source);
};

const perform = <T>(
  assignment: Assignment,
  parts: readonly Part<T>[],
  work: (script: T, part: Part<T>) => Returned,
): Returned => {
  const part = partFor(parts, assignment.round);
  if (part?.answer !== undefined) return { status: part.answer.status, summary: [part.answer.because] };
  if (part?.work !== undefined) return work(part.work, part);
  throw new WorkerError(
    `\`tickets/${assignment.ticket}.script.yaml\` says nothing about \`${assignment.makes}\` in round ${assignment.round}`,
  );
};

/** The work is done once; an entry for one round has its own. */
const buildPart = (assignment: Assignment) => (script: DiffScript, part: Part<DiffScript>) =>
  build(assignment, script, assignment.round === 1 || part.round !== undefined);

const honestWork = (assignment: Assignment, script: Script): Returned => {
  switch (assignment.makes) {
    case 'plan':
      return perform(assignment, script.plan, (work) => plan(assignment, work));
    case 'diff':
      return perform(assignment, script.diff, buildPart(assignment));
    case 'files':
      return perform(assignment, script.files, buildPart(assignment));
    case 'review':
      return perform(assignment, script.review, (work) => review(assignment, work));
    case 'notes':
      return perform(assignment, script.notes, (work) => recordScars(assignment, work));
  }
};

/** Whoever reads the first line knows what kind of worker wrote it. */
const labelled = ([first, ...rest]: readonly string[]): readonly string[] => [
  `scripted worker, not a model: ${first ?? 'nothing to say'}`,
  ...rest,
];

/** @returns the exit status */
const run = async (): Promise<number> => {
  const assignment = readAssignment(process.env, await readPrompt());
  const title = `scripted worker, not a model: ${assignment.target} of ticket ${assignment.ticket}, round ${assignment.round}`;
  say(title);
  const script = loadScript(assignment);
  const actions = actionsFor(assignment, script.misbehave);
  for (const action of actions) {
    const misdeed = await misbehave(assignment, action);
    if (misdeed.kind === 'exit') return misdeed.code;
    if (misdeed.kind === 'instead') {
      writeReturn(assignment.returnPath, misdeed.text);
      return 0;
    }
  }
  const returned = honestWork(assignment, script);
  for (const line of returned.summary) say(line);
  const bytes = returnBytes({ ...returned, summary: labelled(returned.summary) }, actions);
  if (bytes !== undefined) writeReturn(assignment.returnPath, bytes);
  return 0;
};

const explain = (error: unknown): string => {
  if (error instanceof WorkerError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
};

run().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`scripted worker: ${explain(error)}\n`);
    process.exitCode = 1;
  },
);
