import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isContained, outsideOf, pathMatcher } from '../../orchestrator/gates/paths.js';

describe('a glob', () => {
  test.each<[string, string, boolean]>([
    ['src/**', 'src/a.ts', true],
    ['src/**', 'src/deep/a.ts', true],
    ['src/**', 'src/.hidden/.env', true],
    ['src/**', 'srcs/a.ts', false],
    ['src/**', 'lib/src/a.ts', false],
    ['src/*', 'src/a.ts', true],
    // A folder that matches stands for what is in it.
    ['src/*', 'src/deep/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src', 'src/deep/a.ts', true],
    ['src/', 'src/deep/a.ts', true],
    ['src/', 'src', false],
    ['*.md', 'README.md', true],
    ['*.md', 'docs/README.md', false],
    ['**/*.md', 'README.md', true],
    ['**/*.md', 'docs/deep/README.md', true],
    ['{src,test}/**', 'test/a.ts', true],
    ['{src,test}/**', 'lib/a.ts', false],
    ['src/p*', 'src/parse.ts', true],
    ['src/p*', 'src/x.ts', false],
    ['./src/**', 'src/a.ts', true],
    // Names, not operators.
    ['!src/**', 'lib/a.ts', false],
    ['!src/**', 'src/a.ts', false],
    ['!(src)/**', 'lib/a.ts', false],
    ['app/(shop)/**', 'app/(shop)/page.tsx', true],
    ['app/(shop)/**', 'app/shop/page.tsx', false],
    ['(a+)+b', 'aab', false],
    ['[a]+b', 'aab', false],
    ['[a]+b', 'a+b', true],
    ['{a,b}+c', 'aac', false],
    ['app/[id]/page.tsx', 'app/[id]/page.tsx', true],
    ['c++/**', 'c++/a.cc', true],
    ['SRC/**', 'src/a.ts', false],
    ['/', 'a', false],
    ['', 'a', false],
  ])('%j and %j: %j', (glob, path, matches) => {
    expect(pathMatcher([glob])(path)).toBe(matches);
  });
});

test('paths that no glob allows, in order', () => {
  expect(outsideOf(['b', 'src/a', 'a', 'test/x'], ['src/**', 'test'])).toEqual(['b', 'a']);
  expect(outsideOf(['a'], [])).toEqual(['a']);
});

describe('isContained', () => {
  test.each<[string, readonly string[]]>([
    ['src/a.ts', ['src/**']],
    ['src/*.ts', ['src/**']],
    ['src/**/*.ts', ['src/**']],
    ['src/**', ['src']],
    ['src/', ['src/**']],
    ['src/', ['src/']],
    ['src', ['src*']],
    ['src/parse*', ['src/p*']],
    ['src/deep/**', ['src/**', 'docs/**']],
    ['docs/a.md', ['src/**', '**/*.md']],
    ['**', ['**']],
    ['a/b', ['*']],
    ['src/{a,b}/', ['src/{a,b}/**']],
    ['packages/*/src/**', ['packages/**']],
  ])('%j is, in %j', (inner, outer) => {
    expect(isContained(inner, outer)).toBe(true);
  });

  test.each<[string, string, readonly string[]]>([
    ['a wildcard in a narrower one', 'src/*', ['src/p*']],
    ['a deep one in a shallow one with a suffix', 'src/**', ['src/*.ts']],
    ['everything in a folder', '**', ['src/**']],
    ['names that begin alike', 'src*/**', ['src/**']],
    ['a name that may be a file, in what is below it', 'src', ['src/**']],
    ['a name that may be a file, in a folder', 'src', ['src/']],
    ['a folder in its file', 'src', ['src/a.ts']],
    ['no folder at all, which ** also stands for', 'src/**/a.ts', ['src/*/**/a.ts']],
    ['dot files', '*', ['[!.]*']],
    ['dot files by name', 'src/*', ['src/[a-zA-Z0-9]*']],
    ['all names in those of a certain length', 'src/*', ['src/???*']],
    ['all names in all but some', 'src/*', ['src/[!p]*']],
    ['two that share it out', 'src/*', ['src/*~*', 'src/*_*']],
    ['climbing out', 'src/../etc/**', ['src/**', '**']],
    ['climbing out at the end', 'src/..', ['**']],
    ['a negation', '!src/**', ['**/*.md']],
    ['a negation that would allow all', '!nothing', ['src/**']],
    ['braces, which are not looked into', 'src/{a,..}/x', ['src/**']],
    ['brackets', 'src/[a-z]*', ['src/**']],
    ['one character', 'src/?', ['src/**']],
    ['an escape', 'src/\\*', ['src/**']],
    ['an extended glob', '@(src|etc)/**', ['src/**']],
    ['the whole tree by its dot', '.', ['src/**']],
    ['the whole disk', '/', ['src/**']],
    ['nothing', '', ['src/**']],
    ['an empty policy', 'src/a.ts', []],
    ['a policy of nothing', 'src/a.ts', ['', '/']],
    ['another case', 'SRC/a.ts', ['src/**']],
  ])('%s: %j is not, in %j', (_, inner, outer) => {
    expect(isContained(inner, outer)).toBe(false);
  });

  const segment = fc.constantFrom('a', 'b', 'ab', '*', '**', 'a*', '*b', '*.ts', '.x', 'a*b*');
  const globs = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
  const outers = fc.array(fc.oneof(globs, fc.constantFrom('?', 'a?', '[ab]*', '{a,b}/*', '**/?*')), {
    minLength: 1,
    maxLength: 3,
  });
  const filling = fc.constantFrom('', 'a', 'b', '.x', 'x.ts', 'ab', 'zz', 'zq~7', 'Y_y');
  const folders = fc
    .array(
      filling.filter((name) => name !== ''),
      { maxLength: 3 },
    )
    .map((names) => names.join('/'));

  /** Paths that the glob matches, with its wildcards filled in. */
  const pathsOf = (glob: string, fills: readonly (readonly [string, string])[]): string[] => {
    const matches = pathMatcher([glob]);
    let next = 0;
    const fill = (part: 0 | 1): string => fills[next++ % fills.length]?.[part] ?? '';
    return fills
      .map(() => glob.replaceAll('**', () => fill(0)).replaceAll('*', () => fill(1)))
      .map((path) =>
        path
          .split('/')
          .filter((part) => part !== '')
          .join('/'),
      )
      .filter((path) => path !== '' && matches(path));
  };

  test('is never said of a glob that matches a path which the policy does not', () => {
    let contained = 0;
    const fills = fc.array(fc.tuple(folders, filling), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(globs, outers, fills, (inner, outer, filled) => {
        fc.pre(isContained(inner, outer));
        contained += 1;
        expect(outsideOf(pathsOf(inner, filled), outer)).toEqual([]);
      }),
      { numRuns: 300 },
    );
    expect(contained).toBe(300);
  });
});
