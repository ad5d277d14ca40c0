import { cleanText } from '../model/text.js';
import { usesColour, type Io } from './io.js';

export interface Painter {
  readonly byPhase: (phase: string, text: string) => string;
  readonly byState: (state: string) => string;
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
}

const CODES: Readonly<Record<string, string>> = {
  done: '32',
  gated: '32',
  running: '36',
  gating: '36',
  waiting: '33',
  paused: '33',
  stopped: '33',
  failed: '31',
  refused: '31',
  abandoned: '2',
  pending: '2',
};

/** Colour on a terminal, never with NO_COLOR or in a pipe. */
export const painter = (io: Io, stream: 'stdout' | 'stderr'): Painter => {
  const on = usesColour(io, stream);
  const paint = (code: string | undefined, text: string): string =>
    on && code !== undefined ? `\u001B[${code}m${text}\u001B[0m` : text;
  return {
    byPhase: (phase, text) => paint(CODES[phase], text),
    byState: (state) => paint(CODES[state], state),
    bold: (text) => paint('1', text),
    dim: (text) => paint('2', text),
  };
};

/** What takes as many columns as it has characters: almost every cell of ten thousand. */
const PLAIN = /^[\u0020-\u007E]*$/;

/** Columns needed for a text on a terminal: sequences take none. */
const width = (text: string): number => (PLAIN.test(text) ? text.length : Array.from(cleanText(text)).length);

/** A row is a line, whatever a cell says. */
const flat = (cell: string): string => (PLAIN.test(cell) ? cell : cell.replaceAll(/\s+/g, ' '));

/** Columns as wide as their widest cell, two spaces apart, nothing at the end of a line. */
export const table = (cells: readonly (readonly string[])[]): string => {
  const rows = cells.map((row) => row.map(flat));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, width(cell));
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)))
        .filter((_, column) => (widths[column] ?? 0) > 0)
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};
