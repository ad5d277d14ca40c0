import type { ChildEnd } from '../model/child.js';
import type { FailureKind } from '../model/failure.js';
import { unreachable } from '../model/result.js';

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

export const policyOf = (end: ChildEnd): Policy => {
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? { kind: 'succeeded' } : retry(`exit status ${end.code}`);
    case 'signalled':
      return retry(`ended by signal ${end.signal}`);
    case 'idle-timeout':
      return retry(`no output for ${seconds(end.idleMs)}, so it was ended`);
    case 'timeout':
      return retry(`not finished after ${seconds(end.timeoutMs)}, so it was ended`);
    case 'stopped':
      return { kind: 'interrupted', message: `stopped by ${end.by}` };
    case 'lost':
      return retry(`its end is not known: ${end.detail}`);
    case 'not-started':
      return {
        kind: 'fail',
        failure: 'worker-failed',
        message: `could not be started: ${end.detail}`,
        next: 'mend the command in targets.yaml, then `orchestrate run` again',
      };
    case 'usage-limit':
      return { kind: 'pause', until: end.resetAt ?? null, message: "the provider's usage limit is reached" };
    case 'auth':
      return {
        kind: 'fail',
        failure: 'worker-failed',
        message: `not logged in: ${end.detail}`,
        next: "log in with the agent's own command, then `orchestrate run` again",
      };
    case 'overloaded':
      return retry(`the provider is overloaded: ${end.detail}`);
    case 'contract':
      return retry(`what it returned is not valid: ${end.problems.join('; ')}`);
    case 'empty':
      return retry('exit status 0, but it produced nothing');
    default:
      return unreachable(end);
  }
};
