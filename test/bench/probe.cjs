// node --require probe.cjs PROGRAM: at its end the process writes what it used to the file $BENCH_PROBE.
// Peak memory is VmHWM where there is a procfs: `getrusage` also counts the parent that forked us, before exec.
'use strict';
const fs = require('node:fs');
const { monitorEventLoopDelay } = require('node:perf_hooks');

const RESOLUTION_MS = 1;
/** The start is one long turn by nature; a stall is one while children run. */
const AFTER_MS = 300;

const file = process.env.BENCH_PROBE;
delete process.env.BENCH_PROBE;
const delay =
  process.env.BENCH_STALL === '1' ? monitorEventLoopDelay({ resolution: RESOLUTION_MS }) : undefined;
delete process.env.BENCH_STALL;
if (delay !== undefined) setTimeout(() => delay.enable(), AFTER_MS).unref();

const peakBytes = () => {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
};

process.on('exit', () => {
  const stallMs = delay === undefined || delay.count === 0 ? null : delay.max / 1e6 - RESOLUTION_MS;
  fs.writeFileSync(file, JSON.stringify({ peakBytes: peakBytes(), stallMs }));
});
