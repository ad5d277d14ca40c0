import { expect, test } from 'vitest';
import {
  agentStarts,
  outcomeOf,
  quickEnv,
  quickTicket,
  startsWithoutRepeatedCritics,
} from '../helpers/quick-ticket.js';
import { createRig, until, type Ended, type Rig, type Running } from '../helpers/rig.js';

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
const LANES = 2;

const run = (rig: Rig): Running => rig.start(['run', '--ticket', '1'], { env: quickEnv(rig) });

/** @returns milliseconds until it had ended, with nothing wrong */
const timed = async (running: Running): Promise<number> => {
  const from = performance.now();
  const ended = await running.ended;
  expect(ended.code, ended.stderr).toBe(0);
  return performance.now() - from;
};

interface Killing {
  /** Milliseconds that a run takes which finds nothing to do. */
  readonly start: number;
  /** Milliseconds that a ticket takes. */
  readonly whole: number;
  readonly random: () => number;
  /** Shared by all tickets: how many kills are still to come. */
  readonly budget: { left: number };
}

/**
 * Kills a run while it starts, or in the first part of what it has to do. That part grows, so that a slow step is got over on a busy
 * machine as well.
 */
const killed = async (running: Running, kills: number, { start, whole, random }: Killing): Promise<Ended> => {
  let isOver = false;
  const ended = running.ended.finally(() => (isOver = true));
  const [isEarly, share] = [random() < 0.25, random()];
  if (!isEarly) await until(() => isOver || running.stdout() !== '', 'the first line');
  const delay = share * (isEarly ? start : (whole - start) * (0.1 + kills / 100));
  const timer = setTimeout(() => running.kill('SIGKILL'), delay);
  return ended.finally(() => clearTimeout(timer));
};

/** Runs the ticket, killing it again and again at random moments, until it gets through. */
const throughKills = async (rig: Rig, killing: Killing): Promise<void> => {
  quickTicket(rig);
  for (let kills = 0; ; kills += 1) {
    const running = run(rig);
    const ended = await (killing.budget.left > 0 ? killed(running, kills, killing) : running.ended);
    if (ended.signal !== 'SIGKILL') {
      expect(ended.code, `seed ${SEED}: ${ended.stdout}${ended.stderr}`).toBe(0);
      return;
    }
    killing.budget.left -= 1;
  }
};

test(`killed ${KILLS} times at random instants (KILL_SEED=${SEED}), tickets end as if nothing had happened`, async () => {
  const calm = createRig();
  quickTicket(calm);
  const pace = { whole: await timed(run(calm)), start: await timed(run(calm)) };
  const wanted = outcomeOf(calm);
  const budget = { left: KILLS };
  const lane = async (number: number): Promise<void> => {
    const random = randomFrom(SEED + number);
    while (budget.left > 0) {
      const rig = createRig();
      await throughKills(rig, { ...pace, random, budget });
      expect(outcomeOf(rig), `seed ${SEED}`).toEqual(wanted);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
  expect(budget.left).toBeLessThanOrEqual(0);
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
  const starts = agentStarts(rig);
  const once = startsWithoutRepeatedCritics(starts);
  expect(once.filter((line) => !line.startsWith('post-mortem'))).toHaveLength(11);
  expect(new Set(once).size).toBe(once.length);
  // Two kills, two critics that nobody heard.
  expect(starts.length - once.length).toBeLessThanOrEqual(2);
});
