// One target that prints a gibibyte: into the log (P8), and shown live as well (P9).
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { measureSides, medianOf, probeSide, probed, readProbe, startReading } from './measure.mjs';
import { memory, timeRatio } from './rows.mjs';
import { runSide } from './sides.mjs';
import { makeWorkload, printing } from './workloads.mjs';

const FLOOR = join(import.meta.dirname, 'floors/output.cjs');
const GIBIBYTE = 1_073_741_824;
const PRINT = `yes 'a line of output that a build prints, of eighty characters or so, again and again' | head -c ${GIBIBYTE}`;
/** How long the slow reader reads nothing. */
const PAUSE_MS = 3_000;
const POLL_MS = 5;

export const output = (bench) => {
  const work = makeWorkload(join(bench.dir, 'w5'), printing(PRINT));
  const quiet = makeWorkload(join(bench.dir, 'w5-quiet'), printing(':'));
  const before = work.reset;
  const log = join(work.dir, 'floor.log');
  const floor = (name, argv) => ({ name, argv, cwd: work.dir, env: bench.env, before });
  const node = floor('Node, file', [process.execPath, FLOOR, 'file', PRINT, log]);
  const shell = floor('sh > file', ['/bin/sh', '-c', `{ ${PRINT}; } > ${log}`]);
  const run = runSide(bench, work, { hooks: { before } });
  const result = measureSides([run, node, shell], bench);
  const got = ['orchestrate', result.orchestrate.wallMs];
  const probe = { runs: bench.memoryRuns, file: join(bench.dir, 'probe.json') };
  const loud = probeSide(run, probe).peakBytes;
  const idle = probeSide(runSide(bench, quiet, { hooks: { before: quiet.reset } }), probe).peakBytes;
  before();
  return [
    timeRatio({
      id: 'P8',
      what: '1 GiB of output, wall',
      got,
      floor: [node.name, result[node.name].wallMs],
      must: 1.3,
      aim: 1.1,
    }),
    memory({
      id: 'P8',
      what: '1 GiB of output, memory above a silent child',
      got: ['orchestrate', loud - idle],
      must: 8,
      aim: 2,
    }),
    timeRatio({
      id: 'I6',
      what: '1 GiB of output, against the shell',
      got,
      floor: [shell.name, result[shell.name].wallMs],
      must: 1.1,
    }),
  ];
};

export const live = async (bench) => {
  const work = makeWorkload(join(bench.dir, 'w5-live'), printing(PRINT));
  const floor = {
    name: 'Node, pipe-file',
    argv: [process.execPath, FLOOR, 'pipe-file', PRINT, join(work.dir, 'floor.log')],
    cwd: work.dir,
    env: bench.env,
  };
  const walls = { run: [], floor: [] };
  for (let turn = 0; turn <= bench.runs; turn += 1) {
    const run = await timed(work, () => runAndFollow(bench, work, discard));
    const base = await timed(work, () => startReading(floor, discard));
    if (turn > 0) {
      walls.run.push(run);
      walls.floor.push(base);
    }
  }
  const peaks = [];
  const file = join(bench.dir, 'probe.json');
  for (let turn = 0; turn < bench.memoryRuns; turn += 1) {
    work.reset();
    await runAndFollow(bench, work, readSlowly, file);
    peaks.push(readProbe(file).peakBytes);
  }
  work.reset();
  const got = ['run and logs --follow', medianOf(walls.run)];
  return [
    timeRatio({
      id: 'P9',
      what: '1 GiB of output, shown live',
      got,
      floor: [floor.name, medianOf(walls.floor)],
      must: 1.2,
      aim: 1,
    }),
    memory({
      id: 'P9',
      what: 'logs --follow with a slow reader, peak memory',
      got: ['logs --follow', medianOf(peaks)],
      must: 100,
    }),
  ];
};

const discard = (stream) => stream.resume();

const readSlowly = (stream) => {
  setTimeout(() => stream.resume(), PAUSE_MS);
};

const timed = async (work, action) => {
  work.reset();
  const start = performance.now();
  await action();
  return performance.now() - start;
};

/** Two processes, as two terminals: the run, and as soon as its child writes, `logs --follow`. */
const runAndFollow = async (bench, work, read, probeFile) => {
  const running = startReading(runSide(bench, work), discard);
  let over = false;
  running.finally(() => (over = true)).catch(() => {});
  while (!over && !hasOutput(join(work.dir, '.orchestrate/1/children'))) await sleep(POLL_MS);
  const argv = [process.execPath, bench.program, '-C', work.dir, 'logs', '--ticket', '1', 'big', '--follow'];
  const follow = { name: 'logs --follow', argv, env: bench.env };
  const reading = startReading(probeFile === undefined ? follow : probed(follow, probeFile), read);
  await Promise.all([running, reading]);
};

const hasOutput = (children) =>
  existsSync(children) &&
  readdirSync(children).some((name) => {
    const log = join(children, name, 'stdout.log');
    return existsSync(log) && statSync(log).size > 0;
  });
