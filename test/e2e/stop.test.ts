import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exists, GATED_AGENT, workerGate } from '../helpers/gate.js';
import { agentStarts, quickEnv, quickTicket } from '../helpers/quick-ticket.js';
import { createRig, type Rig } from '../helpers/rig.js';

/** A run whose builder waits in the middle of its work. */
const runningBuilder = async (rig: Rig) => {
  quickTicket(rig, { agent: GATED_AGENT });
  const gate = workerGate(rig, 'implementation-diff');
  const env = { ...quickEnv(rig), ...gate.env };
  const running = rig.start(['run', '--ticket', '1'], { env });
  await gate.reached();
  return { env, running };
};

const finish = async (rig: Rig, env: Record<string, string>): Promise<void> => {
  // The gate stays shut: the next builder must not wait at it.
  const ended = await rig.run(['run', '--ticket', '1'], { env: { ...env, GATED: '' } });
  expect(ended.code, ended.stderr).toBe(0);
};

test('stop from another terminal ends the run and its children, says what it saw, and the run resumes', async () => {
  const rig = createRig();
  const { env, running } = await runningBuilder(rig);
  const stopped = await rig.run(['stop', '--ticket', '1']);
  expect(stopped.code, stopped.stderr).toBe(0);
  expect(stopped.stdout).toContain(`process ${running.pid} has ended; no child of it is left`);
  expect((await running.ended).code).toBe(130);
  expect(rig.processes()).toEqual([]);
  const status = await rig.run(['status', '--ticket', '1', '--json']);
  expect(JSON.parse(status.stdout)).toMatchObject({ state: 'stopped' });
  await finish(rig, env);
  expect(agentStarts(rig).filter((line) => line === 'implementation-diff 1')).toHaveLength(1);
});

test('stop finds the worker of an orchestrator that was killed, and ends it', async () => {
  const rig = createRig();
  const { env, running } = await runningBuilder(rig);
  running.kill('SIGKILL');
  await running.ended;
  expect(rig.processes().length).toBeGreaterThan(0);
  const stopped = await rig.run(['stop', '--ticket', '1', '--json']);
  expect(stopped.code, stopped.stderr).toBe(0);
  expect(JSON.parse(stopped.stdout)).toMatchObject({ holder: null, left: [] });
  expect(rig.processes()).toEqual([]);
  await finish(rig, env);
});

test('stop never reports a success that it has not seen: a suspended run is named, and stays', async () => {
  const rig = createRig();
  const { running } = await runningBuilder(rig);
  running.kill('SIGSTOP');
  await expect.poll(async () => (await rig.run(['stop', '--ticket', '1'])).code, { timeout: 20_000 }).toBe(1);
  const second = await rig.run(['run', '--ticket', '1']);
  expect(second.code).toBe(5);
  expect(second.stderr).toContain(`process ${running.pid}`);
  running.kill('SIGCONT');
  expect((await running.ended).code).toBe(130);
});

test('a second Ctrl-C does not wait for the grace of a command that ignores the first', async () => {
  const rig = createRig();
  rig.gitIn(rig.dir, 'init', '-q', rig.repo);
  rig.write({
    'deaf.sh': 'trap "" TERM INT\n: >deaf.waiting\nmkfifo never\nwhile :; do read -r _ <never; done\n',
    'targets.yaml': 'name: deaf\nlimits: { grace: 10m }\ntargets:\n  wait: { command: [sh, ./deaf.sh] }\n',
  });
  const running = rig.start(['run', '--ticket', '2']);
  await exists(join(rig.repo, 'deaf.waiting'));
  running.kill('SIGINT');
  await expect
    .poll(() => running.stderr(), { timeout: 10_000, interval: 10 })
    .toContain('ending the children');
  running.kill('SIGINT');
  expect((await running.ended).code).toBe(130);
  expect(rig.processes()).toEqual([]);
});
