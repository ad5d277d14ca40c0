import { spawnSync } from 'node:child_process';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { parseDuration } from '../../orchestrator/pipeline/duration.js';
import { isBranchName, staysInside } from '../../orchestrator/pipeline/git-names.js';
import { createSuggest, editDistance } from '../../orchestrator/model/suggest.js';

describe('branch names', () => {
  const names = [
    'main',
    'orchestrate/320',
    'a/b/c',
    'feature/x.y',
    'x@y',
    '@x',
    'a{b',
    'ä/ö',
    'a-',
    'A_B',
    '0',
    '',
    'HEAD',
    '-x',
    '/a',
    'a/',
    'a//b',
    'a..b',
    '.a',
    'a/.b',
    'a.',
    'a.lock',
    'a.lock/b',
    'a b',
    'a~b',
    'a^b',
    'a:b',
    'a?b',
    'a*b',
    'a[b',
    'a\\b',
    'a@{b',
    'a\tb',
    'a\u007fb',
    'a/b.',
    'refs/heads/x',
    'a.b/.',
    '..',
  ];

  test.each(names)('git and we agree about %j', (name) => {
    const git = spawnSync('git', ['check-ref-format', '--branch', name], { encoding: 'utf8' });
    expect(isBranchName(name)).toBe(git.status === 0);
  });

  test('`@` is another word for HEAD, so it is none', () => expect(isBranchName('@')).toBe(false));
});

describe('paths that stay inside', () => {
  test.each(['a', 'a/b', './a', 'a/..b', '..a/b', 'a..', '{ticket}.md', 'src/**'])('%s', (path) =>
    expect(staysInside(path)).toBe(true),
  );
  test.each(['', '/', '/a', '..', '../a', 'a/../b', 'a/..', 'a\\..\\b', 'C:\\x', 'c:/x', 'a\0b'])(
    '%j leaves',
    (path) => expect(staysInside(path)).toBe(false),
  );
});

describe('durations', () => {
  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['1.5h', 5_400_000],
    ['0.5s', 500],
    ['1ms', 1],
    ['2147483647ms', 2_147_483_647],
  ])('%s is %i ms', (text, ms) => expect(parseDuration(text)).toBe(ms));
  test.each(['', '10', '10 m', 'm', '-1s', '0s', '0.1ms', '1d', '1e3s', '2147483648ms', '600h', '١s', '1.s'])(
    '%j is none',
    (text) => expect(parseDuration(text)).toBeUndefined(),
  );
});

describe('suggestions', () => {
  test.each([
    ['wrker', 'worker'],
    ['gaets', 'gates'],
    ['Needs', 'needs'],
    ['onreject', 'onReject'],
    ['needz', 'needs'],
  ])('%s means %s', (word, meant) =>
    expect(createSuggest()(word, ['worker', 'gates', 'needs', 'onReject', 'when'])).toBe(meant),
  );

  test('nothing is better than something far away', () => {
    expect(createSuggest()('retries', ['worker', 'needs'])).toBeUndefined();
    expect(createSuggest()('x', [])).toBeUndefined();
  });

  test('the budget ends the search, not the report', () => {
    const suggest = createSuggest(2);
    expect(suggest('needz', ['a', 'needs'])).toBe('needs');
    expect(suggest('needz', ['needs'])).toBeUndefined();
  });

  /** The definition, by recursion. */
  const slow = (a: string, b: string): number => {
    if (a === '' || b === '') return a.length + b.length;
    const [restA, restB] = [a.slice(1), b.slice(1)];
    const options = [slow(restA, restB) + (a[0] === b[0] ? 0 : 1), slow(restA, b) + 1, slow(a, restB) + 1];
    if (a.length > 1 && b.length > 1 && a[0] === b[1] && a[1] === b[0])
      options.push(slow(a.slice(2), b.slice(2)) + 1);
    return Math.min(...options);
  };

  test('the distance is the number of edits, and limit + 1 above the limit', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 5 });
    fc.assert(
      fc.property(word, word, fc.integer({ min: 0, max: 6 }), (a, b, limit) => {
        expect(editDistance(a, b, limit)).toBe(Math.min(slow(a, b), limit + 1));
      }),
      { numRuns: 500 },
    );
  });
});
