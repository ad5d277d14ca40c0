import { basename } from 'node:path';

import { commandsIn, type Words } from './shell-words.js';

/** Options of wrappers whose value is the next word. */
interface Wrapper {
  readonly values: RegExp;
  /** Words between the options and the command that is wrapped. */
  readonly operands: number;
}

const PLAIN: Wrapper = { values: /^$/, operands: 0 };

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  nohup: PLAIN,
  exec: { values: /^-a$/, operands: 0 },
  command: PLAIN,
  builtin: PLAIN,
  busybox: PLAIN,
  setsid: PLAIN,
  stdbuf: { values: /^-[ioe]$/, operands: 0 },
  nice: { values: /^(-n|--adjustment)$/, operands: 0 },
  ionice: { values: /^-[cn]$/, operands: 0 },
  env: { values: /^-[uCS]$/, operands: 0 },
  sudo: { values: /^-[ugpCDhrt]$/, operands: 0 },
  doas: { values: /^-[uC]$/, operands: 0 },
  time: { values: /^-[fo]$/, operands: 0 },
  timeout: { values: /^-[sk]$/, operands: 1 },
  xargs: { values: /^-[IiLlnPdEas]$/, operands: 0 },
  flock: { values: /^-[wE]$/, operands: 1 },
};

const KEYWORDS = new Set(['if', 'then', 'elif', 'else', 'while', 'until', 'do', '!', '{', 'case', 'coproc']);
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash']);
const SLEEPS = new Set(['sleep', 'usleep', 'gsleep', 'nanosleep']);
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*\+?=/;

/** Wrappers in wrappers, deeper than any person writes. */
const MAX_DEPTH = 20;

const unwrap = (words: Words, { values, operands }: Wrapper): Words => {
  let at = 1;
  while (words[at]?.startsWith('-') === true) {
    if (words[at] === '--') {
      at += 1;
      break;
    }
    at += values.test(words[at] ?? '') ? 2 : 1;
  }
  return words.slice(at + operands);
};

/** The script of `sh -c SCRIPT`, also for `-ec` and `-o pipefail -c`. */
const scriptOf = (words: Words): string | undefined => {
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (!/^[-+]/.test(word)) return undefined;
    if (/^-[A-Za-z]*c/.test(word) && !word.startsWith('--')) return words[at + 1];
    if (/^[-+][A-Za-z]*[oO]$/.test(word)) at += 1;
  }
  return undefined;
};

/** Value of a short option, joined (`-c5`, `-rt5`) or as the next word. */
const optionValue = (words: Words, letter: string): string | undefined => {
  for (const [at, word] of words.entries()) {
    if (at === 0 || !/^-[A-Za-z]/.test(word)) continue;
    const position = word.indexOf(letter);
    if (position > 0) return position === word.length - 1 ? (words[at + 1] ?? '') : word.slice(position + 1);
  }
  return undefined;
};

/** `ping -c 1` returns with the answer; more than one waits a second between them. */
const pingWaits = (words: Words): boolean => {
  const count = optionValue(words, 'c');
  return (count !== undefined && count !== '1') || optionValue(words, 'w') !== undefined;
};

const show = (words: Words): string => {
  const text = words
    .join(' ')
    .replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim();
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
};

const inScript = (script: string, depth: number): string | undefined => {
  for (const words of commandsIn(script)) {
    const found = inCommand(words, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
};

const isWait = (program: string, words: Words): boolean =>
  SLEEPS.has(program) ||
  (program === 'read' && optionValue(words, 't') !== undefined) ||
  (/^ping6?$/.test(program) && pingWaits(words));

const inCommand = (words: Words, depth: number): string | undefined => {
  const [first, ...rest] = words;
  if (first === undefined || depth > MAX_DEPTH) return undefined;
  if (ASSIGNMENT.test(first) || KEYWORDS.has(first)) return inCommand(rest, depth + 1);
  const program = basename(first);
  if (isWait(program, words)) return show(words);
  if (program === 'eval') return inScript(rest.join(' '), depth);
  if (SHELLS.has(program)) return inScript(scriptOf(words) ?? '', depth);
  const wrapper = Object.hasOwn(WRAPPERS, program) ? WRAPPERS[program] : undefined;
  return wrapper === undefined ? undefined : inCommand(unwrap(words, wrapper), depth + 1);
};

/**
 * The command in `argv` that only lets time pass, or `undefined`. Words are parsed as the shell would: `echo sleep 5`
 * does not sleep, `timeout 9 sh -c "x && /bin/sleep 5"` does. Source: REQUIREMENTS D3.
 */
export const sleepIn = (argv: readonly string[]): string | undefined => inCommand(argv, 0);
