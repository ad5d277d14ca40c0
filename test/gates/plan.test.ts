import { describe, expect, test, vi } from 'vitest';
import { readPlan } from '../../orchestrator/gates/plan.js';

const plan = (head: string, body = 'Do it.\n'): string => `---\n${head}\n---\n${body}`;

test('paths, estimates and text are read', () => {
  expect(readPlan(plan('paths: ["src/**", test]\nfiles: 3\nlines: 40'))).toEqual({
    paths: ['src/**', 'test'],
    files: 3,
    lines: 40,
    body: 'Do it.\n',
  });
});

test('estimates are optional; what is no count is none', () => {
  for (const lines of ['', 'lines: many', 'lines: -1', 'lines: 1.5', 'lines: "3"', 'lines: 1e99']) {
    expect(readPlan(plan(`paths: [src]\n${lines}`))).toEqual({ paths: ['src'], body: 'Do it.\n' });
  }
});

test('CRLF and more keys than are read do no harm', () => {
  expect(readPlan('---\r\npaths: [src]\r\ntitle: x\r\n---\r\nDo it.')).toEqual({
    paths: ['src'],
    body: 'Do it.',
  });
});

const problems = (text: string): string => {
  const read = readPlan(text);
  return 'problems' in read ? read.problems.join('\n') : 'none';
};

describe('a plan without a blast radius is none', () => {
  test.each([
    ['no front matter', '# Plan', 'no front matter'],
    ['one that is no YAML', plan('paths: ['), 'is not YAML'],
    ['one that is no mapping', plan('- src'), 'it is not a mapping'],
    ['nothing in it', plan(''), 'it is not a mapping'],
    ['no paths', plan('files: 1'), '`paths:` in plan.md must be a list'],
    ['an empty list', plan('paths: []'), '`paths:` in plan.md must be a list'],
    ['a single text', plan('paths: src'), '`paths:` in plan.md must be a list'],
    ['numbers', plan('paths: [1]'), '`paths:` in plan.md must be a list'],
    ['null', plan('paths: [~]'), '`paths:` in plan.md must be a list'],
    ['no text', plan('paths: [src]', '  \n'), 'no text after its front matter'],
    [
      'a bomb of aliases',
      plan(`a: &a [x,x,x,x,x,x,x,x]\nb: &b [${'*a,'.repeat(9)}]\nc: &c [${'*b,'.repeat(9)}]\npaths: [src]`),
      'is not YAML',
    ],
  ])('%s', (_, text, problem) => {
    expect(problems(text)).toContain(problem);
  });
});

describe('a path that leads out of the tree, or tries to, is refused by name', () => {
  test.each([
    '/etc/passwd',
    '../x',
    'src/../../x',
    'src/..',
    '..',
    'src/{..,a}/x',
    '!src/**',
    '',
    'a\nb',
    'a\u0000b',
    'a\u202Eb',
    'a\u001B[2Jb',
    '/',
  ])('%j', (path) => {
    const text = problems(plan(`paths: [ok, ${JSON.stringify(path)}]`));
    expect(text).toMatch(/^`paths:` in plan\.md: ".*" is not a path inside the tree$/);
  });

  test('names that only look odd are allowed', () => {
    expect(
      problems(
        plan('paths: ["a..b/c", "..a", "app/(shop)/[id]/page.tsx", "src/.env", "a b", "ünï/**", "a{b,c}d"]'),
      ),
    ).toBe('none');
  });
});

describe('an intricate glob is refused: matching it could take for ever', () => {
  test.each(['*a*a*a*a*a*a*a*b', '**/a/**/b/**/c', '{a,b}{a,b}{a,b}', `${'a'.repeat(301)}`])('%j', (path) => {
    expect(problems(plan(`paths: [${JSON.stringify(path)}]`))).toContain('is too intricate');
  });

  test('usual ones are not', () => {
    expect(problems(plan('paths: ["packages/*/src/**/*.{ts,tsx}", "**/*.test.*", "{src,test}/**"]'))).toBe(
      'none',
    );
  });

  test('so is an endless list, and of many problems the first ten are told', () => {
    expect(problems(plan(`paths: [${'src,'.repeat(501)}]`))).toContain('has 501 entries; at most 500');
    expect(problems(plan(`paths: [${'"/x",'.repeat(20)}]`)).split('\n')).toHaveLength(10);
  });
});

test('an odd plan makes nobody print a warning', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
  expect(problems(plan('paths: !odd [src]'))).toBe('none');
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
});
