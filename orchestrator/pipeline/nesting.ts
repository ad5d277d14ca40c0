import { Lexer } from 'yaml';

/** A pipeline needs six levels. */
const MAX_DEPTH = 100;

const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);

/** Levels by indentation, and by `- - -` in one line. */
const blockDepth = (text: string): number => {
  const indents: number[] = [];
  let deepest = 0;
  for (const [, spaces = '', markers = ''] of text.matchAll(/^( *)((?:[-?][ \t]+)*)\S/gm)) {
    while (indents.length > 0 && (indents.at(-1) ?? 0) >= spaces.length) indents.pop();
    indents.push(spaces.length);
    deepest = Math.max(deepest, indents.length + markers.replaceAll(/[ \t]/g, '').length);
  }
  return deepest;
};

/** Levels of brackets, taking every bracket for one: also those in texts and comments. */
const bracketDepth = (text: string): number => {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (OPEN.has(code)) depth += 1;
    else if (CLOSE.has(code) && depth > 0) depth -= 1;
    if (depth > deepest) deepest = depth;
  }
  return deepest;
};

/** Levels of brackets as YAML sees them; the lexer does not recurse, but it takes a fifth of the time of the parser. */
const flowDepth = (text: string): number => {
  let depth = 0;
  let deepest = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') depth += 1;
    else if (token === ']' || token === '}') depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
};

/**
 * Whether a text is nested so deeply that the parser, which recurses, could end the process: near the end of the stack
 * V8 aborts while it compiles a regular expression, and nobody can catch that.
 */
export const isTooDeep = (text: string): boolean =>
  blockDepth(text) > MAX_DEPTH || (bracketDepth(text) > MAX_DEPTH && flowDepth(text) > MAX_DEPTH);
