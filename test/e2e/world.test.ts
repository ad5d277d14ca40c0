import { realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { outcomeOf, quickEnv, quickTicket } from '../helpers/quick-ticket.js';
import type { Rig } from '../helpers/rig.js';
import { savedStates } from '../helpers/saved-states.js';

const run = (rig: Rig, ...args: string[]) =>
  rig.run(['run', '--ticket', '1', ...args], { env: quickEnv(rig) });

const upTo =
  (target: string) =>
  async (rig: Rig): Promise<void> => {
    const ended = await run(rig, '--until', target);
    expect(ended.code, ended.stderr).toBe(0);
  };

const ticket = savedStates({
  new: async (rig) => quickTicket(rig),
  planned: upTo('approved-plan'),
  made: upTo('implementation-diff'),
  committed: upTo('commit'),
});

/** A ticket whose commit is made and not pushed. */
const committed = async (): Promise<{ readonly rig: Rig; readonly ours: string }> => {
  const rig = await ticket('committed');
  return { rig, ours: rig.git('rev-parse', 'orchestrate/1') };
};

test('a branch that somebody moved stops the run with 4 before anything is pushed; put back as the message says, it goes on', async () => {
  const { rig, ours } = await committed();
  rig.git('branch', '-f', 'orchestrate/1', 'main');
  const refused = await run(rig);
  expect(refused).toMatchObject({ code: 4, stdout: '' });
  expect(refused.stderr).toContain('branch `orchestrate/1` was moved by someone else');
  expect(outcomeOf(rig).pushed).toEqual([]);
  const command = /`git (branch -f [^`]+)`/.exec(refused.stderr)?.[1] ?? '';
  rig.git(...command.split(' '));
  expect(rig.git('rev-parse', 'orchestrate/1')).toBe(ours);
  expect((await run(rig)).code).toBe(0);
});

test('a branch that is gone stops the run with 4 and names our commit', async () => {
  const { rig, ours } = await committed();
  rig.git('branch', '-D', 'orchestrate/1');
  const refused = await run(rig);
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain(`branch \`orchestrate/1\` is gone; our commit is ${ours}`);
});

test('a tree that is gone stops the run with 4 and names the rebuild that makes a new one, which works', async () => {
  const rig = await ticket('made');
  rmSync(realpathSync(join(rig.repo, '.orchestrate/1/tree')), { recursive: true });
  const refused = await run(rig);
  expect(refused).toMatchObject({ code: 4, stdout: '' });
  const command = /`orchestrate (run [^`]+)`/.exec(refused.stderr)?.[1] ?? '';
  expect(command).toBe('run --ticket 1 --rebuild ticket');
  expect((await run(rig, '--rebuild', 'approved-plan')).code).toBe(4);
  const again = await rig.run(command.split(' '), { env: quickEnv(rig) });
  expect(again.code, again.stderr).toBe(0);
});

test('what is resumed says what it takes over', async () => {
  const rig = await ticket('planned');
  expect((await run(rig)).stdout).toMatch(
    /^resuming at journal line \d+: 3 of 9 targets are done and reused\n/,
  );
});

test('a ticket file that changed later is reported and held: 10 is written once', async () => {
  const rig = await ticket('planned');
  rig.write({ 'tickets/1.md': `${rig.read('tickets/1.md')}And one thing more.\n` });
  const explained = await rig.run(['explain', '--ticket', '1', 'ticket']);
  expect(explained.stdout).toMatch(/^1 +ticket +held +input tickets\/1\.md changed\n$/);
  const ended = await run(rig);
  expect(ended.code, ended.stdout).toBe(0);
  expect(ended.stderr).toContain('ticket is held by its latch: input tickets/1.md changed');
  expect(rig.read('.orchestrate/1/state/10_ticket.md')).not.toContain('one thing more');
});
