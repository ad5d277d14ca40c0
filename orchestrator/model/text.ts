/**
 * Text from agents, tickets, files and people is data. Whatever of it reaches a prompt, a document, a terminal or JSON goes
 * through here.
 *
 * T1  A line that starts at column 0 is ours. Foreign text is either one line behind words of ours, or every line of it
 *     has a prefix. There is no mark that ends a quotation, so nothing in it can be that mark.
 * T2  What acts on a terminal, hides, or changes the order of what is read is nowhere: removed from prose (`cleanText`),
 *     written as an escape where the bytes count (`visible`, `jsonText`).
 */

/**
 * ANSI sequences: CSI, OSC (ended by BEL or ST on its line), and the two-character escapes. An OSC without its end hides
 * nothing: a terminal would swallow all that follows, and so would a text that a critic is to read.
 */
const ESCAPES =
  /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B\n]*(?:\u0007|\u001B\\)|[@-Z\\-_])|\u009B[0-?]*[ -/]*[@-~]/g;

/**
 * C0 but tab and newline, C1, line separators, what Unicode says to draw as nothing (bidi, zero-width, tags, BOM), and the
 * code points that are no characters, which XML refuses.
 */
const HIDDEN =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\uFFF9-\uFFFB\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu;

/** Almost every text: nothing to look for in it. */
const PLAIN = /^[\t\n\u0020-\u007E]*$/;

/** The same for each byte of UTF-8: 1 where it is one of those. */
const PLAIN_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === 9 || byte === 10 || (byte >= 0x20 && byte <= 0x7e) ? 1 : 0,
);

/** Nothing in these bytes is for the functions below to change: printable ASCII, tabs and newlines. Made for gigabytes. */
export const isPlain = (bytes: Uint8Array): boolean => {
  const { buffer, byteOffset, length } = bytes;
  if (length < 8) return arePlain(bytes);
  const head = -byteOffset & 3;
  const words = (length - head) >> 2;
  return (
    arePlain(bytes.subarray(0, head)) &&
    areWordsPlain(new Int32Array(buffer, byteOffset + head, words)) &&
    arePlain(bytes.subarray(head + 4 * words))
  );
};

const arePlain = (bytes: Uint8Array): boolean => bytes.every((byte) => PLAIN_BYTES[byte] === 1);

/**
 * Four bytes at a time. What is no printable ASCII has the highest bit when 0x20 is taken from it or 1 is added. Where no byte has
 * it, nothing was carried into the next one, so none is overlooked. The table is for words with a tab or a newline.
 */
const areWordsPlain = (words: Int32Array): boolean => {
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? 0;
    const odd = ((word - 0x20202020) | (word + 0x01010101)) & 0x80808080;
    if (odd !== 0 && !isWordPlain(word)) return false;
  }
  return true;
};

const isWordPlain = (word: number): boolean =>
  PLAIN_BYTES[word & 0xff] === 1 &&
  PLAIN_BYTES[(word >> 8) & 0xff] === 1 &&
  PLAIN_BYTES[(word >> 16) & 0xff] === 1 &&
  PLAIN_BYTES[word >>> 24] === 1;

/** The text with escapes and invisible characters removed; CRLF and CR become newlines. Always well-formed Unicode. */
export const cleanText = (text: string): string =>
  PLAIN.test(text)
    ? text
    : text.toWellFormed().replaceAll(/\r\n?/g, '\n').replaceAll(ESCAPES, '').replaceAll(HIDDEN, '');

/** One line, cleaned and cut to `limit` code points. */
export const oneLine = (text: string, limit = 200): string => {
  const line = cleanText(text).replaceAll(/\s+/g, ' ').trim();
  return cutTo(line, limit);
};

/** One line of a log: cleaned; where it wanted to write over itself (a progress bar, or a lie) stands `␍`. */
export const logLine = (line: string): string => cleanText(line).replaceAll('\n', '␍');

/** Cut to `limit` code points, the last one being `…` when something was cut. */
export const cutTo = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const points = Array.from(text);
  return points.length <= limit ? text : `${points.slice(0, limit - 1).join('')}…`;
};

