import { expect, test } from 'vitest';
import { lookAgain, quietFrom } from '../../orchestrator/process/deadlines.js';

const at = (monotonic: number, wall: number) => ({ monotonic, wall });

/** Started at monotonic 1,000 and wall 1,000,000; nothing written yet. */
const START = quietFrom({ bytes: 0, mtimeMs: 1_000_000 }, at(1_000, 1_000_000), 0);

test.each([
  ['nothing written', { bytes: 0, mtimeMs: 1_000_000 }, at(6_000, 1_005_000), 1_000],
  ['written two seconds ago', { bytes: 9, mtimeMs: 1_003_000 }, at(6_000, 1_005_000), 4_000],
  [
    'the clock was set back an hour: it counts as written now',
    { bytes: 9, mtimeMs: 1_003_000 },
    at(6_000, -2_595_000),
    6_000,
  ],
  [
    'the clock was set forward an hour: it counts as written now',
    { bytes: 9, mtimeMs: 1_003_000 },
    at(6_000, 4_605_000),
    6_000,
  ],
  ['a stamp from the future counts as now', { bytes: 9, mtimeMs: 9_999_999 }, at(6_000, 1_005_000), 6_000],
  [
    'a stamp from before the last look counts as just after it',
    { bytes: 9, mtimeMs: 5 },
    at(6_000, 1_005_000),
    1_000,
  ],
  ['nothing written and the clock set back', { bytes: 0, mtimeMs: 1_000_000 }, at(6_000, -2_595_000), 1_000],
  ['only the stamp changed', { bytes: 0, mtimeMs: 1_004_000 }, at(6_000, 1_005_000), 1_000],
])('%s', (_name, sample, now, since) => {
  expect(lookAgain(START, sample, now)).toMatchObject({ since, bytes: sample.bytes, lookedAt: now });
});

test('a child that is taken over was silent since its last output, at most since its start', () => {
  expect(quietFrom({ bytes: 5, mtimeMs: 1_000_000 }, at(50, 1_009_000), 20_000).since).toBe(50 - 9_000);
  expect(quietFrom({ bytes: 5, mtimeMs: 0 }, at(50, 1_009_000), 20_000).since).toBe(50 - 20_000);
  expect(quietFrom({ bytes: 5, mtimeMs: 2_000_000 }, at(50, 1_009_000), 20_000).since).toBe(50);
});
