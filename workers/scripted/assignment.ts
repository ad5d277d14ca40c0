import { isAbsolute } from 'node:path';
import { MAKES, type Makes } from './script.js';
import { WorkerError } from './worker-error.js';

/** What this process was forked for: its environment, and the trusted lines of its prompt. */
export interface Assignment {
  readonly ticket: string;
  readonly target: string;
  readonly attempt: number;
  readonly round: number;
  readonly makes: Makes;
  readonly tree: string;
  readonly out: string;
  readonly returnPath: string;
  readonly nonce?: string;
  readonly pages: readonly Page[];
  readonly pillars: readonly string[];
  /** Lines that the prompt quotes as feedback, without their prefix: data. Empty without feedback. */
  readonly feedback: readonly string[];
  /** Every quoted line, without its prefix: data. */
  readonly quoted: readonly string[];
}

/** A page of branch.diff and the digest that its bytes must have. */
export interface Page {
  readonly digest: string;
  readonly path: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const requiredVariable = (env: Environment, name: string): string => {
  const value = env[name];
  if (value !== undefined && value !== '') return value;
  throw new WorkerError(`\`${name}\` is not set; this program is started by \`orchestrate\`, not by hand`);
};

const absolutePath = (env: Environment, name: string): string => {
  const value = requiredVariable(env, name);
  if (!isAbsolute(value)) throw new WorkerError(`\`${name}\` is not an absolute path: ${value}`);
  return value;
};

/** `-` is standard output: what a critic without a sandbox is told. */
const returnPathOf = (env: Environment): string =>
  requiredVariable(env, 'ORCHESTRATE_RETURN') === '-' ? '-' : absolutePath(env, 'ORCHESTRATE_RETURN');

const countFrom1 = (env: Environment, name: string): number => {
  const value = requiredVariable(env, name);
  if (!/^[1-9][0-9]{0,8}$/.test(value)) throw new WorkerError(`\`${name}\` is not a number from 1: ${value}`);
  return Number(value);
};

const makesOf = (env: Environment): Makes => {
  const value = requiredVariable(env, 'ORCHESTRATE_MAKES');
  const makes = MAKES.find((item) => item === value);
  if (makes === undefined)
    throw new WorkerError(`\`ORCHESTRATE_MAKES\` is \`${value}\`; expected ${MAKES.join(', ')}`);
  return makes;
};

const QUOTE = '| ';
const isQuoted = (line: string): boolean => line === '|' || line.startsWith(QUOTE);
const unquoted = (line: string): string => line.slice(QUOTE.length);

/** Quoted lines below the headings that announce feedback: blockers, a rejection's note, the tail of a failed check. */
const feedbackIn = (lines: readonly string[]): readonly string[] => {
  const feedback: string[] = [];
  let isFeedback = false;
  for (const line of lines) {
    if (line.startsWith('#')) isFeedback = /feedback|blocker/i.test(line);
    else if (isFeedback && isQuoted(line)) feedback.push(unquoted(line));
  }
  return feedback;
};

/** Values of a key on the trusted lines: column 0, behind the last `# Assignment`. Quoted text cannot get there. */
const trustedValues = (lines: readonly string[], key: string): readonly string[] => {
  const start = lines.lastIndexOf('# Assignment');
  const prefix = `${key}: `;
  return lines
    .slice(start + 1)
    .filter((line) => start !== -1 && line.startsWith(prefix))
    .map((line) => line.slice(prefix.length).trim());
};

const oneValue = (lines: readonly string[], key: string): string | undefined => {
  const values = new Set(trustedValues(lines, key));
  if (values.size > 1) throw new WorkerError(`the prompt has ${values.size} different values for \`${key}\``);
  return [...values][0];
};

const pageOf = (value: string): Page => {
  const match = /^(sha256:[0-9a-f]{64}) (\/.*)$/.exec(value);
  if (match?.[1] === undefined || match[2] === undefined) {
    throw new WorkerError(`\`page: ${value}\` in the prompt is not a digest and an absolute path`);
  }
  return { digest: match[1], path: match[2] };
};

/**
 * @param env the environment of this process
 * @param prompt everything that arrived on standard input
 * @throws WorkerError when the contract between parent and worker is broken
 */
export const readAssignment = (env: Environment, prompt: string): Assignment => {
  const lines = prompt.split('\n').map((line) => line.replace(/\r$/, ''));
  const assignment = {
    ticket: requiredVariable(env, 'ORCHESTRATE_TICKET'),
    target: requiredVariable(env, 'ORCHESTRATE_TARGET'),
    attempt: countFrom1(env, 'ORCHESTRATE_ATTEMPT'),
    round: countFrom1(env, 'ORCHESTRATE_ROUND'),
    makes: makesOf(env),
    tree: absolutePath(env, 'ORCHESTRATE_TREE'),
    out: absolutePath(env, 'ORCHESTRATE_OUT'),
    returnPath: returnPathOf(env),
  };
  for (const key of ['ticket', 'target', 'makes'] as const) {
    const told = oneValue(lines, key);
    if (told !== undefined && told !== assignment[key]) {
      throw new WorkerError(
        `the prompt says \`${key}: ${told}\`, the environment says \`${assignment[key]}\``,
      );
    }
  }
  const nonce = oneValue(lines, 'nonce');
  return {
    ...assignment,
    ...(nonce === undefined ? {} : { nonce }),
    pages: trustedValues(lines, 'page').map(pageOf),
    pillars: trustedValues(lines, 'pillar'),
    feedback: feedbackIn(lines),
    quoted: lines.filter(isQuoted).map(unquoted),
  };
};
