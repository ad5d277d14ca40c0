import { expect, test } from 'vitest';
import { agentStarts, outcomeOf, quickEnv, quickTicket } from '../helpers/quick-ticket.js';
import { createRig, type Rig } from '../helpers/rig.js';

const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);

/** Mulberry32: the same seed gives the same kills. */
const randomFrom = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const KILLS = 200;
const LANES = 4;

/** Runs the ticket, killing it again and again at random moments, until it gets through. @returns how often it was killed */
const throughKills = async (rig: Rig, random: () => number, most: number): Promise<number> => {
  quickTicket(rig);
  for (let kills = 0; ;) {
    const running = rig.start(['run', '--ticket', '1'], { env: quickEnv(rig) });
    const timer = kills < most ? setTimeout(() => running.kill('SIGKILL'), 40 + random() * 400) : undefined;
    const ended = await running.ended;
    clearTimeout(timer);
    if (ended.signal === 'SIGKILL') kills += 1;
    else {
      expect(ended.code, `seed ${SEED}: ${ended.stdout}${ended.stderr}`).toBe(0);
      return kills;
    }
  }
};

test(`killed ${KILLS} times at random instants (KILL_SEED=${SEED}), tickets end as if nothing had happened`, async () => {
  const calm = createRig();
  await throughKills(calm, () => 0, 0);
  const wanted = outcomeOf(calm);
  let left = KILLS;
  const lane = async (number: number): Promise<void> => {
    const random = randomFrom(SEED + number);
    while (left > 0) {
      const rig = createRig();
      left -= await throughKills(rig, random, left);
      expect(outcomeOf(rig), `seed ${SEED}`).toEqual(wanted);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
  expect(left).toBeLessThanOrEqual(0);
}, 300_000);

test('two kills in one ticket of five critic rounds and eleven children before the scribe lose nothing and repeat nothing', async () => {
  const rig = createRig();
  quickTicket(rig);
  const env = { ...quickEnv(rig), WRONG_ROUNDS: '4' };
  const killAt = async (event: string): Promise<void> => {
    const running = rig.start(['run', '--ticket', '1', '--json'], { env });
    await expect.poll(() => running.stdout(), { timeout: 20_000, interval: 5 }).toContain(event);
    running.kill('SIGKILL');
    await running.ended;
  };
  await killAt('"target":"adversarial-review","attempt":2');
  await killAt('"target":"adversarial-review","attempt":4');
  const ended = await rig.run(['run', '--ticket', '1'], { env });
  expect(ended.code, ended.stderr).toBe(0);
  const rounds = rig.read('.orchestrate/1/state/30_critic_summary.md').match(/^## Round \d: \w+/gm);
  expect(rounds).toEqual([
    '## Round 1: REJECTED',
    '## Round 2: REJECTED',
    '## Round 3: REJECTED',
    '## Round 4: REJECTED',
    '## Round 5: APPROVED',
  ]);
  expect(agentStarts(rig).filter((line) => !line.startsWith('post-mortem'))).toHaveLength(11);
  expect(new Set(agentStarts(rig)).size).toBe(agentStarts(rig).length);
});
