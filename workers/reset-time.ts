/** When a provider's limit ends, from the words and fields that agents print. No clock: `now` is given. */

import { isZone, JUST_PASSED_MS, wallTime, type Wall } from './wall-time.js';

const MINUTE = 60_000;
const DAY = 86_400_000;
/** Monthly limits are the longest. */
const LONGEST_MS = 32 * DAY;
/** Characters that are looked at: of the text, and behind each word such as `resets`. */
const MOST_TEXT = 8_192;
const MOST_BEHIND = 120;
const MOST_CUES = 16;

type Moment =
  | { readonly kind: 'at'; readonly ms: number }
  | { readonly kind: 'in'; readonly ms: number }
  | { readonly kind: 'wall'; readonly wall: Wall };

const CUE =
  /\||\b(?:resets?|resetting|renews?|try again|trying again|retry(?:ing)?|available|until|wait|come back)/g;
/** What may stand between such a word and the time. */
const BETWEEN =
  /(?:[^a-z0-9|]|(?:seconds|secs|ms|delay|after|again|about|access|your|will|limit|the|for|be|at|in|on|to|by)(?![a-z]))*/y;

/**
 * The end of a limit, if the text says one that lies ahead and at most 32 days away.
 * @param zone IANA name of the zone in which times without a zone are meant; without it UTC
 */
export const resetTime = (text: string, now: Date, zone = 'UTC'): Date | undefined => {
  for (const moment of momentsIn(text)) {
    const ms = resolve(moment, now.getTime(), zone);
    const found = ms === undefined ? undefined : ahead(ms, now.getTime());
    if (found !== undefined) return new Date(found);
  }
  return undefined;
};

/** The first time in the text that means the same whenever it is read: seconds or milliseconds since 1970, ISO 8601. */
export const absoluteTime = (text: string): Date | undefined => {
  for (const moment of momentsIn(text)) if (moment.kind === 'at') return new Date(moment.ms);
  return undefined;
};

/** Whether the text says when it can go on, in whatever form. */
export const saysWhen = (text: string): boolean => {
  for (const _ of momentsIn(text)) return true;
  return false;
};

const ahead = (ms: number, now: number): number | undefined => {
  if (ms <= now) return now - ms <= JUST_PASSED_MS ? now + MINUTE : undefined;
  return ms - now <= LONGEST_MS ? ms : undefined;
};

function* momentsIn(text: string): Generator<Moment> {
  const lower = text.slice(0, MOST_TEXT).toLowerCase();
  let cues = 0;
  for (const cue of lower.matchAll(CUE)) {
    cues += 1;
    if (cues > MOST_CUES) return;
    const from = cue.index + cue[0].length;
    const behind = lower.slice(from, from + MOST_BEHIND);
    const between = matchAt(BETWEEN, behind, 0)?.[0] ?? '';
    const moment = momentAt(behind, between, cue[0] === '|');
    if (moment !== undefined) yield moment;
  }
}

/** The match that begins at `at`, by a regular expression with the flag `y`. */
const matchAt = (expression: RegExp, text: string, at: number): RegExpExecArray | null => {
  expression.lastIndex = at;
  return expression.exec(text);
};

const EPOCH = /(\d{13}|\d{10})(?![\d.])/y;
const ISO = /\d{4}-\d\d-\d\dt\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:z|[+-]\d\d:?\d\d)/y;
const BARE = /(\d{1,9})(?:\.\d+)?(?![\w:/-])/y;

const momentAt = (text: string, between: string, pipe: boolean): Moment | undefined => {
  const at = between.length;
  const epoch = matchAt(EPOCH, text, at)?.[1];
  if (epoch !== undefined) return { kind: 'at', ms: Number(epoch) * (epoch.length === 10 ? 1_000 : 1) };
  if (pipe) return undefined;
  const iso = Date.parse((matchAt(ISO, text, at)?.[0] ?? '').toUpperCase());
  if (!Number.isNaN(iso)) return { kind: 'at', ms: iso };
  const length = durationAt(text, at) ?? bareDurationAt(text, between);
  if (length !== undefined) return { kind: 'in', ms: length };
  const wall = wallAt(text, at);
  return wall === undefined ? undefined : { kind: 'wall', wall };
};

/** `"resets_in_seconds": 13872`, `retry-after: 30`. */
const bareDurationAt = (text: string, between: string): number | undefined => {
  if (!/[:=]|seconds|ms/.test(between)) return undefined;
  const amount = matchAt(BARE, text, between.length)?.[1];
  return amount === undefined ? undefined : Number(amount) * (between.includes('ms') ? 1 : 1_000);
};

const UNITS: Readonly<Record<string, number>> = {
  w: 7 * DAY,
  d: DAY,
  h: 60 * MINUTE,
  m: MINUTE,
  s: 1_000,
  ms: 1,
};
const DURATION =
  /(\d{1,9}(?:\.\d{1,9})?)\s?(ms|milliseconds?|w|weeks?|d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)(?![a-z])(?:,|\s|and )*/y;

