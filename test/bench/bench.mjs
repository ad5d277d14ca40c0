// npm run bench [-- --quick] [--only P2 --only I1] [--json] [--runs N] [--program FILE] [--dir DIR]
// How to read the result: README.md beside this file.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { cpus, loadavg, platform, release, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { agent } from './agent-case.mjs';
import { CASES } from './cases.mjs';
import { longJournal } from './journal-case.mjs';
import { live, output } from './output-cases.mjs';
import { toTable } from './rows.mjs';

const RUNS = 11;
const QUICK_RUNS = 3;
/** Peak memory hardly varies. */
const MEMORY_RUNS = 5;

const OPTIONS = {
  help: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  only: { type: 'string', multiple: true, default: [] },
  json: { type: 'boolean', default: false },
  runs: { type: 'string' },
  program: { type: 'string', default: join(import.meta.dirname, '../../dist/orchestrate.cjs') },
  dir: { type: 'string', default: tmpdir() },
};

const say = (text) => process.stderr.write(`${text}\n`);

const parseOptions = () => {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    // What it says behind the first sentence is about arguments that begin with a dash.
    say(`bench: ${error.message.split(/\.?\s*\n|\. /)[0]}; --help lists the options`);
    process.exit(2);
  }
};

/** As README.md shows it. */
const usage = () =>
  readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
    .split('```')[1]
    .trim();

const options = parseOptions();

/** @type {ReadonlyMap<(bench: object) => object[] | Promise<object[]>, readonly string[]>} */
const cases = new Map([
  ...CASES,
  [longJournal, ['I8']],
  [output, ['P8', 'I6']],
  [live, ['P9']],
  [agent, ['I9']],
]);
const wanted = options.only.flatMap((ids) => ids.split(','));
const known = [...cases.values()].flat();
const unknown = wanted.filter((id) => !known.includes(id));
const isWanted = (id) => wanted.length === 0 || wanted.includes(id);

const runsOf = () => {
  const runs = Number(options.runs ?? (options.quick ? QUICK_RUNS : RUNS));
  return Number.isSafeInteger(runs) && runs > 0 ? runs : undefined;
};

const machine = () => ({
  node: process.version,
  system: `${platform()} ${release()}`,
  processor: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  load: loadavg()[0],
});

const makeBench = (runs) => {
  const dir = realpathSync(mkdtempSync(join(options.dir, 'orchestrate-bench-')));
  const home = join(dir, 'home');
  mkdirSync(home, { mode: 0o700 });
  const { PATH = '', LANG = 'C.UTF-8', TMPDIR = tmpdir() } = process.env;
  return {
    dir,
    home,
    program: resolve(options.program),
    env: { PATH, LANG, TMPDIR, HOME: home, ORCHESTRATE_HOME: home, NO_COLOR: '1' },
    runs,
    memoryRuns: Math.min(runs, MEMORY_RUNS),
    /** Forgets validated pipelines, keeps compiled code. */
    forgetPipelines: () => {
      const cache = join(home, 'cache');
      for (const name of readdirSync(cache))
        if (name !== 'code') rmSync(join(cache, name), { recursive: true });
    },
  };
};

const measureAll = async (bench) => {
  const rows = [];
  for (const [measure, ids] of cases) {
    if (!ids.some(isWanted)) continue;
    say(`${ids.join(', ')} …`);
    rows.push(...(await measure(bench)).filter(({ id }) => isWanted(id)));
  }
  return rows;
};

const main = async () => {
  if (options.help) {
    process.stdout.write(`${usage()}\n`);
    return 0;
  }
  const runs = runsOf();
  if (unknown.length > 0 || runs === undefined || !existsSync(options.program)) {
    say(
      unknown.length > 0
        ? `bench: no row ${unknown.join(', ')}; there are ${known.join(', ')}`
        : 'bench: --runs must be a whole number, and the program must be built',
    );
    return 2;
  }
  const about = machine();
  if (about.load > about.cores / 4)
    say(`bench: the machine is busy (load ${about.load.toFixed(1)}): the figures say little`);
  const bench = makeBench(runs);
  try {
    const rows = await measureAll(bench);
    if (options.json)
      process.stdout.write(`${JSON.stringify({ machine: about, runs, rows }, undefined, 2)}\n`);
    else
      process.stdout.write(
        `${about.node}, ${about.cores} x ${about.processor}, medians of ${runs} runs\n\n${toTable(rows)}\n`,
      );
    return rows.some(({ verdict }) => verdict === 'MISSED') ? 1 : 0;
  } finally {
    rmSync(bench.dir, { recursive: true, force: true });
  }
};

try {
  process.exitCode = await main();
} catch (error) {
  say(`bench: ${error.message}`);
  process.exitCode = 1;
}
