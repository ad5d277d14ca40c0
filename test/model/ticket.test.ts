import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isTicketId, requireTicketId } from '../../orchestrator/model/ticket.js';
import { failureOf } from '../helpers/core.js';

test.each(['320', 'a', 'ABC-12', 'v1.2.3', 'a_b', `a${'b'.repeat(63)}`])('%s is a ticket id', (id) => {
  expect(requireTicketId(id)).toBe(id);
});

test.each([
  '',
  '.',
  '..',
  '../../x',
  '/etc/passwd',
  'a/b',
  'a\\b',
  '-x',
  '--upload-pack=x',
  '.hidden',
  '_a',
  'a b',
  'a\n',
  'a\0',
  'ünicode',
  'a:b',
  'a~1',
  'a^',
  'a?',
  'a*',
  'a[',
  'a@{',
  '@',
  `a${'b'.repeat(64)}`,
  'a..b',
  'a.',
  'a.lock',
  'A.LOCK',
  'store.git',
  'Store.Git',
  'con',
  'NUL',
  'com1',
  'LPT9',
])('%j is none', (id) => {
  expect(isTicketId(id)).toBe(false);
  const { kind, message, next } = failureOf(() => requireTicketId(id));
  expect(kind).toBe('usage');
  expect(message).toContain(JSON.stringify(id));
  expect(next).toContain('--ticket');
});

test('whatever is let through is one plain path component and one plain ref component', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'aZ09._-/\\~^:?*[@{ \n\0'.split('')), maxLength: 70 }),
      (id) => {
        fc.pre(isTicketId(id));
        expect(id).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*$/);
        // Source: git-check-ref-format(1).
        expect(id).not.toMatch(/\.\.|\.lock$|\.$/);
      },
    ),
  );
});
