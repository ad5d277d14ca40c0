import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCommandLine, type Invocation } from '../../orchestrator/cli/args.js';
import { COMMANDS } from '../../orchestrator/cli/commands.js';
import { Problem } from '../../orchestrator/model/failure.js';
import { failureOf } from '../helpers/core.js';

/** As a shell would split it, without quotes. */
const parse = (line: string): Invocation => parseCommandLine(line.split(' '));
const problem = (...argv: readonly string[]): readonly [string, string | undefined] => {
  const { kind, message, next } = failureOf(() => parseCommandLine(argv));
  expect(kind).toBe('usage');
  return [message, next];
};

test('a command with nothing else', () => {
  expect(parse('status')).toEqual({
    name: 'status',
    directories: [],
    json: false,
    debug: false,
    help: false,
    tickets: [],
    flags: {},
  });
});

describe('-C', () => {
  test.each(['-C a run 320', 'run -C a 320', 'run 320 -C a', 'run --ticket 320 -C a', '-C a -- run 320'])(
    '%s',
    (line) => {
      expect(parse(line)).toMatchObject({ name: 'run', directories: ['a'], tickets: ['320'] });
    },
  );

  test('several, in order, and none after --', () => {
    expect(parse('-C a status -C b').directories).toEqual(['a', 'b']);
    expect(parse('tell --ticket 320 -- use -C a')).toMatchObject({ directories: [], text: 'use -C a' });
  });

  test('without a folder', () => {
    expect(problem('status', '-C')).toEqual(['`-C` needs a folder', 'orchestrate -C DIR COMMAND']);
  });
});

describe('tickets', () => {
  test('run takes several, by flag or bare', () => {
    expect(parse('run --ticket 320 --ticket 321').tickets).toEqual(['320', '321']);
    expect(parse('run 320 321').tickets).toEqual(['320', '321']);
  });

  test('other commands take a bare one, or the flag', () => {
    for (const line of ['status 320', 'status --ticket 320', 'status --ticket=320', '--json status 320'])
      expect(parse(line).tickets).toEqual(['320']);
  });

  test('two where one is meant are both seen: neither is silently dropped', () => {
    expect(parse('approve --ticket 320 --ticket 321').tickets).toEqual(['320', '321']);
    expect(problem('status', '--ticket', '320', '321')[0]).toBe(
      '`status` does not know what to do with `321`',
    );
  });
});

describe('positionals', () => {
  test('a target after the ticket', () => {
    expect(parse('logs 320 plan')).toMatchObject({ tickets: ['320'], target: 'plan' });
    expect(parse('logs --ticket 320 plan')).toMatchObject({ tickets: ['320'], target: 'plan' });
    expect(parse('approve 320 plan --digest sha256:x')).toMatchObject({
      target: 'plan',
      flags: { digest: 'sha256:x' },
    });
  });

  test('a target that a flag has named is not named again', () => {
    expect(parse('approve 320 --target plan')).toMatchObject({ flags: { target: 'plan' } });
    expect(problem('approve', '320', '--target', 'plan', 'push')[0]).toBe(
      '`approve` does not know what to do with `push`',
    );
  });

  test('one too many is named', () => {
    expect(problem('validate', 'x')).toEqual([
      '`validate` does not know what to do with `x`',
      'orchestrate validate --help',
    ]);
    expect(problem('logs', '320', 'plan', 'x')[0]).toContain('`x`');
  });
});

describe('tell', () => {
  test.each([
    ['tell --ticket 320 do not touch the API'],
    ['tell 320 do not touch the API'],
    ['tell do not touch the API --ticket 320'],
    ['tell --ticket 320 -- do not touch the API'],
    ['tell 320 -- do not touch the API'],
  ])('%s', (line) => {
    expect(parse(line)).toMatchObject({ tickets: ['320'], text: 'do not touch the API' });
  });

  test('a quoted text stays as it is', () => {
    expect(parseCommandLine(['tell', '320', ' two  blanks\nand a line '])).toMatchObject({
      text: ' two  blanks\nand a line ',
    });
  });

  test('text that begins with a dash comes after --, and the message says so', () => {
    expect(parseCommandLine(['tell', '320', '--', '--json is not needed'])).toMatchObject({
      json: false,
      text: '--json is not needed',
    });
    expect(problem('tell', '320', '- keep the name')[1]).toContain('comes after `--`');
    expect(problem('tell', '320', '--zzzzzzzzz')[1]).toContain('comes after `--`');
  });

  test('without a text there is none', () => {
    expect(parse('tell 320')).not.toHaveProperty('text');
    expect(parse('tell')).toMatchObject({ tickets: [] });
  });
});

