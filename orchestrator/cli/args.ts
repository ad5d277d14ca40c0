import { parseArgs } from 'node:util';
import { Problem } from '../model/failure.js';
import { createSuggest } from '../model/suggest.js';
import { COMMANDS, GLOBAL_FLAGS, type CommandName, type CommandSpec, type Flag } from './commands.js';

/** A command line, understood: flags as given, positionals by name. */
export interface Invocation {
  readonly name: CommandName;
  /** Folders of `-C`, in order. */
  readonly directories: readonly string[];
  readonly json: boolean;
  readonly debug: boolean;
  readonly help: boolean;
  readonly tickets: readonly string[];
  readonly target?: string;
  readonly text?: string;
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
}

const closest = createSuggest();

const usage = (message: string, next: string): Problem => new Problem({ kind: 'usage', message, next });

/** Takes `-C DIR` out, wherever it stands before `--`. */
const takeDirectories = (
  argv: readonly string[],
): { readonly directories: string[]; readonly rest: string[] } => {
  const directories: string[] = [];
  const rest: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (word === '--') return { directories, rest: [...rest, ...argv.slice(index)] };
    if (word !== '-C') {
      rest.push(word);
      continue;
    }
    index += 1;
    const directory = argv[index];
    if (directory === undefined) throw usage('`-C` needs a folder', 'orchestrate -C DIR COMMAND');
    directories.push(directory);
  }
  return { directories, rest };
};

const isCommand = (word: string): word is CommandName => Object.hasOwn(COMMANDS, word);

/** @throws `Problem` `usage` that names the word and the nearest right one */
export const parseCommandLine = (argv: readonly string[]): Invocation => {
  const { directories, rest } = takeDirectories(argv);
  const at = rest.findIndex((word) => !word.startsWith('-'));
  const word = rest[at];
  if (word === undefined)
    throw usage(`no command in \`${rest.join(' ')}\``, 'orchestrate --help lists the commands');
  if (!isCommand(word)) {
    const near = closest(word, Object.keys(COMMANDS));
    throw usage(
      `unknown command \`${word}\``,
      near === undefined ? 'orchestrate --help lists the commands' : `did you mean \`${near}\`?`,
    );
  }
  const spec: CommandSpec = COMMANDS[word];
  const flags: Record<string, Flag> = { ...spec.flags, ...GLOBAL_FLAGS };
  const parsed = parseFlags(word, [...rest.slice(0, at), ...rest.slice(at + 1)], flags);
  const { ticket, json, debug, help, ...others } = parsed.values;
  const named = toList(ticket);
  const given = new Set([
    ...(named.length > 0 ? ['ticket'] : []),
    ...(others['target'] === undefined ? [] : ['target']),
  ]);
  const placed = placePositionals(word, spec, given, parsed.positionals);
  return {
    name: word,
    directories,
    json: json === true,
    debug: debug === true,
    help: help === true,
    tickets: [...named, ...placed.tickets],
    ...(placed.target === undefined ? {} : { target: placed.target }),
    ...(placed.text === undefined ? {} : { text: placed.text }),
    flags: others as Record<string, string | boolean | undefined>,
  };
};

const toList = (value: unknown): string[] => {
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as string[]) : [value as string];
};

interface Parsed {
  readonly values: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
}

const parseFlags = (name: CommandName, args: string[], flags: Record<string, Flag>): Parsed => {
  const options = Object.fromEntries(
    Object.entries(flags).map(([flag, { type, short, multiple }]) => [
      flag,
      // Two tickets where one is meant are seen, and refused; the last one would win otherwise.
      { type, multiple: multiple === true || flag === 'ticket', ...(short === undefined ? {} : { short }) },
    ]),
  );
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw flagProblem(name, (error as Error).message, Object.keys(flags));
  }
};

const flagProblem = (name: CommandName, message: string, known: readonly string[]): Problem => {
  const unknown = /^Unknown option '(-{1,2}[^']*)'/.exec(message)?.[1];
  const help = `orchestrate ${name} --help`;
  if (unknown === undefined) return usage(message.split('\n')[0]?.replace(/\.$/, '') ?? message, help);
  const near = closest(unknown.replace(/^-+/, ''), known);
  const { positionals }: CommandSpec = COMMANDS[name];
  const otherwise = positionals.includes('text')
    ? `${help}; text that begins with \`-\` comes after \`--\``
    : help;
  return usage(
    `\`${name}\` has no option \`${unknown}\``,
    near === undefined ? otherwise : `did you mean \`--${near}\`?`,
  );
};

interface Placed {
  readonly tickets: readonly string[];
  readonly target?: string;
  readonly text?: string;
}

const placePositionals = (
  name: CommandName,
  spec: CommandSpec,
  given: ReadonlySet<string>,
  words: readonly string[],
): Placed => {
  // What a flag gave is not expected again: two targets where one is meant are refused as well.
  const slots = spec.positionals.filter((slot) => !given.has(slot));
  if (name === 'run' && !given.has('ticket')) return { tickets: words };
  if (slots.at(-1) === 'text') {
    const before = slots.slice(0, -1);
    return {
      tickets: before.length === 0 ? [] : words.slice(0, 1),
      ...(words.length > before.length ? { text: words.slice(before.length).join(' ') } : {}),
    };
  }
  if (words.length > slots.length) {
    throw usage(
      `\`${name}\` does not know what to do with \`${words[slots.length] ?? ''}\``,
      `orchestrate ${name} --help`,
    );
  }
  const byName = new Map(slots.map((slot, index) => [slot, words[index]]));
  const ticket = byName.get('ticket');
  const target = byName.get('target');
  return { tickets: ticket === undefined ? [] : [ticket], ...(target === undefined ? {} : { target }) };
};
