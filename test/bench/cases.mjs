// What is measured. Each case prepares its work, measures it against its floors and gives rows.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { countSyncs, measureSides, probeSide, runOnce, tools } from './measure.mjs';
import { count, memory, memoryRatio, skipped, time, timeRatio } from './rows.mjs';
import { JOBS, coldSides, nodeZero, runSide, upToDateSides } from './sides.mjs';
import { chain, layered, makeWorkload, wide } from './workloads.mjs';

const floorOf = (result, name, key = 'wallMs') => [name, result[name][key]];
const got = (result, key = 'wallMs') => floorOf(result, 'orchestrate', key);

const cpuRow = (result, row) =>
  result.orchestrate.cpuMs === undefined
    ? skipped(row.id, row.what, 'no bash, so no processor time')
    : timeRatio({ ...row, got: got(result, 'cpuMs'), floor: floorOf(result, row.floorName, 'cpuMs') });

const makeRow = (result, row, key) =>
  result.make === undefined || result.make[key] === undefined
    ? skipped(row.id, row.what, 'make (or bash) is not installed')
    : timeRatio({ ...row, got: got(result, key), floor: floorOf(result, 'make', key) });

const start = (bench) => {
  const side = (option) => ({
    name: option,
    argv: [process.execPath, bench.program, option],
    env: bench.env,
  });
  const result = measureSides([nodeZero(bench), side('--version'), side('--help')], bench);
  const row = (option) =>
    timeRatio({
      id: 'P1',
      what: option,
      got: floorOf(result, option),
      floor: floorOf(result, 'node -e 0'),
      must: 1.3,
      aim: 1.1,
    });
  return [row('--version'), row('--help')];
};

const nine = (bench) => {
  const work = makeWorkload(join(bench.dir, 'w1'), chain(9));
  const cold = measureSides(coldSides(bench, work, 1), { ...bench, cpu: true });
  const floorName = 'Node spawn + journal';
  const warm = measureSides([...upToDateSides(bench, work), nodeZero(bench)], bench);
  return [
    timeRatio({
      id: 'P2',
      what: '9 targets, wall',
      got: got(cold),
      floor: floorOf(cold, floorName),
      must: 1.5,
      aim: 1.2,
    }),
    cpuRow(cold, { id: 'P2', what: '9 targets, processor', floorName, must: 1.5, aim: 1.2 }),
    makeRow(cold, { id: 'P2', what: '9 targets, wall, against make', must: 11 }, 'wallMs'),
    timeRatio({
      id: 'I1',
      what: '9 targets, wall, no journal',
      got: got(cold),
      floor: floorOf(cold, 'Node spawn'),
      must: 3,
      aim: 2,
    }),
    timeRatio({
      id: 'P3',
      what: '9 targets up to date',
      got: got(warm),
      floor: floorOf(warm, 'Node plan'),
      must: 1.5,
      aim: 1.2,
    }),
    timeRatio({
      id: 'I2',
      what: '9 targets up to date, node -e 0',
      got: got(warm),
      floor: floorOf(warm, 'node -e 0'),
      must: 2,
    }),
  ];
};

const thousand = (bench) => {
  const work = makeWorkload(join(bench.dir, 'w3'), wide(1_000));
  const small = makeWorkload(join(bench.dir, 'w3-100'), wide(100));
  const cold = measureSides(coldSides(bench, work, JOBS), { ...bench, cpu: true });
  const few = measureSides(coldSides(bench, small, JOBS).slice(0, 2), { ...bench, cpu: true });
  const floorName = 'Node spawn + journal';
  const file = join(bench.dir, 'probe.json');
  const [run, floor] = coldSides(bench, work, JOBS)
    .slice(0, 2)
    .map((side) => probeSide(side, { runs: bench.memoryRuns, file }));
  const { stallMs } = probeSide(runSide(bench, work, { hooks: { before: work.reset } }), {
    runs: bench.memoryRuns,
    file,
    stall: true,
  });
  const warm = measureSides(upToDateSides(bench, work), bench);
  const overhead = (result, targets) => (result.orchestrate.wallMs - result[floorName].wallMs) / targets;
  const [at100, at1000] = [overhead(few, 101), overhead(cold, 1_001)];
  return [
    timeRatio({
      id: 'P4',
      what: '1,000 targets, wall',
      got: got(cold),
      floor: floorOf(cold, floorName),
      must: 1.5,
      aim: 1.2,
    }),
    cpuRow(cold, { id: 'P4', what: '1,000 targets, processor', floorName, must: 1.5, aim: 1.2 }),
    makeRow(cold, { id: 'P4', what: '1,000 targets, processor, against make -j2', must: 2.5 }, 'cpuMs'),
    timeRatio({
      id: 'P5',
      what: '1,000 targets up to date',
      got: got(warm),
      floor: floorOf(warm, 'Node plan'),
      must: 1.5,
      aim: 1.2,
    }),
    memoryRatio({
      id: 'P11',
      what: '1,000 targets, peak memory',
      got: ['orchestrate', run.peakBytes],
      floor: ['Node', floor.peakBytes],
      must: 1.4,
      aim: 1.2,
    }),
    time({
      id: 'P12',
      what: '1,000 targets, longest stall',
      got: ['of the event loop', stallMs],
      must: 25,
      aim: 10,
    }),
    count({
      id: 'I5',
      what: 'overhead a target at 1,000 over that at 100',
      got: [`${at1000.toFixed(3)} ms and ${at100.toFixed(3)} ms above the floor`, at1000 / at100],
      must: 1,
    }),
  ];
};

