/** Every command's flags, usage and example: the one table that parsing, help and did-you-mean read. */

export interface Flag {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  readonly value?: string;
  readonly help: string;
}

export interface CommandSpec {
  readonly usage: string;
  readonly summary: string;
  readonly flags: Readonly<Record<string, Flag>>;
  /** Names of positionals, in order; a ticket that `--ticket` gave is not expected again. */
  readonly positionals: readonly ('ticket' | 'target' | 'text')[];
  readonly example: string;
}

const ticket: Flag = { type: 'string', value: 'ID', help: 'the ticket; a bare ID is accepted too' };
const tickets: Flag = { ...ticket, multiple: true, help: 'a ticket; may be given several times' };
const file: Flag = {
  type: 'string',
  value: 'FILE',
  help: 'pipeline; default targets.yaml in the repository, else the built-in one',
};
const target: Flag = { type: 'string', value: 'TARGET', help: 'name of a target' };
const digest: Flag = { type: 'string', value: 'DIGEST', help: 'what was shown; required off a terminal' };

export const GLOBAL_FLAGS = {
  json: { type: 'boolean', help: 'one JSON document on stdout (run: one event a line)' },
  debug: { type: 'boolean', help: 'stack traces with errors' },
  help: { type: 'boolean', short: 'h', help: 'this text' },
} as const satisfies Record<string, Flag>;

