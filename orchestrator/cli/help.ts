import { COMMANDS, GLOBAL_FLAGS, type CommandName, type CommandSpec, type Flag } from './commands.js';

/** The title of a group stands beside its first command. */
const group = (title: string, names: readonly CommandName[]): string =>
  names
    .map(
      (name, index) =>
        `  ${(index === 0 ? title : '').padEnd(15)}${name.padEnd(10)}${COMMANDS[name].summary}`,
    )
    .join('\n');

/** One screen. Built into the launcher, so that nothing is loaded to print it. */
export const HELP_TEXT = `orchestrate – make for coding agents: fork one throw-away agent per phase, keep only what wait() returns
Usage: orchestrate [-C DIR] COMMAND [--ticket ID] [--json]

${group('Ship a ticket', ['run', 'status', 'logs', 'explain'])}
${group('Answer it', ['approve', 'reject', 'tell'])}
${group('Look at it', ['boot', 'graph', 'validate', 'verify'])}
${group('End it', ['stop', 'abandon', 'clean'])}
${group('Try it', ['doctor', 'demo', 'attack'])}
-C DIR: as if started in DIR  --json: for machines, on stdout  --debug: stack traces  --version
orchestrate COMMAND --help has its flags and an example
Exit status: 0 done, 1 failed, 2 usage, 3 needs a person, 4 evidence refused, 5 busy, 6 paused, 130 stopped
`;

const flagLine = ([name, flag]: [string, Flag]): string => {
  const left = `${flag.short === undefined ? '' : `-${flag.short}, `}--${name}${flag.value === undefined ? '' : ` ${flag.value}`}`;
  return `  ${left.padEnd(22)}${flag.help}`;
};

export const commandHelp = (name: CommandName): string => {
  const spec: CommandSpec = COMMANDS[name];
  const flags = Object.entries({ ...spec.flags, ...GLOBAL_FLAGS })
    .map(flagLine)
    .join('\n');
  return `orchestrate ${name} – ${spec.summary}\n\nUsage: orchestrate ${spec.usage}\n\n${flags}\n\nExample\n  ${spec.example}\n`;
};
