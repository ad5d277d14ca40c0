import { setTimeout as delay } from 'node:timers/promises';
import type { ChildEnd } from '../model/child.js';
import type { Target } from '../model/pipeline.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { MOVED, recordFailure, stateOf, type TicketRun } from './ticket-run.js';

/** Passing faults in a row after which it is the target that has failed. */
const MOST_PASSING = 5;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Milliseconds before the next try: doubled each time, and spread over half of it, so that many runs do not come back at once.
 * @param passed passing faults in a row, from 1
 * @param random in [0, 1)
 */
export const pauseMs = (passed: number, random: number): number =>
  Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (passed - 1)) * (1 - random / 2);

/** Waits, when the last attempt was ended by a fault of the provider that passes. A signal ends the wait. */
export const backOff = async (run: TicketRun, target: Target): Promise<void> => {
  const passed = stateOf(run, target).context.passing ?? 0;
  if (passed === 0 || run.halt.halted()) return;
  try {
    await delay(pauseMs(passed, Math.random()), undefined, { signal: run.abort.signal });
  } catch {
    // Aborted: the caller looks whether the run is halted.
  }
};

/** Records an end that says nothing about the attempt: it is repeated a bounded number of times. */
export const recordPassing = (
  run: TicketRun,
  target: Target,
  { end, message }: { readonly end: ChildEnd; readonly message: string },
): EffectResult => {
  const { context } = stateOf(run, target);
  if ((context.passing ?? 0) + 1 >= MOST_PASSING) {
    const next = `it was tried ${MOST_PASSING} times; look at the provider's status, then \`orchestrate run --ticket ${run.ticket}\``;
    return recordFailure(run, target, { kind: 'worker-failed', message, next, canRetry: false });
  }
  run.recorder.record({
    type: 'target.failed',
    target: target.name,
    attempt: context.attempt,
    kind: 'worker-failed',
    message,
    retry: !run.halt.halted(),
    passing: true,
    end,
  });
  return MOVED;
};
