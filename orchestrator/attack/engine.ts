/** Plays tickets in throw-away repositories and judges what is left of them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LimitFunction } from 'p-limit';
import { EXIT_CODE } from '../model/failure.js';
import { runDirectory } from '../state/run-dir.js';
import { closeArena, giveOrders, makeArena, writeTicket, type Arena } from './arena.js';
import { runThrough, type Approve, type Called, type RunRequest } from './drive.js';
import type { Ground } from './ground.js';
import { eventsOf } from './journal-events.js';
import { actsOf, type Outcome, type Play, type Row } from './play.js';
import { lookAt, type Tier } from './seen.js';
import type { Role, Subject } from './subject.js';

export interface Result {
  readonly id: string;
  readonly name: string;
  readonly channel: string;
  /** `null` where no worker takes part. */
  readonly tier: Tier | null;
  readonly outcome: Outcome;
}

/** Further calls for attempts that have not been played; a limit for a pipeline that never comes to them. */
const MOST_RUNS = 12;

/** Where it is played, and who answers for the person. */
export interface World {
  readonly ground: Ground;
  readonly approve: Approve;
  /** Runs of the binary at the same time, over all repositories: each starts several processes. */
  readonly limit: LimitFunction;
}

interface Stage extends World {
  readonly arena: Arena;
  readonly calls: Map<string, Called[]>;
}

const nameOf = (subject: Subject, role: Role): string | undefined => subject[role]?.name;

const noteCalls = ({ calls }: Stage, tickets: readonly string[], made: readonly Called[]): void => {
  for (const ticket of tickets) {
    // Of several tickets in one process nobody knows whose words they are.
    const own = made.map((call) => (tickets.length === 1 ? call : { ...call, failure: undefined }));
    calls.set(ticket, [...(calls.get(ticket) ?? []), ...own]);
  }
};

const advance = async (stage: Stage, request: Omit<RunRequest, 'approve'>): Promise<void> => {
  const { approve, limit, arena } = stage;
  noteCalls(stage, request.tickets, await limit(() => runThrough(arena, { ...request, approve })));
};

/**
 * Plans first: they are what a person is asked about. Hostile ones each by itself, as what fails stops the others of its run, and before
 * anybody answers: while a worker without a sandbox is alive no answer counts.
 */
const makePlans = async (stage: Stage, plays: readonly Play[]): Promise<void> => {
  const { subject } = stage.ground;
  const until = nameOf(subject, 'approval') ?? nameOf(subject, 'plan');
  if (until === undefined) return;
  const isHonest = (play: Play): boolean => play.cast(subject).plan === undefined;
  const waiting = plays.flatMap(({ beside = [] }) => beside);
  const honest = plays.filter(isHonest).map(({ name }) => name);
  const hostile = plays.filter((play) => !isHonest(play));
  await Promise.all(
    hostile.map(({ name, unanswered }) =>
      advance(stage, { tickets: [name], until, unanswered: unanswered === true ? [name] : [] }),
    ),
  );
  if (honest.length + waiting.length > 0)
    await advance(stage, { tickets: [...honest, ...waiting], until, unanswered: waiting });
};

const DEFAULT_UNTIL: readonly Role[] = ['review'];

const stopsOf = ({ until = DEFAULT_UNTIL }: Play): readonly Role[] => until;

/** All plays to their n-th stop. Each in a process of its own: the first failure of a run stops its other tickets as well. */
const toStop = async (stage: Stage, plays: readonly Play[], index: number): Promise<void> => {
  await Promise.all(
    plays.map(async (play) => {
      const role = stopsOf(play)[index];
      const until = role === undefined ? undefined : nameOf(stage.ground.subject, role);
      if (until === undefined || play.unanswered === true || wasTold(stage, play)) return;
      await advance(stage, { tickets: [play.name], until });
    }),
  );
};

/** Evidence was refused: a person looks at it before the next run. */
const wasTold = ({ calls }: Stage, { name }: Play): boolean =>
  calls.get(name)?.at(-1)?.code === EXIT_CODE['evidence-refused'];

const playedAttempts = ({ arena, ground }: Stage, ticket: string): number =>
  eventsOf(runDirectory(arena.repo, ticket).journal).filter(
    (event) => event.type === 'target.started' && event.target === nameOf(ground.subject, 'review'),
  ).length;

/** A run ends when the attempts of a target are used up; the next one goes on behind them. */
const repeat = async (stage: Stage, plays: readonly Play[]): Promise<void> => {
  const until = nameOf(stage.ground.subject, 'review');
  for (let count = 0; count < MOST_RUNS && until !== undefined; count += 1) {
    const open = plays.filter(
      ({ name, attempts = 0 }) => playedAttempts(stage, name) < attempts && !isOver(stage, name),
    );
    if (open.length === 0) return;
    await Promise.all(open.map(({ name }) => advance(stage, { tickets: [name], until })));
  }
};

