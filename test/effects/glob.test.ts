import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import picomatch from 'picomatch';
import { expect, test } from 'vitest';
import { expandGlob } from '../../orchestrator/effects/glob.js';
import { folder } from '../helpers/core.js';

const withFiles = (...paths: readonly string[]): string => {
  const root = folder();
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), '');
  }
  return root;
};

const FILES = [
  'README.md',
  'src/a.ts',
  'src/b.js',
  'src/deep/c.ts',
  'src/.hidden/d.ts',
  'test/a.test.ts',
  '!odd/e.ts',
];

test.each<[string, readonly string[]]>([
  ['src/**', ['src/.hidden/d.ts', 'src/a.ts', 'src/b.js', 'src/deep/c.ts']],
  ['src/*', ['src/a.ts', 'src/b.js']],
  ['**/*.ts', ['!odd/e.ts', 'src/.hidden/d.ts', 'src/a.ts', 'src/deep/c.ts', 'test/a.test.ts']],
  ['*.md', ['README.md']],
  ['{src,test}/*.ts', ['src/a.ts', 'test/a.test.ts']],
  ['src/?.ts', ['src/a.ts']],
  ['src/[ab].*', ['src/a.ts', 'src/b.js']],
  ['./src/*.js', ['src/b.js']],
  // A name that begins with `!`, not all that does not match.
  ['!odd/*', ['!odd/e.ts']],
  ['!src/*', []],
  ['none/**', []],
  ['README.md/**', []],
])('%s: %j', (glob, paths) => {
  expect(expandGlob(withFiles(...FILES), glob)).toEqual(paths);
});

test('what others made is not looked into, unless it is named', () => {
  const root = withFiles(
    'node_modules/x/a.ts',
    'src/node_modules/y/a.ts',
    '.git/a.ts',
    '.orchestrate/320/a.ts',
    'a.ts',
  );
  expect(expandGlob(root, '**/*.ts')).toEqual(['a.ts']);
  expect(expandGlob(root, 'node_modules/x/*')).toEqual(['node_modules/x/a.ts']);
});

test('a link to a file is a file; one to a folder, into nothing or in a circle is not; a pipe neither', () => {
  const root = withFiles('src/a.ts', 'lib/b.ts');
  symlinkSync('a.ts', join(root, 'src/file'));
  symlinkSync('..', join(root, 'src/up'));
  symlinkSync('nowhere', join(root, 'src/dangling'));
  symlinkSync('circle', join(root, 'src/circle'));
  execFileSync('mkfifo', [join(root, 'src/pipe')]);
  expect(expandGlob(root, 'src/**')).toEqual(['src/a.ts', 'src/file']);
});

test('finds what a match of every path finds, in lexical order', () => {
  const root = withFiles(...FILES);
  const segment = fc.constantFrom('*', '**', 'src', 'deep', '*.ts', '.hidden', '{a,b}.*', 'a*');
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 3 }), (parts) => {
      const glob = parts.join('/');
      const matches = picomatch(glob, { dot: true });
      expect(expandGlob(root, glob)).toEqual(FILES.filter((path) => matches(path)).toSorted());
    }),
  );
});
