// One run of one command: how long, how much processor, how much memory, how many syncs.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PROBE = join(import.meta.dirname, 'probe.cjs');

/**
 * @typedef {object} Side what is measured, or what it is measured against
 * @property {string} name
 * @property {readonly string[]} argv
 * @property {string} [cwd]
 * @property {Readonly<Record<string, string>>} env the whole environment
 * @property {() => void} [before] makes the start the same for each run; not timed
 * @property {() => void} [after] checks that the run did what it was for; not timed
 */

const has = (program) => spawnSync('/bin/sh', ['-c', `command -v ${program}`]).status === 0;
export const tools = { bash: has('bash'), make: has('make'), strace: has('strace') };

export const medianOf = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const check = (side, { status, signal, error, stderr }) => {
  if (status === 0) return;
  const why = error?.message ?? `${signal ?? `exit status ${status}`}\n${String(stderr).trim()}`;
  throw new Error(`${side.name}: ${side.argv.join(' ')}\n${why}`);
};

/** Wall clock only, nothing in between. */
const timeAlone = (side) => {
  const [program, ...args] = side.argv;
  const start = performance.now();
  const ended = spawnSync(program, args, {
    cwd: side.cwd,
    env: side.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const wallMs = performance.now() - start;
  check(side, ended);
  return { wallMs };
};

/**
 * Wall clock and processor time of the process and of all that it waited for, by the `time` of bash. Processes that
 * outlive their parent are not in it.
 */
const timeTree = (side) => {
  const script = `TIMEFORMAT='%3R %3U %3S'; { time "$@" 2>&3 3>&- 4>&-; } 3>&2 2>&4`;
  const env = { ...side.env, LC_ALL: 'C' };
  const stdio = ['ignore', 'ignore', 'pipe', 'ignore', 'pipe'];
  const ended = spawnSync('bash', ['-c', script, 'bash', ...side.argv], { cwd: side.cwd, env, stdio });
  check(side, ended);
  const [wall, user, system] = String(ended.output[4]).trim().split(' ').map(Number);
  return { wallMs: wall * 1_000, cpuMs: (user + system) * 1_000 };
};

/** Runs a side once, for what it leaves. */
export const runOnce = (side) => {
  side.before?.();
  timeAlone(side);
};

/** @returns the medians of each side, by name; the sides take turns, the first turn is thrown away */
export const measureSides = (sides, { runs, cpu = false }) => {
  const time = cpu && tools.bash ? timeTree : timeAlone;
  const samples = new Map(sides.map(({ name }) => [name, []]));
  for (let turn = 0; turn <= runs; turn += 1) {
    for (const side of sides) {
      side.before?.();
      const sample = time(side);
      side.after?.();
      if (turn > 0) samples.get(side.name).push(sample);
    }
  }
  const medians = (list) => ({
    wallMs: medianOf(list.map(({ wallMs }) => wallMs)),
    ...(list[0].cpuMs === undefined ? {} : { cpuMs: medianOf(list.map(({ cpuMs }) => cpuMs)) }),
  });
  return Object.fromEntries([...samples].map(([name, list]) => [name, medians(list)]));
};

/** A side as it must be started to leave its figures in `file`. */
export const probed = (side, file, { stall = false } = {}) => {
  const [node, ...rest] = side.argv;
  const env = { ...side.env, BENCH_PROBE: file, ...(stall ? { BENCH_STALL: '1' } : {}) };
  return { ...side, argv: [node, '--require', PROBE, ...rest], env };
};

export const readProbe = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** Peak memory of the Node process itself, in bytes, and its longest event-loop stall; medians. */
export const probeSide = (side, { runs, file, stall = false }) => {
  const peaks = [];
  const stalls = [];
  for (let turn = 0; turn < runs; turn += 1) {
    side.before?.();
    timeAlone(probed(side, file, { stall }));
    side.after?.();
    const { peakBytes, stallMs } = readProbe(file);
    peaks.push(peakBytes);
    stalls.push(stallMs ?? 0);
  }
  return { peakBytes: medianOf(peaks), stallMs: medianOf(stalls) };
};

/** Calls of fsync, fdatasync and their like by the process and its children; `undefined` where strace may not trace. */
export const countSyncs = (side, file) => {
  const strace = [
    'strace',
    '-f',
    '-qq',
    '-e',
    'trace=fsync,fdatasync,syncfs,sync,msync,sync_file_range',
    '-o',
    file,
  ];
  const [program, ...args] = [...strace, ...side.argv];
  side.before?.();
  const ended = spawnSync(program, args, {
    cwd: side.cwd,
    env: side.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (ended.status !== 0 && /ptrace/i.test(String(ended.stderr))) return undefined;
  check(side, ended);
  // A call that another thread interrupts takes two lines; only one of them has the opening parenthesis.
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /\b(fsync|fdatasync|syncfs|sync|msync|sync_file_range)\(/.test(line)).length;
};

/** A process whose output is read by `read`, which gets the stream. */
export const startReading = (side, read) => {
  const [program, ...args] = side.argv;
  const child = spawn(program, args, { cwd: side.cwd, env: side.env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  read(child.stdout);
  return new Promise((settle, reject) => {
    child.on('error', reject);
    child.on('close', (status, signal) => {
      try {
        check(side, { status, signal, stderr });
        settle();
      } catch (error) {
        reject(error);
      }
    });
  });
};
