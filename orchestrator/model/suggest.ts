/** The last two rows of the table of distances between beginnings of `a` and beginnings of `b`. */
interface Rows {
  readonly before: readonly number[];
  readonly above: readonly number[];
}

const nextRow = (a: string, b: string, row: number, { before, above }: Rows): readonly number[] => {
  const current = [row];
  for (let column = 1; column <= b.length; column += 1) {
    const replaced = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
    const inserted = (current[column - 1] ?? 0) + 1;
    const deleted = (above[column] ?? 0) + 1;
    const isSwap = column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
    const swapped = isSwap ? (before[column - 2] ?? 0) + 1 : replaced;
    current.push(Math.min(replaced, inserted, deleted, swapped));
  }
  return current;
};

/**
 * Number of single-character edits (insert, delete, replace, swap of neighbours) from `a` to `b`; `limit + 1` when
 * there are more than `limit`.
 */
export const editDistance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let rows: Rows = { before: [], above: Array.from({ length: b.length + 1 }, (_, at) => at) };
  for (let row = 1; row <= a.length; row += 1) {
    const current = nextRow(a, b, row, rows);
    // A swap reaches back two rows, so one row above the limit is not yet the end.
    if (Math.min(...current) > limit && Math.min(...rows.above) >= limit) return limit + 1;
    rows = { before: rows.above, above: current };
  }
  return Math.min(rows.above[b.length] ?? limit, limit + 1);
};

/** The candidate that was probably meant, or `undefined` when none is close. */
export type Suggest = (word: string, candidates: Iterable<string>) => string | undefined;

/**
 * @param budget comparisons over the life of the suggester: a file with thousands of unknown names among thousands of
 *   targets must not make the error message the slow part
 */
export const createSuggest = (budget = 200_000): Suggest => {
  let left = budget;
  return (word, candidates) => {
    const limit = Math.max(1, Math.floor(word.length / 3));
    let best: string | undefined;
    let bestDistance = limit + 1;
    for (const candidate of candidates) {
      left -= 1;
      if (left < 0) return best;
      const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), limit);
      if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
    }
    return best;
  };
};
