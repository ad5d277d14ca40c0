import { expect, test } from 'vitest';
import { pauseMs } from '../../orchestrator/effects/back-off.js';

test('pauses double, are spread over half of each, and have an end', () => {
  expect([1, 2, 3, 4].map((passed) => pauseMs(passed, 0))).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(pauseMs(3, 0.999_999)).toBeGreaterThanOrEqual(2_000);
  expect(pauseMs(3, 0.999_999)).toBeLessThan(2_001);
  expect(pauseMs(30, 0)).toBe(60_000);
});
