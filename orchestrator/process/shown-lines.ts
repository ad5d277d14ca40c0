/** What is shown of a log: whole lines without anything that acts on a terminal, as many at a time as were read. */
import { StringDecoder } from 'node:string_decoder';
import { isPlain, logLine } from '../model/text.js';
import { finishLine, LINE_CHARACTERS } from './tail.js';

/** Read at a time, less what is left of the read before. Longer than any line that is shown whole. */
const BLOCK_BYTES = 262_144;

const NEWLINE = 10;

/** Text of whole lines, each with its newline. Bytes are plain ASCII, and the same only until more of the log is read. */
export type ShownLines = string | Uint8Array;

export interface LineShower {
  /** Where the next bytes of the log belong; it has room for one at least. */
  readonly room: () => Uint8Array;
  /** `length` bytes were put into the room: the lines that are complete now. To be asked until there are no more. */
  readonly shown: (length: number) => IterableIterator<ShownLines>;
  /** The last line, if no newline ended it. */
  readonly rest: () => string;
  /** Forgets what it holds: the log starts over. */
  readonly clear: () => void;
}

/**
 * Bytes to lines, cleaned by `logLine` and cut to `LINE_CHARACTERS`. Lines that need neither are given out as the bytes they are.
 * Holds one block.
 */
export const showLines = (): LineShower => {
  const block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  // What is held and not given out yet.
  let [start, end] = [0, 0];
  /** The rest of a line that was cut is passed over. */
  let isSkipping = false;

  const skip = (): void => {
    const newline = block.subarray(start, end).indexOf(NEWLINE);
    start = newline < 0 ? end : start + newline + 1;
    isSkipping = newline < 0;
  };

  const next = (): ShownLines | undefined => {
    if (isSkipping) skip();
    const held = block.subarray(start, end);
    const whole = held.subarray(0, held.lastIndexOf(NEWLINE) + 1);
    start += whole.length;
    if (whole.length > 0) return isPlain(whole) && areShort(whole) ? whole : cleanLines(whole);
    // One more may be the CR of CRLF, which is no part of the line.
    const text = held.length > LINE_CHARACTERS ? decoded(held) : '';
    if (text.length <= LINE_CHARACTERS + 1) return undefined;
    [start, isSkipping] = [end, true];
    return cleanLine(text);
  };

  return {
    room: () => {
      if (start > 0) block.copyWithin(0, start, end);
      [start, end] = [0, end - start];
      return block.subarray(end);
    },
    *shown(length) {
      end += length;
      for (let lines = next(); lines !== undefined; lines = next()) yield lines;
    },
    rest: () => {
      const text = decoded(block.subarray(start, end));
      [start, end] = [0, 0];
      return text === '' ? '' : cleanLine(text);
    },
    clear: () => {
      [start, end, isSkipping] = [0, 0, false];
    },
  };
};

/** Without the half of a character that may stand at the end. */
const decoded = (bytes: Buffer): string => new StringDecoder('utf8').write(bytes);

const cleanLine = (line: string): string => `${logLine(finishLine(line))}\n`;

const cleanLines = (whole: Buffer): string => {
  const lines = whole.toString('utf8').split('\n');
  lines.pop();
  return lines.map(cleanLine).join('');
};

/** Is no line of these longer than allowed? Looks only for the last newline of each stretch that one line may have at most. */
const areShort = (whole: Buffer): boolean => {
  for (let from = 0; from < whole.length;) {
    const newline = whole.lastIndexOf(NEWLINE, from + LINE_CHARACTERS);
    if (newline < from) return false;
    from = newline + 1;
  }
  return true;
};
