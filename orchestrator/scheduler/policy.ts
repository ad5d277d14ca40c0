import type { ChildEnd } from '../model/child.js';
import type { FailureKind } from '../model/failure.js';

/** One policy an end. */
export type Policy =
  | { readonly kind: 'succeeded' }
  /** Try again while attempts are left. */
  | { readonly kind: 'retry'; readonly failure: FailureKind; readonly message: string }
  /** Trying again cannot help. */
  | { readonly kind: 'fail'; readonly failure: FailureKind; readonly message: string; readonly next: string }
  /** Not a failure: it goes on when it may. */
  | { readonly kind: 'pause'; readonly until: string | null; readonly message: string }
  /** A person stopped it; it counts as no attempt. */
  | { readonly kind: 'interrupted'; readonly message: string };

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const retry = (message: string): Policy => ({ kind: 'retry', failure: 'worker-failed', message });

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
  'usage-limit': ({ resetAt }) => ({
    kind: 'pause',
    until: resetAt ?? null,
    message: "the provider's usage limit is reached",
  }),
  auth: ({ detail }) =>
    failing(`not logged in: ${detail}`, "log in with the agent's own command, then `orchestrate run` again"),
  overloaded: ({ detail }) => retry(`the provider is overloaded: ${detail}`),
  contract: ({ problems }) => retry(`what it returned is not valid: ${problems.join('; ')}`),
  empty: () => retry('exit status 0, but it produced nothing'),
};

export const policyOf = (end: ChildEnd): Policy => (POLICIES[end.kind] as (of: ChildEnd) => Policy)(end);
