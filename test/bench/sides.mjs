// What is started: the program and its floors.
import { join } from 'node:path';
import { runOnce, tools } from './measure.mjs';
import { traceOf, writeGraph } from './workloads.mjs';

const FLOORS = join(import.meta.dirname, 'floors');
export const JOBS = 2;

/**
 * @typedef {object} Bench
 * @property {string} program the launcher that is measured
 * @property {string} dir where the work is laid out
 * @property {Readonly<Record<string, string>>} env of everything that is started; with an own state home
 * @property {number} runs
 * @property {number} memoryRuns
 * @property {(text: string) => void} say
 */

const node = process.execPath;

export const nodeZero = ({ env }) => ({ name: 'node -e 0', argv: [node, '-e', '0'], env });

/** `orchestrate run` of a workload. */
export const runSide = ({ program, env }, { dir }, options = {}) => ({
  name: 'orchestrate',
  argv: [
    node,
    program,
    '-C',
    dir,
    'run',
    '--ticket',
    '1',
    '--file',
    'targets.yaml',
    '--jobs',
    String(JOBS),
    ...(options.args ?? []),
  ],
  env,
  ...options.hooks,
});

const spawnFloor = ({ env }, { dir, reset }, { journal, jobs }) => ({
  name: journal ? 'Node spawn + journal' : 'Node spawn',
  argv: [node, join(FLOORS, 'spawn.cjs'), 'commands.json', String(jobs), ...(journal ? ['floor.jsonl'] : [])],
  cwd: dir,
  env,
  before: reset,
});

const makeSide = ({ env }, { dir, reset }, jobs) => ({
  name: 'make',
  argv: ['make', '-s', `-j${jobs}`],
  cwd: dir,
  env,
  before: reset,
});

const planFloor = ({ env }, { dir }) => ({
  name: 'Node plan',
  argv: [node, join(FLOORS, 'plan.cjs'), 'graph.json'],
  cwd: dir,
  env,
});

/** Cold: nothing was ever made. The program's own caches (compiled code, validated pipeline) are warm, as in daily work. */
export const coldSides = (bench, work, jobs) => [
  runSide(bench, work, { hooks: { before: work.reset } }),
  spawnFloor(bench, work, { journal: true, jobs }),
  spawnFloor(bench, work, { journal: false, jobs }),
  ...(tools.make ? [makeSide(bench, work, jobs)] : []),
];

/** Makes everything once, so that the next run finds it up to date; a run that makes something after all is an error. */
export const upToDateSides = (bench, work) => {
  work.reset();
  runOnce(runSide(bench, work));
  writeGraph(work);
  const made = traceOf(work);
  const after = () => {
    if (traceOf(work) !== made)
      throw new Error(`${work.dir}: a target was made again although nothing had changed`);
  };
  return [runSide(bench, work, { hooks: { after } }), planFloor(bench, work)];
};
