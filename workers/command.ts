import type { WorkerSpec } from '../orchestrator/model/pipeline.js';
import type { Worker, WorkerRequest } from './worker.js';

const PLACEHOLDERS: Readonly<Record<string, (request: WorkerRequest) => string>> = {
  tree: ({ paths }) => paths.tree,
  out: ({ paths }) => paths.out,
  prompt: ({ paths }) => paths.prompt,
  return: ({ paths }) => paths.returnPath,
  ticket: ({ ticket }) => ticket,
  target: ({ target }) => target,
  model: ({ spec }) => spec.model ?? '',
};

/** `{word}` is a placeholder, `{{word}}` the text `{word}`; `${word}` and JSON such as `{"a":1}` are left alone. */
const PLACEHOLDER = /\{\{([a-z]+)\}\}|(?<!\$)\{([a-z]+)\}/g;

const placeholdersIn = (argument: string): readonly string[] =>
  [...argument.matchAll(PLACEHOLDER)].flatMap(([, , name]) => (name === undefined ? [] : [name]));

const filled = (argument: string, request: WorkerRequest): string =>
  argument.replace(PLACEHOLDER, (whole, literal: string | undefined, name: string | undefined) => {
    if (literal !== undefined) return `{${literal}}`;
    return PLACEHOLDERS[name ?? '']?.(request) ?? whole;
  });

const SHELL = /(?:^|\/)(?:sh|bash|dash|zsh|ksh)$/;

/** Index of the argument that a shell would run as a script (`sh -c SCRIPT`), or -1. */
const scriptIndex = (command: readonly string[]): number => {
  if (!SHELL.test(command[0] ?? '')) return -1;
  const option = command.findIndex((argument, index) => index > 0 && /^-[a-z]*c$/.test(argument));
  return option === -1 ? -1 : option + 1;
};

const argumentProblems = (spec: WorkerSpec, argument: string, index: number): readonly string[] => {
  const where = `\`command\` of worker \`${spec.name}\``;
  const names = placeholdersIn(argument);
  const known = Object.keys(PLACEHOLDERS);
  const problems = names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const list = known.map((item) => `{${item}}`).join(' ');
      return `\`{${name}}\` in ${where} is not a placeholder; use one of ${list}, or write \`{{${name}}}\` for the text itself`;
    });
  const first = names[0];
  if (first !== undefined && index === 0) {
    problems.push(
      `the program in ${where} contains \`{${first}}\`; placeholders are replaced in arguments only`,
    );
  }
  if (first !== undefined && index === scriptIndex(spec.command)) {
    problems.push(
      `\`{${first}}\` in ${where} would be read by the shell; pass it behind the script (\`sh -c SCRIPT sh {${first}}\`) and use "$1"`,
    );
  }
  if (argument.includes('\0'))
    problems.push(`argument ${index} in ${where} contains a NUL character; remove it`);
  return problems;
};

/** Any program: the universal adapter. It gets the prompt on standard input and the contract in its environment. */
export const commandWorker: Worker = {
  name: 'command',
  problems: (spec) => {
    const problems = spec.command.flatMap((argument, index) => argumentProblems(spec, argument, index));
    if ((spec.command[0] ?? '') === '') {
      problems.push(
        `worker \`${spec.name}\` has no \`command\`; name a program, e.g. \`command: [claude, -p]\``,
      );
    }
    if (
      spec.model === undefined &&
      spec.command.some((argument) => placeholdersIn(argument).includes('model'))
    ) {
      problems.push(
        `\`command\` of worker \`${spec.name}\` uses \`{model}\`, but the worker has no \`model\`; add \`model: NAME\``,
      );
    }
    return problems;
  },
  invocation: (request) => ({
    argv: request.spec.command.map((argument, index) => (index === 0 ? argument : filled(argument, request))),
    env: { ...request.spec.env },
    agentKeys: true,
  }),
};
