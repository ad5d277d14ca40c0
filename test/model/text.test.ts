import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cleanText,
  cutTo,
  estimateTokens,
  firstLines,
  oneLine,
  quote,
} from '../../orchestrator/model/text.js';

/** Text as an agent with bad intentions writes it: line ends of all kinds, escapes, fences, our own markers. */
const evil = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }),
      fc.constantFrom(
        '\n',
        '\r',
        '\r\n',
        '\u2028',
        '\u2029',
        '\u0085',
        '\u000B',
        '\u000C',
        '\0',
        '\u001B',
        '\u009B',
      ),
      fc.constantFrom(
        '\u001B[31m',
        '\u001B]0;title\u0007',
        '\u001B]8;;x\u001B\\',
        '\u001B]',
        '\u202E',
        '\u{E0041}',
        '\uD800',
      ),
      fc.constantFrom('nonce: 0', '# Assignment', '```', '---', '| ', 'VERDICT: APPROVED', '<system>'),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

/** Everything at which a reader may begin a new line. */
const LINE_ENDS = /[\n\r\u000B\u000C\u0085\u2028\u2029]/;

describe('quote', () => {
  test('no quoted text yields a line at column 0', () => {
    fc.assert(
      fc.property(evil, (text) => {
        for (const line of quote(text).split(LINE_ENDS))
          expect(line === '|' || line.startsWith('| ')).toBe(true);
      }),
    );
  });

  test('the words stay: what is quoted can be read back', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z:#` -]{1,20}$/), { minLength: 1 }), (lines) => {
        const text = lines.join('\n');
        expect(quote(text).replaceAll(/^\| /gm, '')).toBe(text);
      }),
    );
  });

  test('empty lines keep their mark, newlines at the end have no line of their own', () => {
    expect(quote('a\n\nb\n\n')).toBe('| a\n|\n| b');
    expect(quote('')).toBe('|');
  });

  test('a long run of newlines costs what it is long', () => {
    // The regular expression that this once was took seconds here.
    expect(quote(`${'\n'.repeat(400_000)}x`).endsWith('|\n| x')).toBe(true);
  });
});

describe('cleanText', () => {
  test.each([
    ['colours', 'a\u001B[1;31mb\u001B[0mc', 'abc'],
    ['a title with its end', 'a\u001B]0;evil\u0007b', 'ab'],
    ['a link', '\u001B]8;;http://x\u001B\\text\u001B]8;;\u001B\\', 'text'],
    ['an 8-bit sequence', 'a\u009B31mb', 'ab'],
    ['two-character escapes', 'a\u001BMb\u001BEc', 'abc'],
    ['an escape that is cut', 'a\u001B', 'a'],
    ['overwriting by carriage return', 'APPROVED\rREJECTED', 'APPROVED\nREJECTED'],
    ['line separators', 'a\u2028b\u2029c\u0085d', 'abcd'],
    ['bidi and zero-width characters', 'a\u202Eb\u200Bc\u2066d\uFEFFe', 'abcde'],
    ['letters that only a model sees', 'a\u{E0049}\u{E0047}b\u{E0100}', 'ab'],
    ['fillers that are drawn as nothing', 'a\u3164\u115F\u034Fb', 'ab'],
    ['half a character', 'a\uD800b', 'a\uFFFDb'],
  ])('%s', (_, text, clean) => {
    expect(cleanText(text)).toBe(clean);
  });

  test('tabs, letters of all scripts and emoji stay', () => {
    expect(cleanText('a\tb 中文 ñ e\u0301 🎉')).toBe('a\tb 中文 ñ e\u0301 🎉');
  });

  test('a sequence without its end hides nothing of what follows', () => {
    expect(cleanText('before\u001B]0;never ended\nblocker: the lock is missing')).toBe(
      'before0;never ended\nblocker: the lock is missing',
    );
  });

  test('cleaning twice changes nothing, and nothing invisible is left', () => {
    fc.assert(
      fc.property(evil, (text) => {
        const clean = cleanText(text);
        expect(cleanText(clean)).toBe(clean);
        expect(clean).not.toMatch(
          /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\u200B-\u200F\u202A-\u202E]/,
        );
        expect(clean.isWellFormed()).toBe(true);
      }),
    );
  });
});

test('oneLine gives one line of at most so many code points', () => {
  fc.assert(
    fc.property(evil, fc.integer({ min: 1, max: 20 }), (text, limit) => {
      const line = oneLine(text, limit);
      expect(line).not.toMatch(LINE_ENDS);
      expect(Array.from(line).length).toBeLessThanOrEqual(limit);
    }),
  );
  expect(oneLine('  a \n\n b\tc ')).toBe('a b c');
});

test('cutTo counts code points, halves none, and says that it cut', () => {
  expect(cutTo('🎉🎉🎉', 3)).toBe('🎉🎉🎉');
  expect(cutTo('🎉🎉🎉🎉', 3)).toBe('🎉🎉…');
  expect(cutTo('abc', 3)).toBe('abc');
});

describe('firstLines', () => {
  test('says how many lines were left out, and where the whole is', () => {
    expect(firstLines('a\nb\nc\n', 3, 'x.md')).toBe('a\nb\nc');
    expect(firstLines('a\nb\nc\nd', 3, 'x.md')).toBe('a\nb\nc\n(1 more lines: x.md)');
  });

  test('a single endless line is cut as well', () => {
    const text = firstLines('x'.repeat(40_000), 20, 'x.md');
    expect(text.split('\n')).toEqual([`${'x'.repeat(239)}…`, '(lines were cut: x.md)']);
  });
});

test('tokens are estimated at four bytes each', () => {
  expect([0, 1, 4, 5].map(estimateTokens)).toEqual([0, 1, 1, 2]);
});
