import type { Result } from '../model/result.js';

/** Tries old values in turn: where the branch is at one of them, it is ours to move. The last refusal is the answer. */
export const underOneOf = async <T>(
  expected: readonly (string | undefined)[],
  attempt: (value: string | undefined) => Promise<Result<T>>,
): Promise<Result<T>> => {
  let result = await attempt(expected[0]);
  for (const value of expected.slice(1)) {
    if (result.ok) break;
    result = await attempt(value);
  }
  return result;
};