/** `2h15m33s`, `5 days 22 hours 11 minutes`, `32.5s`. */
const durationAt = (text: string, from: number): number | undefined => {
  let ms: number | undefined;
  for (let at = from; ;) {
    const part = matchAt(DURATION, text, at);
    if (part === null) return ms;
    const [whole, amount = '', unit = ''] = part;
    ms = (ms ?? 0) + Number(amount) * (UNITS[/^mi?l?l?i?s/.test(unit) ? 'ms' : (unit[0] ?? '')] ?? 0);
    at += whole.length;
  }
};

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MONTH = `(${MONTHS.join('|')})[a-z]{0,6}\\.?`;
const ZONES: Readonly<Record<string, string>> = {
  p: 'America/Los_Angeles',
  m: 'America/Denver',
  c: 'America/Chicago',
  e: 'America/New_York',
};

type Reader = readonly [RegExp, (groups: readonly string[]) => Wall | undefined];

/** The parts that a printed time is made of, in any order; the first that fits is taken. */
const READERS: readonly Reader[] = [
  [/(?:[\s,()\u00B7\u2219]|at |on |of |de |the )+/y, () => ({})],
  [
    new RegExp(`${MONTH}\\s(\\d{1,2})(?:st|nd|rd|th)?(?![\\d:])`, 'y'),
    ([month = '', day]) => ({ month: MONTHS.indexOf(month) + 1, day: Number(day) }),
  ],
  [
    new RegExp(`(\\d{1,2})(?:st|nd|rd|th)?\\s(?:de |of )?${MONTH}`, 'y'),
    ([day, month = '']) => ({ month: MONTHS.indexOf(month) + 1, day: Number(day) }),
  ],
  [
    /(20\d\d)-(\d\d)-(\d\d)(?!\d)/y,
    ([year, month, day]) => ({ year: Number(year), month: Number(month), day: Number(day) }),
  ],
  [/(20\d\d)(?![\d:])/y, ([year]) => ({ year: Number(year) })],
  [
    /(?:(\d{1,2})(?::(\d\d))?(?::\d\d)?\s?([ap])\.?m\.?)(?![a-z])/y,
    ([h, m, half]) => clock(Number(h), m, half),
  ],
  [/([01]?\d|2[0-4]):([0-5]\d)(?::\d\d)?/y, ([h, m]) => clock(Number(h), m)],
  [/midnight/y, () => ({ minutes: 0 })],
  [/noon/y, () => ({ minutes: 720 })],
  [/tomorrow/y, () => ({ tomorrow: true })],
  [/today/y, () => ({})],
  [
    new RegExp(`(${WEEKDAYS.join('|')})[a-z]{0,6}`, 'y'),
    ([day = '']) => ({ weekday: WEEKDAYS.indexOf(day) }),
  ],
  [
    /(?:utc|gmt|z)\s?(?:([+-])(\d{1,2}):?([0-5]\d)?)?(?![a-z0-9])/y,
    ([sign, hours, minutes]) => ({ zone: offsetName(sign, hours, minutes) }),
  ],
  [/([pmce])[sd]?t(?![a-z])/y, ([letter = '']) => ({ zone: ZONES[letter] ?? 'UTC' })],
  [/([a-z_]+\/[a-z_+-]+(?:\/[a-z_+-]+)?)/y, ([name = '']) => ({ zone: name })],
];

const clock = (hours: number, minutes: string | undefined, half?: string): Wall | undefined => {
  if (half !== undefined && (hours < 1 || hours > 12)) return undefined;
  const ofDay = half === undefined ? hours : (hours % 12) + (half === 'p' ? 12 : 0);
  return { minutes: ofDay * 60 + Number(minutes ?? 0) };
};

const offsetName = (
  sign: string | undefined,
  hours: string | undefined,
  minutes: string | undefined,
): string => (sign === undefined ? 'UTC' : `${sign}${Number(hours) * 60 + Number(minutes ?? 0)}`);

const wallAt = (text: string, from: number): Wall | undefined => {
  let wall: Wall = {};
  for (let at = from; at < text.length;) {
    const next = readPart(text, at);
    if (next === undefined) break;
    wall = { ...wall, ...next.part };
    at = next.end;
  }
  const { day, weekday, tomorrow, minutes } = wall;
  return (day ?? weekday ?? tomorrow ?? minutes) === undefined ? undefined : wall;
};

const readPart = (text: string, at: number): { readonly part: Wall; readonly end: number } | undefined => {
  for (const [expression, read] of READERS) {
    const found = matchAt(expression, text, at);
    const part = found === null ? undefined : read(found.slice(1));
    if (found !== null && part !== undefined) return { part, end: at + found[0].length };
  }
  return undefined;
};

const resolve = (moment: Moment, now: number, zone: string): number | undefined => {
  if (moment.kind === 'at') return moment.ms;
  if (moment.kind === 'in') return now + moment.ms;
  const { wall } = moment;
  const own = wall.zone === undefined || !isZone(wall.zone) ? zone : wall.zone;
  return wallTime(wall, now, isZone(own) ? own : 'UTC');
};
