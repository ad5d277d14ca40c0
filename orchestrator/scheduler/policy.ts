import type { ChildEnd } from '../model/child.js';
import type { FailureKind } from '../model/failure.js';

/** One policy an end. */
export type Policy =
  | { readonly kind: 'succeeded' }
  /** Try again while attempts are left; with `passing` after a pause, since the fault is not the attempt's. */
  | {
      readonly kind: 'retry';
      readonly failure: FailureKind;
      readonly message: string;
      readonly passing?: true;
    }
  /** Trying again cannot help. */
  | { readonly kind: 'fail'; readonly failure: FailureKind; readonly message: string; readonly next: string }
  /** Not a failure: it goes on when it may. */
  | { readonly kind: 'pause'; readonly until: string | null; readonly message: string }
  /** A person stopped it; it counts as no attempt. */
  | { readonly kind: 'interrupted'; readonly message: string };

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const retry = (message: string): Policy => ({ kind: 'retry', failure: 'worker-failed', message });

const later = (message: string): Policy => ({
  kind: 'retry',
  failure: 'worker-failed',
  message,
  passing: true,
});

const failing = (message: string, next: string): Policy => ({
  kind: 'fail',
  failure: 'worker-failed',
  message,
  next,
});

type PolicyTable = {
  readonly [Kind in ChildEnd['kind']]: (end: Extract<ChildEnd, { readonly kind: Kind }>) => Policy;
};

const POLICIES: PolicyTable = {
  exited: ({ code }) => (code === 0 ? { kind: 'succeeded' } : retry(`exit status ${code}`)),
  finished: () => ({ kind: 'succeeded' }),
  signalled: ({ signal }) => retry(`ended by signal ${signal}`),
  'idle-timeout': ({ idleMs }) => retry(`no output for ${seconds(idleMs)}, so it was ended`),
  timeout: ({ timeoutMs }) => retry(`not finished after ${seconds(timeoutMs)}, so it was ended`),
  stopped: ({ by }) => ({ kind: 'interrupted', message: `stopped by ${by}` }),
  lost: ({ detail }) => retry(`its end is not known: ${detail}`),
  'not-started': ({ detail }) =>
    failing(
      `could not be started: ${detail}`,
      'mend the command in targets.yaml, then `orchestrate run` again',
    ),
  'usage-limit': ({ detail, resetAt }) => ({
    kind: 'pause',
    until: resetAt ?? null,
    message: `the provider's usage limit is reached: ${detail}`,
  }),
  auth: ({ detail }) =>
    failing(`not logged in: ${detail}`, "log in with the agent's own command, then `orchestrate run` again"),
  overloaded: ({ detail }) => later(`the provider is overloaded: ${detail}`),
  network: ({ detail }) => later(`the provider cannot be reached: ${detail}`),
  'context-overflow': ({ detail }) =>
    failing(
      `the prompt or the session is longer than the model's window: ${detail}`,
      'split the ticket or its plan, or name a model with a larger window',
    ),
  'max-turns': ({ detail }) => retry(`it used up its turns: ${detail}`),
  'max-budget': ({ detail }) =>
    failing(
      `it used up its own budget: ${detail}`,
      'raise the limit in `args:` of the worker, then run again',
    ),
  'permission-denied': ({ detail }) =>
    failing(
      `it was denied what it needs: ${detail}`,
      "look at the worker's `access`, `sandbox` and `args`, then run again",
    ),
  refusal: ({ detail }) => retry(`the model refused: ${detail}`),
  truncated: ({ detail }) => retry(`its answer was cut off: ${detail}`),
  'agent-failed': ({ detail }) => retry(`the agent failed: ${detail}`),
  contract: ({ problems }) => retry(`what it returned is not valid: ${problems.join('; ')}`),
  empty: () => retry('exit status 0, but it produced nothing'),
};

export const policyOf = (end: ChildEnd): Policy => (POLICIES[end.kind] as (of: ChildEnd) => Policy)(end);
