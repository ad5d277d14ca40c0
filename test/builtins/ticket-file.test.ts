import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readTicketFile, ticketPath } from '../../orchestrator/builtins/ticket-file.js';
import { digestOf } from '../../orchestrator/model/digest.js';
import { failureOf, folder } from '../helpers/core.js';

const PATTERN = 'tickets/{ticket}.md';

/** A repository with this ticket file. */
const withTicket = (text: string | Uint8Array): string => {
  const root = folder();
  mkdirSync(join(root, 'tickets'));
  writeFileSync(join(root, 'tickets/320.md'), text);
  return root;
};

const read = (text: string | Uint8Array) => readTicketFile(withTicket(text), PATTERN, '320');
const refusal = (text: string | Uint8Array) => failureOf(() => read(text));

test('title, labels, acceptance criteria and body are read; the digest is that of the text', () => {
  const text =
    '---\ntitle: Durations such as 1h30m\nlabels: [parser, "good first"]\nacceptance:\n  - 1h30m is 5400\n  - 42\n---\n\nWhy.\n\n---\nMore.\n';
  expect(read(text)).toEqual({
    ticket: {
      id: '320',
      title: 'Durations such as 1h30m',
      labels: ['parser', 'good first'],
      acceptance: ['1h30m is 5400', '42'],
      body: 'Why.\n\n---\nMore.',
    },
    digest: digestOf(text),
    path: 'tickets/320.md',
  });
});

test.each<[string, string]>([
  ['a byte order mark', '\uFEFF---\ntitle: t\n---\nbody'],
  ['CRLF', '---\r\ntitle: t\r\n---\r\nbody\r\n'],
  ['a number as title', '---\ntitle: 320\n---\nbody'],
  ['a single text for a list', '---\ntitle: t\nlabels: bug\n---\nbody'],
  ['an empty list', '---\ntitle: t\nlabels:\nacceptance: []\n---\nbody'],
  ['criteria without a body', '---\ntitle: t\nacceptance: [works]\n---\n'],
])('%s is allowed', (_, text) => {
  expect(read(text).ticket.title).toMatch(/^(t|320)$/);
});

test('what is invisible is taken out: a title is one line, a body has no escapes', () => {
  const { ticket } = read(
    '---\ntitle: "a\\nb\\u202Ec\\u001B[31m"\nlabels: ["x\\ny"]\nacceptance: ["p\\nq"]\n---\nfine\u001B[2J\rand\u200B more',
  );
  expect(ticket).toMatchObject({
    title: 'a bc',
    labels: ['x y'],
    acceptance: ['p q'],
    body: 'fine\nand more',
  });
});

