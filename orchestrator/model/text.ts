/**
 * Text from agents, tickets and files is data. Whatever is quoted into a prompt, a document or a terminal goes through
 * here: controls are removed, and every line gets a prefix, so that a line which starts at column 0 is always ours.
 */

/**
 * ANSI sequences: CSI, OSC (ended by BEL or ST on its line), and the two-character escapes. An OSC without its end hides
 * nothing: a terminal would swallow all that follows, and so would a text that a critic is to read.
 */
const ESCAPES =
  /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B\n]*(?:\u0007|\u001B\\)|[@-Z\\-_])|\u009B[0-?]*[ -/]*[@-~]/g;

/** C0 but tab and newline, C1, line separators, and what Unicode says to draw as nothing: bidi, zero-width, tags, BOM. */
const CONTROLS =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\uFFF9-\uFFFB\p{Default_Ignorable_Code_Point}]/gu;

/** The text with escapes and invisible characters removed; CRLF and CR become newlines. Always well-formed Unicode. */
export const cleanText = (text: string): string =>
  text.toWellFormed().replaceAll(/\r\n?/g, '\n').replaceAll(ESCAPES, '').replaceAll(CONTROLS, '');

/** One line, cleaned and cut to `limit` code points. */
export const oneLine = (text: string, limit = 200): string => {
  const line = cleanText(text).replaceAll(/\s+/g, ' ').trim();
  return cutTo(line, limit);
};

/** Cut to `limit` code points, the last one being `…` when something was cut. */
export const cutTo = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const points = Array.from(text);
  return points.length <= limit ? text : `${points.slice(0, limit - 1).join('')}…`;
};

/** Quoted text: cleaned, every line prefixed with `| `. */
export const quote = (text: string): string =>
  withoutFinalNewlines(cleanText(text))
    .split('\n')
    .map((line) => (line === '' ? '|' : `| ${line}`))
    .join('\n');

/** A loop, because `/\n+$/` is quadratic in a run of newlines that something follows. */
const withoutFinalNewlines = (text: string): string => {
  let end = text.length;
  while (end > 0 && text[end - 1] === '\n') end -= 1;
  return text.slice(0, end);
};

/** Code points of one line of an excerpt. */
const EXCERPT_CHARACTERS = 240;

/** At most `lines` lines of 240 characters; what was left out is said, with where the whole is. */
export const firstLines = (text: string, lines: number, pointer: string): string => {
  const all = withoutFinalNewlines(text).split('\n');
  const shown = all.slice(0, lines).map((line) => cutTo(line, EXCERPT_CHARACTERS));
  const rest = all.length - shown.length;
  if (rest > 0) shown.push(`(${rest} more lines: ${pointer})`);
  else if (shown.some((line, index) => line !== all[index])) shown.push(`(lines were cut: ${pointer})`);
  return shown.join('\n');
};

/**
 * Tokens by the rule of thumb of four bytes a token. No tokenizer is asked: every model has its own, and the number is
 * for budgets, not for bills.
 */
export const estimateTokens = (bytes: number): number => Math.ceil(bytes / 4);
