import { SUMMARY_BYTES, SUMMARY_LINES, SUMMARY_LINE_CHARACTERS } from '../model/limits.js';
import { cleanText, cutTo } from '../model/text.js';

/** Of one line before it is cleaned, so that a line of a megabyte costs no more than any other. */
const LOOKED_AT_CHARACTERS = 16_384;

/**
 * What a parent keeps of a child's text: at most 15 lines of 200 code points and 6,000 bytes of UTF-8 in all (line ends not counted),
 * from the start; controls, escape sequences and invisible characters removed, blank lines dropped. A line that was cut
 * ends in `…`. Cutting twice changes nothing.
 */
export const cutSummary = (text: string | readonly string[]): readonly string[] => {
  const kept: string[] = [];
  let bytesLeft = SUMMARY_BYTES;
  for (const line of plainLines(text)) {
    const short = cutToBytes(cutTo(line, SUMMARY_LINE_CHARACTERS), bytesLeft);
    if (short === '') return kept;
    kept.push(short);
    bytesLeft -= Buffer.byteLength(short);
    if (kept.length === SUMMARY_LINES) return kept;
  }
  return kept;
};

function* plainLines(text: string | readonly string[]): Generator<string> {
  const entries = typeof text === 'string' ? text.split('\n') : text;
  for (const entry of entries) {
    for (const line of cleanText(entry.slice(0, LOOKED_AT_CHARACTERS)).split('\n')) {
      const plain = line.replaceAll('\t', ' ').trimEnd();
      if (plain !== '') yield plain;
    }
  }
}

const ELLIPSIS_BYTES = Buffer.byteLength('…');

/** Cut between code points; `''` when not even a mark fits. */
const cutToBytes = (line: string, limit: number): string => {
  if (Buffer.byteLength(line) <= limit) return line;
  let room = limit - ELLIPSIS_BYTES;
  if (room <= 0) return '';
  let kept = '';
  for (const point of line) {
    room -= Buffer.byteLength(point);
    if (room < 0) break;
    kept += point;
  }
  return `${kept.trimEnd()}…`;
};
