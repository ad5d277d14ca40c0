import { describe, expect, test } from 'vitest';

import { createScratch, loadText, problemsOf } from '../helpers/pipelines.js';

describe('YAML that is not YAML', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'an open bracket',
      'name: x\ntargets: { a: { command: x }\n',
      [
        'targets.yaml:3:1: YAML: Flow map in block collection must be sufficiently indented and end with a }\n  fix: correct the YAML here',
      ],
    ],
    [
      'a brace that begins a text',
      'name: x\nbranch: {ticket}/x\ntargets: { a: { command: x } }\n',
      [expect.stringMatching(/^targets\.yaml:2:\d+: YAML: Unexpected scalar at node end/)],
    ],
    [
      'a brace inside a flow map',
      'tickets: { path: t/{ticket}.md }\njobs: 3\ntargets:\n  a: { command: x }\n',
      [
        'targets.yaml:1:20: YAML: Unexpected flow-map-start at node end\n  fix: put the text in quotes; without them `{` begins a map',
      ],
    ],
    ['a tab', 'targets:\n\ta: x\n', [expect.stringMatching(/^targets\.yaml:2:1: YAML: .*[Tt]ab/)]],
    ['two documents', 'name: x\n---\nname: y\n', [expect.stringContaining('fix: remove the line `---`')]],
    [
      'an unknown tag',
      'name: !!js/function x\n',
      [expect.stringMatching(/^targets\.yaml:1:7: YAML: Unresolved tag/)],
    ],
    [
      'an alias to nothing',
      'name: *x\n',
      [
        expect.stringMatching(
          /^targets\.yaml:1:7: YAML: Unresolved alias|^targets\.yaml:1:1: YAML: Unresolved alias/,
        ),
      ],
    ],
    [
      'a list',
      '- a\n- b\n',
      [
        'targets.yaml:1:1: the file is not a map; expected `name:`, `targets:` …\n  fix: see `orchestrate init`',
      ],
    ],
    [
      'nothing',
      '',
      [
        'targets.yaml:1:1: the file is not a map; expected `name:`, `targets:` …\n  fix: see `orchestrate init`',
      ],
    ],
  ])('%s is one problem with a place', async (_, text, expected) => {
    expect(await problemsOf(text)).toEqual(expected);
  });

  test('a key that is there twice is named with both lines, beside the other problems', async () => {
    expect(
      await problemsOf(
        'name: x\ntargets:\n  a: { command: x }\n  b: { comand: x }\n  a:\n    command: y\n    command: z\n',
      ),
    ).toEqual([
      expect.stringContaining('targets.yaml:4:8: unknown key `comand`'),
      'targets.yaml:5:3: key `a` is there twice, first in line 3\n  fix: remove or rename one of them',
      'targets.yaml:7:5: key `command` is there twice, first in line 6\n  fix: remove or rename one of them',
    ]);
  });

  test('`__proto__` is not passed over in silence', async () => {
    expect(
      await problemsOf('name: x\ntargets:\n  a: { command: x }\n  __proto__: { command: y }\n'),
    ).toContain('targets.yaml:4:3: key `__proto__` is not allowed\n  fix: remove it');
  });

  test.each([
    ['brackets', `name: ${'['.repeat(200_000)}`],
    ['braces over many lines', `name:\n${' {a:\n'.repeat(200)}`],
    ['lists in one line', `name:\n  ${'- '.repeat(100_000)}x`],
    ['indentation', Array.from({ length: 150 }, (_, at) => `${' '.repeat(at)}a:`).join('\n')],
  ])('%s nested without end are refused before they can end the process', async (_, text) => {
    expect(await problemsOf(text)).toEqual([
      'targets.yaml:1:1: the YAML is nested more than 100 levels deep\n  fix: write it flat, as a map of keys and values',
    ]);
  });

  test('many brackets that are only text are no nesting', async () => {
    const commands = Array.from({ length: 150 }, (_, at) => `  t${at}: { command: "echo [ {" } # [`);
    expect(await problemsOf(`name: x\ntargets:\n${commands.join('\n')}\n`)).toEqual([]);
  });

  test('aliases that multiply, and a map inside itself, end in a problem', async () => {
    const laughs = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (const [from = '', to = ''] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg', 'gh'].map((pair) =>
      pair.split(''),
    )) {
      laughs.push(`${to}: &${to} [${Array.from({ length: 10 }, () => `*${from}`).join(', ')}]`);
    }
    expect(await problemsOf(`${laughs.join('\n')}\n`)).toEqual([
      expect.stringContaining('Excessive alias count'),
    ]);
    expect((await problemsOf('targets: &t\n  a: *t\n')).length).toBeGreaterThan(0);
    expect(await problemsOf('targets: &t\n  <<: *t\n')).toEqual([
      expect.stringContaining('YAML: an alias stands inside what it stands for'),
    ]);
  });

  test('bytes that are not UTF-8, and a file above 16 MiB, are refused', async () => {
    const scratch = createScratch();
    scratch.write('repo/targets.yaml', new Uint8Array([0x6e, 0x3a, 0x20, 0xff, 0xfe]));
    expect(await scratch.problems()).toMatchObject([{ line: 1, column: 1, message: 'is not UTF-8' }]);
    scratch.write('repo/targets.yaml', new Uint8Array(16 * 1024 * 1024 + 1));
    expect(await scratch.problems()).toMatchObject([{ message: 'cannot be read: it has 16777217 bytes' }]);
  });
});

describe('YAML that is', () => {
  test('anchors and merge keys work, and a problem inside them points at the text', async () => {
    const text = (command: string) =>
      `name: x\ntargets:\n  a: &base\n    command: ${command}\n    attempts: 7\n  b:\n    <<: *base\n    needs: [a]\n  c: *base\n`;
    const { targets } = await loadText(text('x'));
    expect(targets.map(({ name, attempts }) => `${name} ${attempts}`)).toEqual(['a 7', 'b 7', 'c 7']);
    expect(await problemsOf(text('3'))).toEqual([
      'targets.yaml:4:14: `targets.a.command` is `3`; expected a command line, or a list of the program and its arguments\n  fix: put it in quotes: `"3"`',
      'targets.yaml:4:14: `targets.b.command` is `3`; expected a command line, or a list of the program and its arguments\n  fix: put it in quotes: `"3"`',
      'targets.yaml:4:14: `targets.c.command` is `3`; expected a command line, or a list of the program and its arguments\n  fix: put it in quotes: `"3"`',
    ]);
  });

  test('a thousand uses of one anchor are no attack', async () => {
    const uses = Array.from({ length: 1000 }, (_, at) => `  t${at}: { command: x, limits: *slow }`);
    const { targets } = await loadText(
      `name: x\nlimits: &slow { idle: 30m }\ntargets:\n${uses.join('\n')}\n`,
    );
    expect(targets.at(-1)?.limits.idleMs).toBe(1_800_000);
  });

  test('names that are numbers keep their place in the file', async () => {
    const { targets } = await loadText(
      'name: x\ntargets:\n  b: { command: x }\n  10: { command: x }\n  2: { command: x, needs: ["10"] }\n',
    );
    expect(targets.map(({ number, name }) => `${number} ${name}`)).toEqual(['0 b', '1 10', '2 2']);
  });

  test('a byte order mark, CRLF and comments change nothing', async () => {
    const plain = await loadText('name: x\ntargets:\n  a: { command: x }\n');
    const odd = await loadText('\uFEFF# comment\r\ntargets:\r\n  a:\r\n    command: x # why\r\nname: x\r\n');
    expect(odd.digest).toBe(plain.digest);
  });
});
