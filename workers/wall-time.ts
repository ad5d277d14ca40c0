/** Times as a clock on a wall shows them, in whatever zone. Daylight saving comes from `Intl` alone. */

const MINUTE = 60_000;
const WEEK = 7;
/** Printed times are rounded: one that has just passed means "any moment", not "tomorrow". */
export const JUST_PASSED_MS = 10 * MINUTE;

export interface Wall {
  readonly year?: number;
  /** 1 to 12. */
  readonly month?: number;
  readonly day?: number;
  /** 0 is Sunday. */
  readonly weekday?: number;
  readonly tomorrow?: true;
  /** Of the day. */
  readonly minutes?: number;
  readonly zone?: string;
}

/** The first instant that the printed time can mean and that has not long passed. */
export const wallTime = (wall: Wall, now: number, zone: string): number | undefined =>
  candidates(wall, new Date(now + offsetMs(now, zone)), zone).find((ms) => ms > now - JUST_PASSED_MS);

/** @param today what clocks in `zone` show, as if it were UTC */
const candidates = (wall: Wall, today: Date, zone: string): readonly number[] => {
  const { weekday, tomorrow, minutes = 0 } = wall;
  if (wall.day !== undefined) return dates({ ...wall, day: wall.day }, today, zone);
  const from = today.getUTCDate() + (tomorrow === true ? 1 : 0);
  const days = Array.from({ length: WEEK + 1 }, (_, more) =>
    Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), from + more),
  );
  return days
    .filter((day) => weekday === undefined || new Date(day).getUTCDay() === weekday)
    .map((day) => instant(day, minutes, zone));
};

const dates = (wall: Wall & { readonly day: number }, today: Date, zone: string): readonly number[] => {
  const { day, month = today.getUTCMonth() + 1, minutes } = wall;
  const years = wall.year === undefined ? [today.getUTCFullYear(), today.getUTCFullYear() + 1] : [wall.year];
  // A day without a time: some time in it, so at its end when it has begun.
  const times = minutes === undefined ? [0, 24 * 60] : [minutes];
  return years
    .map((year) => Date.UTC(year, month - 1, day))
    .filter((shown) => new Date(shown).getUTCDate() === day)
    .flatMap((shown) => times.map((time) => instant(shown, time, zone)));
};

/**
 * The instant at which clocks in `zone` show `minutes` after the beginning of `day`. A time that is skipped when clocks go forward
 * is taken as much later.
 */
const instant = (day: number, minutes: number, zone: string): number => {
  const shown = day + minutes * MINUTE;
  const first = shown - offsetMs(shown, zone);
  const second = shown - offsetMs(first, zone);
  return offsetMs(second, zone) === shown - second ? second : Math.max(first, second);
};

/** How much clocks in `zone` are ahead of UTC. `zone`: an IANA name, or signed minutes. */
const offsetMs = (ms: number, zone: string): number => {
  if (/^[+-]\d+$/.test(zone)) return Number(zone) * MINUTE;
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(ms);
  const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  const shown = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  return shown - Math.floor(ms / 1_000) * 1_000;
};

export const isZone = (name: string): boolean => {
  if (/^[+-]\d{1,4}$/.test(name)) return true;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).format(0) !== '';
  } catch {
    return false;
  }
};
