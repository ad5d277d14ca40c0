import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '../../orchestrator/model/digest.js';
import { readDirectives, writeDirective } from '../../orchestrator/state/inbox.js';
import { folder } from '../helpers/core.js';
import { startHolder } from '../helpers/holders.js';

test('directives are numbered from 1 in the order told, and are read back whole', () => {
  const inbox = join(folder(), 'inbox');
  const told = ['first\n', 'second – ünïcode\n', '| third\r\n'].map((text) => writeDirective(inbox, text));
  expect(told.map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(readDirectives(inbox)).toEqual(told);
  expect(told[1]).toEqual({
    id: 2,
    path: join(inbox, '0002.md'),
    text: 'second – ünïcode\n',
    digest: digestOf('second – ünïcode\n'),
  });
  expect(readDirectives(inbox, 2).map(({ id }) => id)).toEqual([3]);
});

test('a directive is on the disk when it returns, and is write-once', () => {
  const inbox = folder();
  const { path } = writeDirective(inbox, 'x');
  expect(readFileSync(path, 'utf8')).toBe('x');
  expect(statSync(path).mode & 0o777).toBe(0o444);
});

test('several processes at one moment get distinct numbers, and no text is lost', async () => {
  const inbox = folder();
  const others = await Promise.all(Array.from({ length: 4 }, () => startHolder(inbox)));
  const answers = await Promise.all(
    others.flatMap((other, index) => Array.from({ length: 10 }, (_, at) => other.ask(`tell ${index}-${at}`))),
  );
  expect(answers.map(Number).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
  const texts = readDirectives(inbox).map(({ text }) => text);
  expect(texts.toSorted()).toEqual(
    others.flatMap((_, index) => Array.from({ length: 10 }, (__, at) => `${index}-${at}`)).toSorted(),
  );
  expect(readdirSync(inbox).filter((name) => name.startsWith('.tmp'))).toEqual([]);
});

test('a gap is not filled: numbers tell the order', () => {
  const inbox = folder();
  writeFileSync(join(inbox, '0007.md'), 'x');
  expect(writeDirective(inbox, 'y').id).toBe(8);
});

test('after 9,999 the names grow, and the order stays that of the numbers', () => {
  const inbox = folder();
  writeFileSync(join(inbox, '9999.md'), 'a');
  expect(writeDirective(inbox, 'b')).toMatchObject({ id: 10_000, path: join(inbox, '10000.md') });
  expect(readDirectives(inbox).map(({ text }) => text)).toEqual(['a', 'b']);
});

test('names that we would not write are left alone: they neither stop a boot nor take a number', () => {
  const inbox = folder();
  for (const name of [
    '1.md',
    '00001.md',
    '000001.md',
    '0000.md',
    '0001.txt',
    'a.md',
    '0001.md.bak',
    '99999999999999999999.md',
    '.tmp-1-1-0001.md',
  ]) {
    writeFileSync(join(inbox, name), 'x');
  }
  expect(readDirectives(inbox)).toEqual([]);
  expect(writeDirective(inbox, 'y').id).toBe(1);
  expect(readDirectives(inbox).map(({ text }) => text)).toEqual(['y']);
});

test('no inbox is an empty one', () => {
  const path = folder();
  expect(readDirectives(join(path, 'none'))).toEqual([]);
  mkdirSync(join(path, 'empty'));
  expect(readDirectives(join(path, 'empty'))).toEqual([]);
});
