import { expect, test } from 'vitest';
import { COMMANDS } from '../../orchestrator/cli/commands.js';
import { rowsOf } from '../../orchestrator/commands/attack.js';

test('`attack --only` takes rows, without its letter all of one number, and what its help shows', () => {
  expect(rowsOf(undefined)).toBeUndefined();
  expect([...(rowsOf('V1, 16') ?? [])]).toEqual(['V1', '16a', '16b']);
  const [, shown] = / e\.g\. (.*)$/.exec(COMMANDS.attack.flags.only.help) ?? [];
  expect(rowsOf(shown)?.size).toBe(4);
  expect(() => rowsOf('V1,nothing')).toThrow('there is no row `nothing`');
  expect(() => rowsOf('')).toThrow('there is no row ``');
});
