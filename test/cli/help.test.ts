import { expect, test } from 'vitest';
import {
  COMMANDS,
  GLOBAL_FLAGS,
  type CommandName,
  type CommandSpec,
} from '../../orchestrator/cli/commands.js';
import { commandHelp, HELP_TEXT } from '../../orchestrator/cli/help.js';
import { EXIT_CODE } from '../../orchestrator/model/failure.js';

const names = Object.keys(COMMANDS) as CommandName[];

test('the help is one screen, and has every command with what it does', () => {
  const lines = HELP_TEXT.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(40);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(110);
  for (const name of names) {
    const line = lines.filter((each) => new RegExp(`  ${name} +\\S`).test(each));
    expect(line).toHaveLength(1);
    expect(line[0]).toContain(COMMANDS[name].summary);
  }
});

test('the help has every exit status that there is', () => {
  const statuses = HELP_TEXT.slice(HELP_TEXT.indexOf('Exit status'));
  for (const code of new Set([0, ...Object.values(EXIT_CODE)]))
    expect(statuses).toMatch(new RegExp(`\\b${code} \\w`));
});

test.each(names)('%s --help has its usage, each flag on a line of its own, and an example', (name) => {
  const help = commandHelp(name);
  const spec: CommandSpec = COMMANDS[name];
  expect(help).toContain(`orchestrate ${name} – ${spec.summary}`);
  expect(help).toContain(`Usage: orchestrate ${spec.usage}`);
  expect(help).toContain(`Example\n  ${spec.example}\n`);
  for (const [flag, { help: text, short, value }] of Object.entries({
    ...spec.flags,
    ...GLOBAL_FLAGS,
  } as CommandSpec['flags'])) {
    const left = `${short === undefined ? '' : `-${short}, `}--${flag}${value === undefined ? '' : ` ${value}`}`;
    // At least two blanks between a flag and what it says.
    expect(help).toMatch(
      new RegExp(`^  ${left} {2,}${text.replaceAll(/[.*+?^$()|[\]{}]/g, String.raw`\$&`)}$`, 'm'),
    );
  }
});

test('no two flags of a command share a letter', () => {
  for (const name of names) {
    const letters = Object.values({
      ...COMMANDS[name].flags,
      ...GLOBAL_FLAGS,
    } as CommandSpec['flags']).flatMap(({ short }) => short ?? []);
    expect(new Set(letters).size).toBe(letters.length);
  }
});
