/** Exit status of the command for every kind of failure. CLI.md is the contract; a change here is a breaking change. */
export const EXIT_CODE = {
  // A target failed.
  'worker-failed': 1,
  'check-failed': 1,
  'rounds-used-up': 1,
  'attempts-used-up': 1,
  'circuit-open': 1,
  'git-failed': 1,
  'land-failed': 1,
  'target-failed': 1,
  'budget-used-up': 1,
  'write-failed': 1,
  internal: 1,
  // Usage or configuration: nothing was started.
  usage: 2,
  'pipeline-invalid': 2,
  'ticket-invalid': 2,
  'not-a-repository': 2,
  'no-commits': 2,
  'git-missing': 2,
  'program-missing': 2,
  'sandbox-missing': 2,
  'agent-missing': 2,
  'not-writable': 2,
  'no-such-run': 2,
  // A person is needed.
  'approval-needed': 3,
  // Evidence refused.
  'evidence-refused': 4,
  'record-refused': 4,
  // Busy, paused, interrupted.
  busy: 5,
  paused: 6,
  interrupted: 130,
} as const;

export type FailureKind = keyof typeof EXIT_CODE;

export interface Failure {
  readonly kind: FailureKind;
  /** What is wrong, lower case, one or more lines, the thing named in backticks. */
  readonly message: string;
  /** Where: `file:line:column`, a path, or a target's name. */
  readonly where?: string;
  /** What to do next: a sentence or a command. */
  readonly next?: string;
}

/** Thrown where no caller can do anything about it but tell the user. `cli` turns it into text and an exit status. */
export class Problem extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options);
    this.name = 'Problem';
    this.failure = failure;
  }
}

export const exitCodeOf = (failure: Failure): number => EXIT_CODE[failure.kind];

/** One failure as the lines that a person reads on stderr. */
export const describeFailure = (failure: Failure): string => {
  const where = failure.where === undefined ? '' : `${failure.where}: `;
  const next = failure.next === undefined ? '' : `\n  next: ${failure.next}`;
  return `${where}${failure.message}${next}`;
};
