const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

export const DURATION = /^[0-9]{1,12}(\.[0-9]{1,6})?(ms|s|m|h)$/;

/** A longer timer fires at once in Node. Source: node timers, `TIMEOUT_MAX` = 2^31 - 1. */
const MAX_TIMER_MS = 2_147_483_647;

/** Milliseconds of `500ms`, `30s`, `10m`, `1.5h`; `undefined` when it is not a duration between 1 ms and 24 days. */
export const parseDuration = (text: string): number | undefined => {
  if (!DURATION.test(text)) return undefined;
  const unit = /[a-z]+$/.exec(text)?.[0] as keyof typeof UNIT_MS;
  const ms = Math.round(Number.parseFloat(text) * UNIT_MS[unit]);
  return ms >= 1 && ms <= MAX_TIMER_MS ? ms : undefined;
};
