import { renameSync, writeFileSync } from 'node:fs';

/** What this process returns to its parent: the return contract of `references/00_kernel.md`. */
export interface Returned {
  readonly status: 'done' | 'no-change' | 'blocked';
  readonly summary: readonly string[];
  readonly verdict?: ReturnedVerdict;
}

export interface ReturnedVerdict {
  readonly verdict: 'APPROVED' | 'REJECTED';
  readonly nonce: string;
  readonly blockers: readonly { readonly title: string; readonly path?: string; readonly detail: string }[];
  readonly pillars: Readonly<Record<string, string>>;
  readonly dismissed: readonly string[];
  readonly deadEnds: readonly string[];
  readonly pages: readonly string[];
}

const SUMMARY_LINES = 15;
const LINE_CHARACTERS = 200;

const shortLine = (line: string): string => {
  const characters = Array.from(line.replaceAll(/\s+/g, ' '));
  return characters.length <= LINE_CHARACTERS
    ? characters.join('')
    : `${characters.slice(0, LINE_CHARACTERS - 1).join('')}…`;
};

/** The return file as text: summary cut to its limits, usage unknown because no model was asked. */
export const returnText = ({ status, summary, verdict }: Returned): string => {
  const value = {
    status,
    summary: summary.slice(0, SUMMARY_LINES).map(shortLine),
    usage: { inputTokens: null, outputTokens: null, costUsd: null },
    ...(verdict === undefined ? {} : { verdict }),
  };
  return `${JSON.stringify(value, undefined, 2)}\n`;
};

/** JSON on one line; what is no JSON stays as it is. */
const onOneLine = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
};

/** In one piece: a parent that looks early sees no file rather than half of one. `-` is the last line of standard output. */
export const writeReturn = (path: string, text: string): void => {
  if (path === '-') {
    process.stdout.write(`${onOneLine(text)}\n`);
    return;
  }
  const part = `${path}.part`;
  writeFileSync(part, text);
  renameSync(part, path);
};
