/** Cuts a stream of bytes into lines without keeping more than one of them. */
import { StringDecoder } from 'node:string_decoder';

export interface LineReader {
  readonly feed: (bytes: Uint8Array) => void;
  /** The last line, when it has no newline. */
  readonly end: () => void;
}

/**
 * @param onLine gets each line without its end (CRLF included); a line of more than `most` characters is left out whole
 * @param most UTF-16 code units
 */
export const readLines = (onLine: (line: string) => void, most: number): LineReader => {
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  let length = 0;
  const add = (text: string): void => {
    length += text.length;
    if (length <= most) parts.push(text);
    else parts = [];
  };
  const flush = (): void => {
    const line = parts.join('');
    const isWhole = length <= most;
    parts = [];
    length = 0;
    if (isWhole) onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
  };
  const take = (text: string): void => {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      add(text.slice(start, end));
      flush();
      start = end + 1;
    }
    if (start < text.length) add(text.slice(start));
  };
  return {
    feed: (bytes) => take(decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))),
    end: () => {
      take(decoder.end());
      if (length > 0) flush();
    },
  };
};
