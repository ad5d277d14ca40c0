/** Time as a value: tests pass their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export const systemClock: Clock = { now: () => Date.now() };

export const isoTime = (clock: Clock): string => new Date(clock.now()).toISOString();