const isOver = ({ arena, ground }: Stage, ticket: string): boolean =>
  eventsOf(runDirectory(arena.repo, ticket).journal).some(
    (event) => event.type === 'target.done' && event.target === nameOf(ground.subject, 'review'),
  );

const playOut = async (stage: Stage, plays: readonly Play[]): Promise<void> => {
  const runs = plays.filter((play) => play.calls === undefined);
  const others = plays.map(
    async ({ name, calls }) => calls !== undefined && noteCalls(stage, [name], await calls(stage.arena)),
  );
  await makePlans(stage, runs);
  await Promise.all(others);
  const stops = Math.max(0, ...runs.map((play) => stopsOf(play).length));
  for (let index = 0; index < stops; index += 1) {
    await toStop(stage, runs, index);
    for (const play of runs) {
      if (play.between === undefined || index + 1 >= stopsOf(play).length) continue;
      play.between(stage.arena, await seenOf(stage, play));
    }
  }
  await repeat(stage, runs);
  await Promise.all(plays.map((play) => awaitLate(stage, play)));
};

const LATE_MS = 5_000;

/** Where a process could be left behind, it may still be on its way. */
const awaitLate = async ({ arena }: Stage, { name, awaits }: Play): Promise<void> => {
  const flag = (what: string): string => join(arena.dir, 'flags', `${name}.${what}`);
  if (awaits === undefined || !existsSync(flag('late'))) return;
  const deadline = performance.now() + LATE_MS;
  while (!existsSync(flag(awaits)) && performance.now() < deadline)
    await new Promise((resolve) => void setTimeout(resolve, 10));
};

const seenOf = ({ ground, arena, calls }: Stage, { name }: Play) =>
  lookAt(ground, arena, name, calls.get(name) ?? []);

const judgePlay = async (
  stage: Stage,
  play: Play,
): Promise<{ readonly results: Result[]; readonly rest: Play | undefined }> => {
  const seen = await seenOf(stage, play);
  const rest = play.rest?.(seen);
  const rows = play.rows.filter(({ id }) => rest?.rows.some((row) => row.id === id) !== true);
  const tierOf = ({ by }: Row): Tier | null =>
    play.calls === undefined ? seen.tierOf(seen.subject[by]) : null;
  return { results: rows.map((row) => resultOf(row, tierOf(row), row.judge(seen))), rest };
};

const resultOf = ({ id, name, channel }: Row, tier: Tier | null, outcome: Outcome): Result => ({
  id,
  name,
  channel,
  tier,
  outcome,
});

let counter = 0;

/** One throw-away repository, from its making to its end. */
const playArena = async (world: World, plays: readonly Play[]): Promise<Result[]> => {
  const { ground } = world;
  counter += 1;
  const tickets = plays.flatMap(({ name, beside = [] }) => [name, ...beside]);
  const check = plays.find((play) => play.check !== undefined)?.check;
  const arena = makeArena(ground, {
    name: `arena-${counter}`,
    acts: actsOf(plays, ground.subject),
    tickets,
    ...(check === undefined ? {} : { check }),
  });
  const stage: Stage = { ...world, arena, calls: new Map() };
  const results: Result[] = [];
  try {
    let open = plays;
    while (open.length > 0) {
      await playOut(stage, open);
      const judged = await Promise.all(open.map((play) => judgePlay(stage, play)));
      results.push(...judged.flatMap((one) => one.results));
      open = judged.flatMap(({ rest }) => rest ?? []);
      addPlays(stage, open);
    }
    return results;
  } finally {
    closeArena(arena);
  }
};

const addPlays = ({ ground, arena }: Stage, plays: readonly Play[]): void => {
  if (plays.length === 0) return;
  for (const { name } of plays) writeTicket(arena, name);
  giveOrders(ground, arena, {
    ...arena.orders,
    acts: { ...arena.orders.acts, ...actsOf(plays, ground.subject) },
  });
};

/** Plays that share a repository, then those that have one of their own. */
const arenasOf = (plays: readonly Play[]): readonly (readonly Play[])[] => {
  const shared = plays.filter(({ alone }) => alone !== true);
  const others = plays.filter(({ alone }) => alone === true).map((play) => [play]);
  return shared.length === 0 ? others : [shared, ...others];
};

export const playAll = async (world: World, plays: readonly Play[]): Promise<Result[]> => {
  const played = await Promise.all(arenasOf(plays).map((arena) => playArena(world, arena)));
  return played.flat();
};
