import { describe, expect, test } from 'vitest';
import { absoluteTime, resetTime, saysWhen } from '../../workers/reset-time.js';

/** A Monday. */
const NOW = new Date('2026-11-30T16:20:00Z');
const at = (text: string, zone?: string, now = NOW): string | undefined =>
  resetTime(text, now, zone)?.toISOString();

describe('when a limit resets', () => {
  test.each([
    // Claude Code; the second has passed a moment ago, so it is any moment now
    ["You've hit your limit · resets 3pm", 'Europe/Berlin', '2026-12-01T14:00:00.000Z'],
    ["You've hit your session limit · resets 5:15pm (Europe/Paris)", 'UTC', '2026-11-30T16:21:00.000Z'],
    [
      "You've hit your session limit · resets 10:20pm (America/Los_Angeles)",
      'UTC',
      '2026-12-01T06:20:00.000Z',
    ],
    ["You've hit your limit · resets Dec 4, 3:50am (UTC)", 'Asia/Tokyo', '2026-12-04T03:50:00.000Z'],
    ["You've hit your limit · resets Dec 23 at 4pm (America/Recife)", 'UTC', '2026-12-23T19:00:00.000Z'],
    ['Opus weekly limit reached ∙ resets Dec 24', 'UTC', '2026-12-24T00:00:00.000Z'],
    ['Opus weekly limit reached ∙ resets Dec 31, 9am', 'Europe/Berlin', '2026-12-31T08:00:00.000Z'],
    ['Weekly limit reached ∙ resets Thursday 9am', 'UTC', '2026-12-03T09:00:00.000Z'],
    ['limit reached, resets Mon 5pm', 'UTC', '2026-11-30T17:00:00.000Z'],
    ['limit reached, resets Mon 9am', 'UTC', '2026-12-07T09:00:00.000Z'],
    ['Claude AI usage limit reached|1796063400', 'UTC', '2026-11-30T18:30:00.000Z'],
    ['five_hour limit, resets_at 1796063400', 'UTC', '2026-11-30T18:30:00.000Z'],
    // Codex
    ['or try again in 5 days 22 hours 11 minutes.', 'UTC', '2026-12-06T14:31:00.000Z'],
    ['or try again at 6:30 PM.', 'America/New_York', '2026-11-30T23:30:00.000Z'],
    ['or try again at Dec 4th, 2026 3:50 AM.', 'UTC', '2026-12-04T03:50:00.000Z'],
    ['or try again at 10 de dez. de 2026, 11:52', 'UTC', undefined],
    ['or try again at 10 de dec. de 2026, 11:52', 'UTC', '2026-12-10T11:52:00.000Z'],
    [
      '{"plan_type":"plus","resets_at":1796063400,"resets_in_seconds":13872}',
      'UTC',
      '2026-11-30T18:30:00.000Z',
    ],
    ['{"plan_type":"plus","resets_in_seconds":13872}', 'UTC', '2026-11-30T20:11:12.000Z'],
    ['5h limit: 100% used (resets 03:31 on 5 Dec)', 'UTC', '2026-12-05T03:31:00.000Z'],
    // Gemini
    ['Your quota will reset after 2h15m33s.', 'UTC', '2026-11-30T18:35:33.000Z'],
    ['Usage limit reached for gemini-3. Access resets at 10:57 PM GMT-3.', 'UTC', '2026-12-01T01:57:00.000Z'],
    ['Please retry in 32.5s.', 'UTC', '2026-11-30T16:20:32.500Z'],
    ['"retryDelay": "57s"', 'UTC', '2026-11-30T16:20:57.000Z'],
    // Copilot
    [
      'Please wait for your limit to reset on December 20, 2026 at 2:00 AM or switch',
      'UTC',
      '2026-12-20T02:00:00.000Z',
    ],
    ['Please try again in 58 hours.', 'UTC', '2026-12-03T02:20:00.000Z'],
    ['Please wait 2 minutes before trying again', 'UTC', '2026-11-30T16:22:00.000Z'],
    // Others
    ['resets at 15:00 UTC', 'Asia/Tokyo', '2026-12-01T15:00:00.000Z'],
    ['resets 2026-12-01T09:30:00Z', 'Asia/Tokyo', '2026-12-01T09:30:00.000Z'],
    ['resets at 2026-12-01T09:30:00+02:00', 'Asia/Tokyo', '2026-12-01T07:30:00.000Z'],
    ['resets at 2026-12-01 09:30', 'Asia/Tokyo', '2026-12-01T00:30:00.000Z'],
    ['resetsAt: 1796063400000', 'UTC', '2026-11-30T18:30:00.000Z'],
    ['retry-after: 3600', 'UTC', '2026-11-30T17:20:00.000Z'],
    ['retry_after_ms=1500', 'UTC', '2026-11-30T16:20:01.500Z'],
    ['resets tomorrow at 7am', 'UTC', '2026-12-01T07:00:00.000Z'],
    ['resets at midnight', 'Europe/Berlin', '2026-11-30T23:00:00.000Z'],
    ['available again at noon PT', 'UTC', '2026-11-30T20:00:00.000Z'],
    ['resets in 3h 20m', 'UTC', '2026-11-30T19:40:00.000Z'],
    ['resets 12am', 'UTC', '2026-12-01T00:00:00.000Z'],
    ['RESETS AT 12:30 PM', 'UTC', '2026-12-01T12:30:00.000Z'],
  ])('%s', (text, zone, expected) => {
    expect(at(text, zone)).toBe(expected);
  });

  test.each([
    ['nothing at all'],
    ['resets'],
    ['wait for limits to reset (every 5h and every week.)'],
    ['resets soon'],
    ['resets Feb 30 at 5am'],
    ['resets 13pm'],
    ['resets at 25:00'],
    ['Claude AI usage limit reached|1796000000'],
    ['resets_at 1999999999'],
    ['try again in 90 days'],
    ['resets Mar 3, 9am'],
    ['resets 2026-11-01T00:00:00Z'],
    ['at 3pm the tests ran'],
    ['retry 3 of 5'],
  ])('%s: is not known', (text) => {
    expect(at(text, 'UTC')).toBeUndefined();
  });

  test('a zone that nobody knows counts as the given one, an unknown given one as UTC', () => {
    expect(at('resets 7pm (Nowhere/Land)', 'Asia/Tokyo')).toBe('2026-12-01T10:00:00.000Z');
    expect(at('resets 7pm', 'Nowhere/Land')).toBe('2026-11-30T19:00:00.000Z');
    expect(at('resets 7pm')).toBe('2026-11-30T19:00:00.000Z');
  });

  test('the year turns', () => {
    const eve = new Date('2026-12-31T20:00:00Z');
    expect(at('resets Jan 2, 9am', 'UTC', eve)).toBe('2027-01-02T09:00:00.000Z');
    expect(at('resets 3am', 'UTC', eve)).toBe('2027-01-01T03:00:00.000Z');
    expect(at('resets Jan 2', 'UTC', new Date('2027-01-02T05:00:00Z'))).toBe('2027-01-03T00:00:00.000Z');
  });

  test('follows daylight saving', () => {
    const before = new Date('2026-10-24T22:00:00Z'); // Berlin is at +2 until 25 October, 3:00
    expect(at('resets 9am (Europe/Berlin)', 'UTC', before)).toBe('2026-10-25T08:00:00.000Z');
    const spring = new Date('2026-03-28T22:00:00Z'); // 2:30 is skipped on the 29th
    expect(at('resets 2:30am (Europe/Berlin)', 'UTC', spring)).toBe('2026-03-29T01:30:00.000Z');
    expect(at('resets 9am (Europe/Berlin)', 'UTC', spring)).toBe('2026-03-29T07:00:00.000Z');
    const march = new Date('2026-03-07T20:00:00Z'); // New York changes on the 8th
    expect(at('resets Mar 9, 9am (America/New_York)', 'UTC', march)).toBe('2026-03-09T13:00:00.000Z');
  });

  test('without a clock only absolute times are known', () => {
    expect(absoluteTime('limit reached|1796063400')?.toISOString()).toBe('2026-11-30T18:30:00.000Z');
    expect(absoluteTime('resets 3pm')).toBeUndefined();
    expect(saysWhen('resets 3pm')).toBe(true);
    expect(saysWhen('try again later')).toBe(false);
  });

  test('takes any text in little time', () => {
    const unit = ['resets ', 'try again in 1', ' 5 days', '(((', '· · ·', 'reset at at at ', 'a/', '9', ':'];
    const started = performance.now();
    for (const part of unit) {
      const text = part.repeat(200_000 / part.length);
      expect(() => resetTime(text, NOW)).not.toThrow();
      expect(() => resetTime(`resets ${text}`, NOW)).not.toThrow();
    }
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
