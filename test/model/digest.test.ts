import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, digestOf, digestOfValue, isDigest } from '../../orchestrator/model/digest.js';

test('a digest is sha256 in lower-case hexadecimal, of text and of its bytes alike', () => {
  const digest = digestOf('abc');
  expect(digest).toBe('sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(digestOf(Buffer.from('abc'))).toBe(digest);
  expect(isDigest(digest)).toBe(true);
});

test.each([
  '',
  'sha256:',
  `sha256:${'0'.repeat(63)}`,
  `sha256:${'A'.repeat(64)}`,
  `sha1:${'0'.repeat(64)}`,
  `sha256:${'0'.repeat(64)}\n`,
])('%j is no digest', (text) => {
  expect(isDigest(text)).toBe(false);
});

const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, shuffled(item)]),
  );
};

test('the order of keys does not count, at any depth', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(digestOfValue(shuffled(value))).toBe(digestOfValue(value));
    }),
  );
});

test('canonical JSON is JSON and says the same', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('undefined is left out of objects and null in lists; everything else counts', () => {
  expect(canonicalJson({ b: undefined, a: [undefined, 1] })).toBe('{"a":[null,1]}');
  const values = [{ a: 1 }, { a: '1' }, { a: null }, {}, [], [1, 2], [2, 1], { a: [1] }, { a: { 0: 1 } }];
  expect(new Set(values.map(digestOfValue)).size).toBe(values.length);
});