describe('flags', () => {
  test('long, short, with a value in either way', () => {
    expect(parse('run 320 --jobs 2 -n').flags).toMatchObject({ jobs: '2', 'dry-run': true });
    expect(parse('run 320 --jobs=2 --dry-run').flags).toMatchObject({ jobs: '2', 'dry-run': true });
    expect(parse('run 320 -j 2').flags).toMatchObject({ jobs: '2' });
    expect(parse('run 320 -nj2').flags).toMatchObject({ jobs: '2', 'dry-run': true });
    expect(parse('logs 320 -f').flags).toMatchObject({ follow: true });
  });

  test('that every command has, wherever they stand', () => {
    expect(parse('--json --debug status')).toMatchObject({ json: true, debug: true });
    expect(parse('status -h')).toMatchObject({ help: true });
  });

  test.each([
    [['run', '--tikcet', '320'], '`run` has no option `--tikcet`', 'did you mean `--ticket`?'],
    [['run', '--dry'], '`run` has no option `--dry`', 'orchestrate run --help'],
    [['run', '--unti', 'x'], '`run` has no option `--unti`', 'did you mean `--until`?'],
    [['status', '--until', 'x'], '`status` has no option `--until`', 'orchestrate status --help'],
    [['status', '-x'], '`status` has no option `-x`', 'orchestrate status --help'],
  ])('%j: %s, %s', (argv, message, next) => {
    expect(problem(...argv)).toEqual([message, next]);
  });

  test('a value that is missing, and one too many', () => {
    expect(problem('run', '--ticket')[0]).toContain("'--ticket <value>' argument missing");
    expect(problem('run', '--ticket', '--json')[0]).toContain("'--ticket");
    expect(problem('status', '--json=yes')[0]).toContain("'--json' does not take an argument");
  });
});

describe('the command', () => {
  test.each([
    ['staus', 'did you mean `status`?'],
    ['aprove', 'did you mean `approve`?'],
    ['RUN', 'did you mean `run`?'],
    ['xylophone', 'orchestrate --help lists the commands'],
    ['constructor', 'orchestrate --help lists the commands'],
    ['__proto__', 'orchestrate --help lists the commands'],
  ])('%s: %s', (word, next) => {
    expect(problem(word)).toEqual([`unknown command \`${word}\``, next]);
  });

  test('is needed', () => {
    expect(problem('--json')).toEqual(['no command in `--json`', 'orchestrate --help lists the commands']);
    expect(problem()[0]).toContain('no command');
  });

  test('every example in the table is understood', () => {
    for (const [name, { example }] of Object.entries(COMMANDS)) {
      // The first command of the line, as a shell would split it.
      const words = (
        example
          .split(' && ')[0]
          ?.split(' > ')[0]
          ?.match(/"[^"]*"|\S+/g) ?? []
      ).map((word) => word.replaceAll('"', ''));
      expect(words[0]).toBe('orchestrate');
      expect(parseCommandLine(words.slice(1)).name).toBe(name);
    }
  });
});

test('whatever is typed is understood or refused as usage, never a fault of ours', () => {
  const word = fc.oneof(
    fc.constantFrom(
      'run',
      'tell',
      '--',
      '-',
      '-C',
      '--ticket',
      '320',
      '--json',
      '-n',
      '--jobs=1',
      '--no-wait',
      '--=',
      '-=x',
      '',
    ),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }), (argv) => {
      let outcome: string;
      try {
        outcome = parseCommandLine(argv).name;
      } catch (error) {
        outcome = error instanceof Problem ? error.failure.kind : String(error);
      }
      expect([...Object.keys(COMMANDS), 'usage']).toContain(outcome);
    }),
    { numRuns: 400 },
  );
});