describe('is refused with exit status 2, the place and what to write', () => {
  test.each<[string, string, string, string]>([
    ['empty', ' \n', 'tickets/320.md', 'the ticket file is empty'],
    ['no front matter', 'title: t\n', 'tickets/320.md:1:1', 'begins with front matter'],
    ['one that does not end', '---\ntitle: t\n', 'tickets/320.md:1:1', 'begins with front matter'],
    [
      'one that is no YAML',
      '---\ntitle: t\nlabels: [a\n---\nbody',
      'tickets/320.md:4:1',
      'the front matter is not YAML',
    ],
    [
      'a key twice',
      '---\ntitle: t\nlabels: []\ntitle: u\n---\nbody',
      'tickets/320.md:4:1',
      'Map keys must be unique',
    ],
    ['one that is a list', '---\n- t\n---\nbody', 'tickets/320.md:2:1', 'must be a mapping'],
    ['an empty one', '---\n---\nbody', 'tickets/320.md:2:1', 'must be a mapping'],
    ['no title', '---\nlabels: []\n---\nbody', 'tickets/320.md:2:1', 'has no `title:`'],
    [
      'a title that is a list',
      '---\nlabels: []\ntitle: [a]\n---\nbody',
      'tickets/320.md:3:8',
      'has no `title:`',
    ],
    ['an empty title', '---\ntitle: "  "\n---\nbody', 'tickets/320.md:2:8', 'the `title:` is empty'],
    [
      'labels that are a mapping',
      '---\ntitle: t\nlabels:\n  a: 1\n---\nbody',
      'tickets/320.md:4:3',
      '`labels:` must be a list of texts',
    ],
    [
      'criteria that are no texts',
      '---\ntitle: t\nacceptance: [true]\n---\nbody',
      'tickets/320.md:3:13',
      '`acceptance:` must be a list of texts',
    ],
    [
      'a bomb of aliases',
      `---\ntitle: &a [x,x,x,x,x]\nb: &b [${'*a,'.repeat(9)}]\nc: [${'*b,'.repeat(9)}]\n---\nbody`,
      'tickets/320.md:2:1',
      'is not YAML',
    ],
    ['nothing but a title', '---\ntitle: t\n---\n \n', 'tickets/320.md', 'the ticket says nothing'],
  ])('%s', (_, text, where, message) => {
    const failure = refusal(text);
    expect(failure).toMatchObject({ kind: 'ticket-invalid', where });
    expect(failure.message).toContain(message);
    expect(failure.next).toContain('title: ');
  });

  test('too long for a prompt, by one byte', () => {
    const head = '---\ntitle: t\n---\n';
    expect(read(head + 'x'.repeat(46_080 - head.length)).ticket.body).toHaveLength(46_080 - head.length);
    expect(refusal(head + 'x'.repeat(46_081 - head.length)).message).toContain(
      '46081 bytes long; at most 46080',
    );
    expect(refusal(`${head}${'ü'.repeat(23_040)}`).kind).toBe('ticket-invalid');
  });

  test('no text in UTF-8', () => {
    expect(
      refusal(Buffer.concat([Buffer.from('---\ntitle: t\n---\n'), Buffer.from([0xe9])])).message,
    ).toContain('not UTF-8');
  });

  test('not there: the message names ticket and path, and nothing is made', () => {
    const root = folder();
    const { message, where, next } = failureOf(() => readTicketFile(root, PATTERN, '320'));
    expect(message).toContain('ticket `320` is not known');
    expect(where).toBe('tickets/320.md');
    expect(next).toContain('tickets/320.md');
    expect(readdirSync(root)).toEqual([]);
  });

  test('below a file, or behind a link that leads nowhere', () => {
    const root = folder();
    writeFileSync(join(root, 'tickets'), '');
    expect(failureOf(() => readTicketFile(root, PATTERN, '320')).message).toContain('is not known');
    symlinkSync('nowhere', join(root, '320.md'));
    expect(failureOf(() => readTicketFile(root, '{ticket}.md', '320')).message).toContain('is not known');
  });

  test('a folder, or a link out of the repository', () => {
    const root = folder();
    mkdirSync(join(root, 'tickets/320.md'), { recursive: true });
    expect(failureOf(() => readTicketFile(root, PATTERN, '320')).message).toContain('not a regular file');
    const outside = withTicket('---\ntitle: secret\n---\nbody');
    const inside = join(root, 'linked');
    mkdirSync(inside);
    symlinkSync(join(outside, 'tickets/320.md'), join(inside, '320.md'));
    expect(failureOf(() => readTicketFile(root, 'linked/{ticket}.md', '320')).message).toContain(
      'leads out of the repository',
    );
    symlinkSync(dirname(join(outside, 'tickets/320.md')), join(root, 'folder'));
    expect(failureOf(() => readTicketFile(root, 'folder/{ticket}.md', '320')).message).toContain(
      'leads out of the repository',
    );
  });
});

test('a link inside the repository is followed', () => {
  const root = withTicket('---\ntitle: t\n---\nbody');
  symlinkSync('320.md', join(root, 'tickets/321.md'));
  expect(readTicketFile(root, PATTERN, '321').ticket).toMatchObject({ id: '321', title: 't' });
});

test('the path may name the ticket more than once', () => {
  expect(ticketPath('t/{ticket}/{ticket}.md', '320')).toBe('t/320/320.md');
});