/** Quoted text: cleaned, every line prefixed with `| `. */
export const quote = (text: string): string => prefixed(cleanText(text));

const prefixed = (text: string): string =>
  withoutFinalNewlines(text)
    .split('\n')
    .map((line) => (line === '' ? '|' : `| ${line}`))
    .join('\n');

/** A loop, because `/\n+$/` is quadratic in a run of newlines that something follows. */
const withoutFinalNewlines = (text: string): string => {
  let end = text.length;
  while (end > 0 && text[end - 1] === '\n') end -= 1;
  return text.slice(0, end);
};

/** How an emoji is drawn, and what joins two of them into one: part of the character before, and hiding nothing. */
const EMOJI_PARTS =
  /(?<=\p{Emoji})[\uFE0E\uFE0F]|(?<=\p{Extended_Pictographic}\uFE0F?)\u200D(?=\p{Extended_Pictographic})/gu;

const NAMED: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' };

const escapeOf = (character: string): string =>
  NAMED[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;

/** Nothing is lost: what would act or hide is written as `\u{202E}`. CRLF becomes a newline. For names, and where bytes count. */
export const visible = (text: string): string =>
  PLAIN.test(text)
    ? text
    : text.toWellFormed().replaceAll('\r\n', '\n').replaceAll(EMOJI_PARTS, '').replaceAll(HIDDEN, escapeOf);

/** Is there something in it that `visible` writes as an escape? */
export const isHiding = (text: string): boolean =>
  text.replaceAll('\r\n', '\n').replaceAll(EMOJI_PARTS, '').search(HIDDEN) !== -1;

/** The same on one line: a newline is `\n`. Blanks stay as they are, so that a path is still that path. */
export const visibleLine = (text: string): string => visible(text).replaceAll(/[\t\n]/g, escapeOf);

/** JSON whose text has no character that acts or hides: they are `\uXXXX`, and the parsed value is the same. */
export const jsonText = (value: unknown, indent?: number): string => {
  const text = JSON.stringify(value, undefined, indent) ?? 'null';
  return PLAIN.test(text) ? text : text.replaceAll(HIDDEN, unitEscapes);
};

/** JSON knows UTF-16 units only. */
const unitEscapes = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');

/** The colours that we use ourselves. */
const COLOUR = /(\u001B\[(?:[012]|3[1-6])m)/;

/** The last look at what goes to a terminal or a pipe: of all that acts only our colours pass, where there are any. */
export const terminalText = (text: string, hasColour: boolean): string => {
  if (!hasColour || !text.includes('\u001B')) return visible(text);
  return text
    .split(COLOUR)
    .map((part, at) => (at % 2 === 1 ? part : visible(part)))
    .join('');
};

/** Narrower, a line of text has no room. */
const LEAST_COLUMNS = 20;

/**
 * Quoted for a person who answers for exactly these bytes: nothing is removed, and a line that a terminal of `columns` would
 * break goes on behind `|> `, because the rest of it would stand at column 0 otherwise.
 */
export const quoteExactly = (text: string, columns?: number): string => {
  const lines = prefixed(visible(text)).split('\n');
  if (columns === undefined) return lines.join('\n');
  const width = Math.max(columns, LEAST_COLUMNS) - 1;
  return lines.flatMap((line) => brokenAt(line, width)).join('\n');
};

const brokenAt = (line: string, width: number): string[] => {
  const lines: string[] = [];
  let [text, used] = ['', 0];
  for (const point of line) {
    const needed = columnsOf(point);
    if (used + needed > width) {
      lines.push(text);
      [text, used] = ['|> ', 3];
    }
    text += point;
    used += needed;
  }
  return [...lines, text];
};

/** At the most: a tab goes to the next stop, and what is not Latin may be wide. */
const columnsOf = (point: string): number => {
  if (point === '\t') return 8;
  return point < '\u0300' ? 1 : 2;
};

/** Code points of one line of an excerpt. */
const EXCERPT_CHARACTERS = 240;

/** At most `lines` lines of 240 characters, cleaned; what was left out is said, with where the whole is. */
export const firstLines = (text: string, lines: number, pointer: string): string => {
  const all = withoutFinalNewlines(cleanText(text)).split('\n');
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
