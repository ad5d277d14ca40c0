/** A command of a shell text: its words with quotes removed. Redirections are left out. */
export type Words = readonly string[];

interface Scan {
  readonly text: string;
  at: number;
  readonly commands: Words[];
  words: string[];
  /** The word being read; `undefined` between words, '' for a quoted empty word. */
  word: string | undefined;
  /** The next word is the target of a redirection. */
  redirect: boolean;
  readonly hereDocuments: { readonly end: string; readonly indented: boolean }[];
}

/** Substitutions inside substitutions, deeper than any person writes. */
const MAX_DEPTH = 20;

/** Stands for what a substitution will print, so that the word is neither empty nor a known command. */
const UNKNOWN = '\u0000';

const addText = (scan: Scan, text: string): void => {
  scan.word = (scan.word ?? '') + text;
};

const endWord = (scan: Scan): void => {
  const { word } = scan;
  scan.word = undefined;
  if (word === undefined) return;
  if (scan.redirect) scan.redirect = false;
  else scan.words.push(word);
};

const endCommand = (scan: Scan): void => {
  endWord(scan);
  scan.redirect = false;
  if (scan.words.length > 0) scan.commands.push(scan.words);
  scan.words = [];
};

/** Position of the `)` that closes what is open at `from`; quotes and escapes are respected. */
const closing = (text: string, from: number): number => {
  let depth = 1;
  let quote = '';
  for (let at = from; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (char === '\\' && quote !== "'") at += 1;
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === "'" || char === '"') quote = char;
    else if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
};

/** `$(…)`, `$((…))`, backquotes: their commands are commands too. */
const substitution = (scan: Scan, depth: number): boolean => {
  const { text, at } = scan;
  if (text.startsWith('$((', at)) {
    const end = closing(text, at + 3);
    scan.at = text[end + 1] === ')' ? end + 2 : end + 1;
  } else if (text.startsWith('$(', at)) {
    const end = closing(text, at + 2);
    scan.commands.push(...commandsIn(text.slice(at + 2, end), depth + 1));
    scan.at = end + 1;
  } else if (text[at] === '`') {
    const end = text.indexOf('`', at + 1);
    const stop = end < 0 ? text.length : end;
    scan.commands.push(...commandsIn(text.slice(at + 1, stop), depth + 1));
    scan.at = stop + 1;
  } else return false;
  addText(scan, UNKNOWN);
  return true;
};

const doubleQuoted = (scan: Scan, depth: number): void => {
  addText(scan, '');
  scan.at += 1;
  while (scan.at < scan.text.length) {
    const char = scan.text[scan.at] ?? '';
    if (char === '"') {
      scan.at += 1;
      return;
    }
    if (substitution(scan, depth)) continue;
    const escapes = char === '\\' && /[$`"\\\n]/.test(scan.text[scan.at + 1] ?? '');
    addText(scan, escapes ? (scan.text[scan.at + 1] ?? '') : char);
    scan.at += escapes ? 2 : 1;
  }
};

const singleQuoted = (scan: Scan): void => {
  const end = scan.text.indexOf("'", scan.at + 1);
  const stop = end < 0 ? scan.text.length : end;
  addText(scan, scan.text.slice(scan.at + 1, stop));
  scan.at = stop + 1;
};

const escaped = (scan: Scan): void => {
  const next = scan.text[scan.at + 1] ?? '';
  if (next !== '\n') addText(scan, next);
  scan.at += 2;
};

const comment = (scan: Scan): void => {
  const end = scan.text.indexOf('\n', scan.at);
  scan.at = end < 0 ? scan.text.length : end;
};

/** The lines after a command with `<<` are its input, not commands. */
const skipHereDocuments = (scan: Scan): void => {
  for (const { end, indented } of scan.hereDocuments.splice(0)) {
    while (scan.at < scan.text.length) {
      const stop = scan.text.indexOf('\n', scan.at);
      const line = scan.text.slice(scan.at, stop < 0 ? scan.text.length : stop);
      scan.at = stop < 0 ? scan.text.length : stop + 1;
      if ((indented ? line.replace(/^\t+/, '') : line) === end) break;
    }
  }
};

const redirection = (scan: Scan): void => {
  // The digits in front of `>` are a descriptor, not an argument.
  if (scan.word !== undefined && /^[0-9]+$/.test(scan.word)) scan.word = undefined;
  endWord(scan);
  const operator = /^(<<<|<<-|<<|<&|<>|<|>>|>&|>\||>)/.exec(scan.text.slice(scan.at, scan.at + 3))?.[0] ?? '';
  scan.at += operator.length;
  if (operator === '<<' || operator === '<<-') {
    const found = /^[ \t]*\\?(["']?)([^\s"'|&;()<>]+)\1/.exec(scan.text.slice(scan.at, scan.at + 200));
    if (found === null) return;
    scan.at += found[0].length;
    scan.hereDocuments.push({ end: found[2] ?? '', indented: operator === '<<-' });
  } else if (scan.text[scan.at] !== '(') {
    scan.redirect = true;
  }
};

const separator = (scan: Scan): void => {
  const char = scan.text[scan.at];
  if (char === '&' && scan.text[scan.at + 1] === '>') {
    scan.at += 1;
    redirection(scan);
    return;
  }
  endCommand(scan);
  scan.at += 1;
  if (char === '\n') skipHereDocuments(scan);
};

const space = (scan: Scan): void => {
  endWord(scan);
  scan.at += 1;
};

const HANDLERS: Readonly<Record<string, (scan: Scan, depth: number) => void>> = {
  ' ': space,
  '\t': space,
  '\n': separator,
  ';': separator,
  '&': separator,
  '|': separator,
  '(': separator,
  ')': separator,
  '<': redirection,
  '>': redirection,
  '\\': escaped,
  "'": singleQuoted,
  '"': doubleQuoted,
};

/**
 * The commands of a POSIX shell text: lists, pipelines, subshells, loops, here-documents and substitutions. Keywords
 * stay as first words. Nothing is expanded; a text that the shell would refuse gives what can be read of it.
 */
export const commandsIn = (text: string, depth = 0): readonly Words[] => {
  if (depth > MAX_DEPTH) return [];
  const scan: Scan = {
    text,
    at: 0,
    commands: [],
    words: [],
    word: undefined,
    redirect: false,
    hereDocuments: [],
  };
  while (scan.at < text.length) {
    const char = text[scan.at] ?? '';
    const handler = HANDLERS[char];
    if (handler !== undefined) handler(scan, depth);
    else if (char === '#' && scan.word === undefined) comment(scan);
    else if (!substitution(scan, depth)) {
      addText(scan, char);
      scan.at += 1;
    }
  }
  endCommand(scan);
  return scan.commands;
};
