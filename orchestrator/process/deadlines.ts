/**
 * Idle and absolute time limits of a child, by timers of this process.
 *
 * Durations come from the monotonic clock. The wall clock is used only to date the last output between two looks, and is not
 * believed when it did not advance as the monotonic one did: a clock set back must not make a child immortal, one set forward
 * (or a laptop that slept) must not end it early.
 */
import type { ChildEnd } from '../model/child.js';
import type { Limits } from '../model/pipeline.js';

/** Node turns a longer delay into 1 ms. Source: `setTimeout` documentation, TIMEOUT_MAX. */
const LONGEST_TIMER_MS = 2_147_483_647;
/** Difference of the two clocks between two looks above which the wall clock was set. */
const JUMP_MS = 1_000;

/** Both logs together. */
export interface LogSample {
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly mtimeMs: number;
}

/** Milliseconds of both clocks at one moment. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export interface Quiet {
  readonly bytes: number;
  /** Monotonic time of the last output, as far as known. */
  readonly since: number;
  readonly lookedAt: Moment;
}

const clocks = (): Moment => ({ monotonic: performance.now(), wall: Date.now() });

const clamp = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high);

/** The child's silence before its logs are looked at for the first time by this process. */
export const quietFrom = (sample: LogSample, now: Moment, ageMs: number): Quiet => ({
  bytes: sample.bytes,
  since: now.monotonic - clamp(now.wall - sample.mtimeMs, 0, ageMs),
  lookedAt: now,
});

/** What another look at the logs says. Only growth counts as output. */
export const lookAgain = (quiet: Quiet, sample: LogSample, now: Moment): Quiet => {
  if (sample.bytes === quiet.bytes) return { ...quiet, lookedAt: now };
  const elapsed = now.monotonic - quiet.lookedAt.monotonic;
  const jumped = Math.abs(now.wall - quiet.lookedAt.wall - elapsed) > JUMP_MS;
  const ago = jumped ? 0 : clamp(now.wall - sample.mtimeMs, 0, elapsed);
  return { bytes: sample.bytes, since: now.monotonic - ago, lookedAt: now };
};

interface Watch {
  readonly limits: Limits;
  /** How long the child ran before this process watched it, in milliseconds. */
  readonly ageMs: number;
  readonly sample: () => LogSample;
  /** Called once. */
  readonly onExpiry: (end: ChildEnd) => void;
  /** Called at each look that ends nothing. */
  readonly onLook?: () => void;
}

/** @returns cancels the limits */
export const watchDeadlines = (watch: Watch): (() => void) => {
  const { limits, ageMs, sample, onExpiry, onLook } = watch;
  const start = clocks();
  const bornAt = start.monotonic - ageMs;
  // A child that we have just forked has written nothing: no need to look.
  let quiet =
    ageMs === 0 ? quietFrom({ bytes: 0, mtimeMs: start.wall }, start, 0) : quietFrom(sample(), start, ageMs);
  let timer: NodeJS.Timeout | undefined;

  const leftOf = (now: Moment): { readonly total: number; readonly idle: number } => ({
    total: bornAt + limits.timeoutMs - now.monotonic,
    idle: quiet.since + limits.idleMs - now.monotonic,
  });

  const arm = (now: Moment): void => {
    const { total, idle } = leftOf(now);
    timer = setTimeout(look, clamp(Math.ceil(Math.min(total, idle)), 1, LONGEST_TIMER_MS));
  };

  const look = (): void => {
    const now = clocks();
    quiet = lookAgain(quiet, sample(), now);
    const { total, idle } = leftOf(now);
    if (total <= 0) return onExpiry({ kind: 'timeout', timeoutMs: limits.timeoutMs });
    if (idle <= 0) return onExpiry({ kind: 'idle-timeout', idleMs: limits.idleMs });
    onLook?.();
    return arm(now);
  };

  arm(start);
  return () => clearTimeout(timer);
};
