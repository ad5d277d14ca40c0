import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exists, GATED_AGENT, workerGate } from '../helpers/gate.js';
import { agentStarts, outcomeOf, quickEnv, quickTicket } from '../helpers/quick-ticket.js';
import { createRig, type Rig } from '../helpers/rig.js';

const CHILD = '.orchestrate/1/children/03-implementation-diff.1';

interface StatusJson {
  readonly state: string;
  readonly targets: readonly {
    readonly name: string;
    readonly attempt: number;
    readonly child: { readonly pid: number } | null;
  }[];
}

const builderOf = async (rig: Rig) => {
  const ended = await rig.run(['status', '--ticket', '1', '--json']);
  const status = JSON.parse(ended.stdout) as StatusJson;
  return status.targets.find(({ name }) => name === 'implementation-diff');
};

/** A run whose builder is in the middle of its work, and whose orchestrator is gone. */
const orphanedBuilder = async (rig: Rig) => {
  quickTicket(rig, { agent: GATED_AGENT });
  const gate = workerGate(rig, 'implementation-diff');
  const env = { ...quickEnv(rig), ...gate.env };
  const first = rig.start(['run', '--ticket', '1'], { env });
  await gate.reached();
  const before = await builderOf(rig);
  first.kill('SIGKILL');
  await first.ended;
  return { env, gate, pid: before?.child?.pid };
};

test('a worker that outlived its orchestrator is waited for again: the same process, its end and its return taken once', async () => {
  const rig = createRig();
  const { env, gate, pid } = await orphanedBuilder(rig);
  const second = rig.start(['run', '--ticket', '1'], { env });
  await exists(join(rig.repo, '.orchestrate/1/lock.2'));
  expect(pid).toBeTypeOf('number');
  expect((await builderOf(rig))?.child?.pid).toBe(pid);
  gate.open();
  const ended = await second.ended;
  expect(ended.code, ended.stderr).toBe(0);
  expect(agentStarts(rig).filter((line) => line === 'implementation-diff 1')).toHaveLength(1);
  expect(
    rig.events('1').filter(({ type, target }) => type === 'child.ended' && target === 'implementation-diff'),
  ).toHaveLength(2);
  expect(outcomeOf(rig).agents).toHaveLength(6);
});

test('the end of a worker that finished while nobody waited is taken from its own record', async () => {
  const rig = createRig();
  const { env, gate } = await orphanedBuilder(rig);
  gate.open();
  await exists(join(rig.repo, CHILD, 'exit.json'));
  const ended = await rig.run(['run', '--ticket', '1'], { env });
  expect(ended.code, ended.stderr).toBe(0);
  expect(agentStarts(rig)).toHaveLength(6);
});

test('a child of another boot, or whose pid is somebody else by now, is lost, and the attempt is repeated', async () => {
  const rig = createRig();
  const { env, gate, pid } = await orphanedBuilder(rig);
  const path = join(rig.repo, CHILD, 'proc.json');
  const identity = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  rmSync(path);
  writeFileSync(path, `${JSON.stringify({ ...identity, bootId: 'another boot' })}\n`);
  // What ran then does not run now; here it still does, and must not be touched.
  writeFileSync(join(rig.dir, 'gate.passed'), '');
  const ended = await rig.run(['run', '--ticket', '1', '--until', 'implementation-diff'], { env });
  expect(ended.code, ended.stderr).toBe(0);
  expect(ended.stdout).toMatch(/implementation-diff +tried again: its end is not known/);
  expect(agentStarts(rig).filter((line) => line.startsWith('implementation-diff 1'))).toHaveLength(1);
  expect(existsSync(`/proc/${pid ?? 0}`)).toBe(true);
  // No critic is asked while it is there.
  expect((await rig.run(['run', '--ticket', '1'], { env })).stderr).toContain(
    'is still there and could not be ended',
  );
  gate.open();
  await expect.poll(() => existsSync(`/proc/${pid ?? 0}`), { timeout: 20_000 }).toBe(false);
  const shipped = await rig.run(['run', '--ticket', '1'], { env });
  expect(shipped.code, shipped.stderr).toBe(0);
});

test('a directive told while nobody ran, and one told just before the kill, reach the next worker once', async () => {
  const rig = createRig();
  const { env, gate } = await orphanedBuilder(rig);
  const told = await rig.run(['tell', '--ticket', '1', 'mind the', 'gap']);
  expect(told.code).toBe(0);
  gate.open();
  const ended = await rig.run(['run', '--ticket', '1'], { env });
  expect(ended.code, ended.stderr).toBe(0);
  const delivered = rig.events('1').filter((event) => Array.isArray(event['directives']));
  expect(delivered.map(({ target }) => target)).toEqual(['adversarial-review']);
  expect(rig.read('.orchestrate/1/children/04-adversarial-review.1/prompt.md')).toContain(
    '| 1: mind the gap',
  );
  expect(rig.read('.orchestrate/1/state/99_next_action.md')).toContain(
    '| 0001 handed to a worker: mind the gap',
  );
});
