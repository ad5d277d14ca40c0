import { jsonText } from '../model/text.js';

/**
 * Front matter that we write: one `key: JSON` a line, which is YAML as well. Undefined values are left out. No value ends its
 * line, whatever a reader takes for the end of one.
 */
export const frontMatter = (fields: Readonly<Record<string, unknown>>): string => {
  const lines = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}: ${jsonText(value)}`);
  return `---\n${lines.join('\n')}\n---\n`;
};

/** The front matter's text and what follows it; `undefined` when there is none. */
export const splitFrontMatter = (
  text: string,
): { readonly head: string; readonly body: string } | undefined => {
  const match = /^---\r?\n(|[\s\S]*?\r?\n)---[ \t]*(?:\r?\n|$)/.exec(text);
  return match === null ? undefined : { head: match[1] ?? '', body: text.slice(match[0].length) };
};
