/** The whole suite against one pipeline. */
import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import { Problem } from '../model/failure.js';
import type { Pipeline } from '../model/pipeline.js';
import type { Approve } from './drive.js';
import { playAll, type Result } from './engine.js';
import { makeGround, makeTemplate, removeGround } from './ground.js';
import type { Play } from './play.js';
import { approvalPlays } from './rows/approval.js';
import { criticPlays } from './rows/critic.js';
import { hidePlays } from './rows/hide.js';
import { oddPlays } from './rows/odd.js';
import { outsidePlays } from './rows/outside.js';
import { pipelinePlays } from './rows/pipeline.js';
import { processPlays } from './rows/process.js';
import { reachPlay } from './rows/reach.js';
import { recordPlays } from './rows/record.js';
import { RESIDUAL } from './rows/residual.js';
import { reviewPlays } from './rows/review.js';
import { shipPlays } from './rows/ship.js';
import { verdictPlays } from './rows/verdict.js';
import type { Tier } from './seen.js';
import { MISSING, subjectOf, type Subject } from './subject.js';
import { findSandbox, sandboxProblem } from '../process/sandbox.js';

export interface AttackRequest {
  readonly pipeline: Pipeline;
  readonly packageRoot: string;
  /** Of the person's repository and home: nothing there is touched. */
  readonly root: string;
  readonly home: string;
  /** PATH of everything that is started, behind two folders of the attack's own. */
  readonly path: string;
  readonly approve: Approve;
  /** Only these rows. Default: all. */
  readonly only?: ReadonlySet<string>;
  /** The throw-away repositories stay. */
  readonly keep?: boolean;
}

/** One line of the report. */
export interface Line {
  readonly id: string;
  readonly name: string;
  readonly channel: string;
  /** Of the worker that attacked; `null` where none was needed or none is held by it. */
  readonly tier: Tier | null;
  readonly result: 'refused' | 'got through' | 'not applicable' | 'not stopped in this tier';
  /** Letters of the defence and a few words; empty unless it was refused. */
  readonly by: string;
  readonly reason: string;
}

export interface Report {
  /** The throw-away folder; it is gone unless it was to be kept. */
  readonly dir: string;
  readonly lines: readonly Line[];
}

const allPlays = (wanted: (id: string) => boolean): readonly Play[] => [
  ...verdictPlays(wanted),
  ...hidePlays(wanted),
  ...oddPlays(wanted),
  ...criticPlays,
  ...processPlays,
  ...recordPlays,
  ...reviewPlays,
  reachPlay,
  ...approvalPlays,
  ...shipPlays,
  ...pipelinePlays,
  ...outsidePlays,
];

/** All rows that there are, in the order of the report. */
export const rowIds = (): readonly string[] =>
  [...allPlays(() => true).flatMap(({ rows }) => rows), ...RESIDUAL].map(({ id }) => id).toSorted(byId);

/** The four vectors first, then by number. */
const byId = (one: string, other: string): number => rankOf(one) - rankOf(other) || (one < other ? -1 : 1);

const rankOf = (id: string): number =>
  id.startsWith('V') ? Number(id.slice(1, 2)) - 100 : Number.parseInt(id, 10);

/** Behind "the pipeline has"; `undefined` when it can be played. */
const missing = (subject: Subject, { needs, applies }: Play): string | undefined => {
  const role = needs.find((name) => subject[name] === undefined);
  return role === undefined ? applies?.(subject) : MISSING[role];
};

const notApplicable = (subject: Subject, plays: readonly Play[]): Line[] =>
  plays.flatMap((play) => {
    const what = missing(subject, play);
    if (what === undefined) return [];
    return play.rows.map(({ id, name, channel }): Line => {
      const reason = `the pipeline has ${what}`;
      return { id, name, channel, tier: null, result: 'not applicable', by: '', reason };
    });
  });

const lineOf = ({ id, name, channel, tier, outcome }: Result): Line => ({
  id,
  name,
  channel,
  tier,
  result: outcome.result,
  by: outcome.result === 'refused' ? outcome.by : '',
  reason: outcome.reason,
});

const residual = (wanted: (id: string) => boolean): Line[] =>
  RESIDUAL.filter(({ id }) => wanted(id)).map(({ id, name, channel, reason }) => ({
    id,
    name,
    channel,
    tier: null,
    result: 'not stopped in this tier',
    by: '',
    reason,
  }));

/** @throws `Problem` `sandbox-missing`: nothing of the pipeline would be started here */
const requireSandbox = async ({ settings, workers }: Pipeline, path: string): Promise<void> => {
  const found = await findSandbox({ PATH: path });
  for (const rule of [settings.sandbox, ...Object.values(workers).map(({ sandbox }) => sandbox)]) {
    const problem = sandboxProblem(rule, found);
    if (problem !== undefined) throw new Problem(problem);
  }
};

/**
 * Plays every row that applies, in throw-away repositories, through the shipped binary.
 * @throws `Problem` when the repositories cannot be made, or a sandbox is required and there is none
 */
export const attack = async (request: AttackRequest): Promise<Report> => {
  const { only, pipeline, keep = false, approve, ...world } = request;
  await requireSandbox(pipeline, request.path);
  const subject = subjectOf(pipeline);
  const wanted = (id: string): boolean => only === undefined || only.has(id);
  const plays = allPlays(wanted)
    .map((play) => ({ ...play, rows: play.rows.filter(({ id }) => wanted(id)) }))
    .filter(({ rows }) => rows.length > 0);
  const ground = makeGround({ subject, ...world });
  try {
    await makeTemplate(ground);
    const playable = plays.filter((play) => missing(subject, play) === undefined);
    const limit = pLimit(Math.max(2, availableParallelism()));
    const results = await playAll({ ground, approve, limit }, playable);
    const lines = [...results.map(lineOf), ...notApplicable(subject, plays), ...residual(wanted)];
    return { dir: ground.dir, lines: lines.toSorted((one, other) => byId(one.id, other.id)) };
  } finally {
    if (!keep) await removeGround(ground);
  }
};
