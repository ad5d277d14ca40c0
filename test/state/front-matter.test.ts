import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { cleanText } from '../../orchestrator/model/text.js';
import { frontMatter, splitFrontMatter } from '../../orchestrator/state/front-matter.js';

const key = fc
  .stringMatching(/^[a-z][a-zA-Z]{0,10}$/)
  .filter((name) => !['true', 'false', 'null'].includes(name));
const value = fc.oneof(
  fc.string({ unit: 'grapheme' }).map(cleanText),
  fc.constantFrom(
    '---',
    '- a',
    '# b',
    'a: b',
    "it's",
    '"',
    '\\',
    'yes',
    '0x10',
    '~',
    '{',
    '&a',
    '*a',
    '!x',
    '|',
    '>',
  ),
  fc.integer(),
  fc.boolean(),
  fc.array(fc.string({ unit: 'grapheme' }).map(cleanText)),
);

test('what is written is YAML with the same values, and is split off again exactly', () => {
  fc.assert(
    fc.property(fc.dictionary(key, value, { minKeys: 1 }), fc.string(), (fields, body) => {
      const split = splitFrontMatter(`${frontMatter(fields)}${body}`);
      expect(parse(split?.head ?? '')).toEqual({ ...fields });
      expect(split?.body).toBe(body);
    }),
  );
});

test('undefined values are left out, one line a key', () => {
  expect(frontMatter({ a: 1, b: undefined, c: 'x\ny' })).toBe('---\na: 1\nc: "x\\ny"\n---\n');
});

test.each([
  ['nothing', '', undefined],
  ['no front matter', 'title: x\n---\n', undefined],
  ['one that does not end', '---\ntitle: x\n', undefined],
  ['one that does not begin at the first byte', '\n---\na: 1\n---\n', undefined],
  ['CRLF', '---\r\na: 1\r\n---\r\nbody\r\n', { head: 'a: 1\r\n', body: 'body\r\n' }],
  ['blanks after the end', '---\na: 1\n--- \t\nbody', { head: 'a: 1\n', body: 'body' }],
  ['the end of the file', '---\na: 1\n---', { head: 'a: 1\n', body: '' }],
  ['an empty one before a ruler', '---\n---\nbody\n---\nmore', { head: '', body: 'body\n---\nmore' }],
  ['a ruler in the body', '---\na: 1\n---\nbody\n---\nmore', { head: 'a: 1\n', body: 'body\n---\nmore' }],
  ['a line that only begins like the end', '---\na: 1\n---x\n---\n', { head: 'a: 1\n---x\n', body: '' }],
])('%s', (_, text, split) => {
  expect(splitFrontMatter(text)).toEqual(split);
});
