/**
 * Text from agents, tickets and files is data. Whatever is quoted into a prompt, a document or a terminal goes through
 * here: controls are removed, and every line gets a prefix, so that a line which starts at column 0 is always ours.
 */

/** ANSI sequences: CSI, OSC (ended by BEL or ST), and the two-character escapes. */
const ESCAPES = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[@-Z\\-_])|\u009B[0-?]*[ -/]*[@-~]/g;

/** C0 but tab and newline, C1, bidi controls and isolates, zero-width and invisible characters, line separators, BOM. */
const CONTROLS =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]/g;

/** The text with escapes and invisible characters removed; CRLF and CR become newlines. Always well-formed Unicode. */
export const cleanText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(ESCAPES, '')
    .replaceAll(CONTROLS, '');

/** One line, cleaned and cut to `limit` code points. */
export const oneLine = (text: string, limit = 200): string => {
  const line = cleanText(text).replaceAll(/\s+/g, ' ').trim();
  return cutTo(line, limit);
};

/** Cut to `limit` code points, the last one being `…` when something was cut. */
export const cutTo = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const points = [...text];
  return points.length <= limit ? text : `${points.slice(0, limit - 1).join('')}…`;
};

/** Quoted text: cleaned, every line prefixed with `| `. */
export const quote = (text: string): string =>
  cleanText(text)
    .replace(/\n+$/, '')
    .split('\n')
    .map((line) => (line === '' ? '|' : `| ${line}`))
    .join('\n');

/** At most `lines` lines; what was left out is said, with where the whole is. */
export const firstLines = (text: string, lines: number, pointer: string): string => {
  const all = text.replace(/\n+$/, '').split('\n');
  if (all.length <= lines) return all.join('\n');
  return [...all.slice(0, lines), `(${all.length - lines} more lines: ${pointer})`].join('\n');
};

/**
 * Tokens by the rule of thumb of four bytes a token. No tokenizer is asked: every model has its own, and the number is
 * for budgets, not for bills.
 */
export const estimateTokens = (bytes: number): number => Math.ceil(bytes / 4);
