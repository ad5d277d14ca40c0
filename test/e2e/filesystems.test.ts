import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { outcomeOf, quickEnv, quickTicket } from '../helpers/quick-ticket.js';
import { createRig } from '../helpers/rig.js';

/** Where the tests' own temporary files are not. */
const otherThan = (path: string): string | undefined =>
  ['/dev/shm', '/tmp', '/var/tmp'].find(
    (folder) => existsSync(folder) && statSync(folder).dev !== statSync(path).dev,
  );

test('trees, checkouts and the key may lie on another file system than the state', async (context) => {
  const rig = createRig();
  const other = otherThan(rig.dir) ?? context.skip('no other file system here');
  const home = mkdtempSync(join(other, 'orchestrate-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  quickTicket(rig);
  const env = { ...quickEnv(rig), ORCHESTRATE_HOME: home };
  // Killed on the way, and made again in part: what is taken over and archived crosses no border.
  const killed = await rig.run(['run', '--ticket', '1'], {
    env: { ...env, ORCHESTRATE_TEST_CROSSING: '100' },
  });
  expect(killed.signal).toBe('SIGKILL');
  for (const args of [[], ['--rebuild', 'post-mortem']]) {
    const ended = await rig.run(['run', '--ticket', '1', ...args], { env });
    expect(ended.code, `${ended.stdout}${ended.stderr}`).toBe(0);
  }
  expect(outcomeOf(rig).subjects).toContain('The answer');
  expect((await rig.run(['verify', '--ticket', '1'], { env })).code).toBe(0);
});