const tenThousand = (bench) => {
  const work = makeWorkload(join(bench.dir, 'w4'), layered(100, 100));
  const warm = measureSides(upToDateSides(bench, work), bench);
  const file = join(bench.dir, 'probe.json');
  const peak = (side) => probeSide(side, { runs: bench.memoryRuns, file }).peakBytes;
  const run = peak(runSide(bench, work));
  const dryRun = (hooks) => runSide(bench, work, { args: ['--dry-run'], hooks });
  const forget = () => bench.forgetPipelines();
  const planned = {
    yaml: measureSides([dryRun({ before: forget })], bench).orchestrate,
    cached: measureSides([dryRun()], bench).orchestrate,
  };
  return [
    timeRatio({
      id: 'P6',
      what: '10,000 targets up to date',
      got: got(warm),
      floor: floorOf(warm, 'Node plan'),
      must: 2,
      aim: 1.3,
    }),
    memory({
      id: 'P7',
      what: '10,000 targets up to date, peak memory',
      got: ['orchestrate', run],
      must: 130,
      aim: 90,
    }),
    time({
      id: 'I3',
      what: 'planning 10,000 targets from YAML',
      got: ['run --dry-run', planned.yaml.wallMs],
      must: 2_000,
    }),
    memory({
      id: 'I3',
      what: 'the same, peak memory',
      got: ['run --dry-run', peak(dryRun({ before: forget }))],
      must: 250,
    }),
    time({
      id: 'I4',
      what: 'planning 10,000 targets from the cache',
      got: ['run --dry-run', planned.cached.wallMs],
      must: 400,
    }),
  ];
};

const TRANSITIONS = 2;
const OTHER_SYNCS = 4;

const syncs = (bench) => {
  const rowOf = (name, steps) => {
    const what = `${steps.length} targets, syncs above ${TRANSITIONS} each`;
    if (!tools.strace) return skipped('P10', what, 'strace is not installed');
    const work = makeWorkload(join(bench.dir, name), steps);
    // The first run writes the caches of the program.
    runOnce(runSide(bench, work));
    const calls = countSyncs(
      runSide(bench, work, { hooks: { before: work.reset } }),
      join(bench.dir, 'strace.txt'),
    );
    if (calls === undefined) return skipped('P10', what, 'strace may not trace here');
    const above = calls - TRANSITIONS * steps.length;
    const row = count({
      id: 'P10',
      what,
      got: [`${calls} calls of fsync and fdatasync`, above],
      must: OTHER_SYNCS,
    });
    return above < 0
      ? { ...row, verdict: 'MISSED', detail: `${row.detail}: transitions were not made durable` }
      : row;
  };
  return [rowOf('w1-syncs', chain(9)), rowOf('w3-syncs', wide(100))];
};

const demo = (bench) => {
  const dir = join(bench.dir, 'demo');
  const side = {
    name: 'demo',
    argv: [process.execPath, bench.program, 'demo', '--dir', dir],
    env: bench.env,
    before: () => rmSync(dir, { recursive: true, force: true }),
  };
  const runs = Math.min(bench.runs, 3);
  const { demo: result } = measureSides([side], { runs });
  const { peakBytes } = probeSide(side, { runs, file: join(bench.dir, 'probe.json') });
  return [
    time({ id: 'I7', what: 'demo, wall', got: ['ticket 320', result.wallMs], must: 20_000 }),
    memory({ id: 'I7', what: 'demo, peak memory', got: ['the orchestrator itself', peakBytes], must: 100 }),
  ];
};

/** @type {ReadonlyMap<(bench: Bench) => import('./rows.mjs').Row[], readonly string[]>} the ids that each case answers */
export const CASES = new Map([
  [start, ['P1']],
  [nine, ['P2', 'P3', 'I1', 'I2']],
  [thousand, ['P4', 'P5', 'P11', 'P12', 'I5']],
  [tenThousand, ['P6', 'P7', 'I3', 'I4']],
  [syncs, ['P10']],
  [demo, ['I7']],
]);
