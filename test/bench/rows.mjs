// A row of the report: a figure, what it may be at most, and whether it is.

const MEBIBYTE = 1024 * 1024;

/**
 * @typedef {object} Row
 * @property {string} id of PERFORMANCE's table (P1 …) or of the first issue's list (I1 …)
 * @property {string} what
 * @property {number} [figure] absent when the row could not be measured
 * @property {string} shown the figure with its unit
 * @property {string} detail what was measured and against what
 * @property {number} [must] the largest figure that passes
 * @property {number} [aim]
 * @property {'ok' | 'aim missed' | 'MISSED' | 'skipped'} verdict
 */

const verdictOf = (figure, must, aim) => {
  if (must !== undefined && figure > must) return 'MISSED';
  return aim !== undefined && figure > aim ? 'aim missed' : 'ok';
};

const row = ({ id, what, figure, shown, detail, must, aim }) => ({
  id,
  what,
  figure,
  shown,
  detail,
  must,
  aim,
  verdict: verdictOf(figure, must, aim),
});

const ms = (value) => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
const mib = (bytes) => `${(bytes / MEBIBYTE).toFixed(1)} MiB`;

/** `[name, milliseconds]` against `[name, milliseconds]`. */
export const timeRatio = ({ got: [name, value], floor: [floorName, floor], ...rest }) =>
  row({
    ...rest,
    figure: value / floor,
    shown: `${(value / floor).toFixed(2)}x`,
    detail: `${name} ${ms(value)}, ${floorName} ${ms(floor)}`,
  });

export const memoryRatio = ({ got: [name, value], floor: [floorName, floor], ...rest }) =>
  row({
    ...rest,
    figure: value / floor,
    shown: `${(value / floor).toFixed(2)}x`,
    detail: `${name} ${mib(value)}, ${floorName} ${mib(floor)}`,
  });

export const time = ({ got: [name, value], ...rest }) =>
  row({ ...rest, figure: value, shown: ms(value), detail: name });

/** `must` and `aim` in MiB. */
export const memory = ({ got: [name, value], ...rest }) =>
  row({ ...rest, figure: value / MEBIBYTE, shown: mib(value), detail: name });

export const count = ({ got: [name, value], ...rest }) =>
  row({ ...rest, figure: value, shown: String(Math.round(value * 1_000) / 1_000), detail: name });

export const skipped = (id, what, why) => ({ id, what, shown: '-', detail: why, verdict: 'skipped' });

const HEADS = ['row', 'what', 'figure', 'must', 'aim', '', 'measured'];

/** The report as a table for people. */
export const toTable = (rows) => {
  const cells = rows.map(({ id, what, shown, must, aim, verdict, detail }) => [
    id,
    what,
    shown,
    limit(must),
    limit(aim),
    verdict,
    detail,
  ]);
  const widths = HEADS.map((head, column) =>
    Math.max(head.length, ...cells.map((line) => line[column].length)),
  );
  const line = (texts) =>
    texts
      .map((text, column) => text.padEnd(widths[column]))
      .join('  ')
      .trimEnd();
  return [line(HEADS), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n');
};

const limit = (value) => (value === undefined ? '' : `<= ${value}`);