export const COMMANDS = {
  run: {
    usage:
      'run --ticket ID… [--file FILE] [--until TARGET] [--jobs N] [--dry-run] [--wait] [--rebuild TARGET]',
    summary: 'start or resume tickets',
    flags: {
      ticket: tickets,
      file,
      until: { type: 'string', value: 'TARGET', help: 'make this target and what it needs, no more' },
      jobs: { type: 'string', short: 'j', value: 'N', help: 'children at once, over all tickets' },
      'dry-run': { type: 'boolean', short: 'n', help: 'say what would run and why; start nothing' },
      wait: { type: 'boolean', help: "sleep through a provider's usage limit instead of exit 6" },
      rebuild: {
        type: 'string',
        value: 'TARGET',
        help: 'begin a new epoch: make this and what stands on it anew',
      },
    },
    positionals: ['ticket'],
    example: 'orchestrate run --ticket 320 --ticket 321 --jobs 2',
  },
  status: {
    usage: 'status [--ticket ID] [--watch]',
    summary: 'every run, or one run target by target',
    flags: { ticket, file, watch: { type: 'boolean', help: 'redraw until the run is at rest' } },
    positionals: ['ticket'],
    example: 'orchestrate status --ticket 320 --json',
  },
  approve: {
    usage: 'approve --ticket ID --target T [--digest D] [--note TEXT]',
    summary: 'open an airlock for exactly the bytes shown',
    flags: {
      ticket,
      target,
      digest,
      file,
      note: { type: 'string', value: 'TEXT', help: 'kept with the approval' },
    },
    positionals: ['ticket', 'target'],
    example: 'orchestrate approve --ticket 320 --target approved-plan --digest sha256:…',
  },
  reject: {
    usage: 'reject --ticket ID --target T [--digest D] --note TEXT',
    summary: 'refuse it; the note goes to the next attempt',
    flags: { ticket, target, digest, file, note: { type: 'string', value: 'TEXT', help: 'why; required' } },
    positionals: ['ticket', 'target'],
    example:
      'orchestrate reject --ticket 320 --target approved-plan --digest sha256:… --note "keep the old name"',
  },
  tell: {
    usage: 'tell --ticket ID TEXT',
    summary: 'a directive for the next worker; on disk before it returns',
    flags: { ticket },
    positionals: ['ticket', 'text'],
    example: 'orchestrate tell --ticket 320 "do not touch the public API"',
  },
  boot: {
    usage: 'boot --ticket ID',
    summary: 'print the state, 00 to 99, and unread directives',
    flags: { ticket, file },
    positionals: ['ticket'],
    example: 'orchestrate boot --ticket 320',
  },
  logs: {
    usage: 'logs --ticket ID [TARGET] [--lines 15] [--follow]',
    summary: "the end of a child's output, never the whole of it",
    flags: {
      ticket,
      lines: { type: 'string', value: 'N', help: 'lines from the end; default 15' },
      follow: { type: 'boolean', short: 'f', help: 'go on until the child ends' },
      stderr: { type: 'boolean', help: 'its standard error instead' },
    },
    positionals: ['ticket', 'target'],
    example: 'orchestrate logs --ticket 320 implementation-diff --follow',
  },
  explain: {
    usage: 'explain --ticket ID [TARGET]',
    summary: 'why each target would or would not run',
    flags: { ticket, file },
    positionals: ['ticket', 'target'],
    example: 'orchestrate explain --ticket 320 adversarial-review',
  },
  graph: {
    usage: 'graph [--ticket ID] [--format ascii|mermaid|dot|svg]',
    summary: 'the DAG; coloured by status with a ticket',
    flags: {
      ticket,
      file,
      format: { type: 'string', value: 'FORMAT', help: 'ascii (default), mermaid, dot or svg' },
    },
    positionals: ['ticket'],
    example: 'orchestrate graph --format mermaid > pipeline.mmd',
  },
  validate: {
    usage: 'validate [--file FILE]',
    summary: 'all problems of a pipeline at once',
    flags: { file },
    positionals: [],
    example: 'orchestrate validate --file targets.yaml',
  },
  verify: {
    usage: 'verify --ticket ID',
    summary: 'offline: prove the record, every receipt, every commit',
    flags: { ticket, file },
    positionals: ['ticket'],
    example: 'orchestrate verify --ticket 320 --json',
  },
  stop: {
    usage: 'stop --ticket ID',
    summary: 'end a run and its children; say so when none is left',
    flags: { ticket, file },
    positionals: ['ticket'],
    example: 'orchestrate stop --ticket 320',
  },
  abandon: {
    usage: 'abandon --ticket ID [--target T] [--note TEXT]',
    summary: 'give up what is not done',
    flags: { ticket, target, file, note: { type: 'string', value: 'TEXT', help: 'why; kept as the reason' } },
    positionals: ['ticket', 'target'],
    example: 'orchestrate abandon --ticket 320 --note "superseded by 321"',
  },
  clean: {
    usage: 'clean --ticket ID',
    summary: 'remove the tree of shipped work; the record stays',
    flags: { ticket, file },
    positionals: ['ticket'],
    example: 'orchestrate clean --ticket 320',
  },
  doctor: {
    usage: 'doctor',
    summary: 'what a run needs and finds here, each with the fix',
    flags: {},
    positionals: [],
    example: 'orchestrate doctor --json',
  },
  attack: {
    usage: 'attack [--file FILE]',
    summary: 'hostile workers against this pipeline, in a throw-away repository',
    flags: {
      file,
      only: { type: 'string', value: 'ROW,ROW', help: 'only these rows of the suite, e.g. V1,V4b,16' },
      keep: { type: 'boolean', help: 'leave the throw-away repositories and say where they are' },
    },
    positionals: [],
    example: 'orchestrate attack --file targets.yaml',
  },
  demo: {
    usage: 'demo [--dir DIR] [--prepare]',
    summary: 'a whole run on a sample repository; no key, no network',
    flags: {
      dir: { type: 'string', value: 'DIR', help: 'keep the repository here (new or empty)' },
      prepare: { type: 'boolean', help: 'only make the repository' },
    },
    positionals: [],
    example: 'orchestrate demo --dir sample --prepare && orchestrate -C sample run --ticket 320',
  },
} as const satisfies Record<string, CommandSpec>;

export type CommandName = keyof typeof COMMANDS;
