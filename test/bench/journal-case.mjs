// A journal of 100,000 lines, as a long run leaves it that was killed just before its next checkpoint.
import { createHash, createHmac } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { measureSides, runOnce } from './measure.mjs';
import { time } from './rows.mjs';
import { runSide } from './sides.mjs';
import { chain, makeWorkload } from './workloads.mjs';

const LINES = 100_000;
/** Below the interval at which a run writes a checkpoint. */
const AFTER_CHECKPOINT = 1_900;

const sha256 = (text) => createHash('sha256').update(text).digest('hex');

/** Appends lines of attempts that failed, chained and sealed as the program does. */
const appendLines = ({ journal, key, target }, count) => {
  const lines = readFileSync(journal, 'utf8').trimEnd().split('\n');
  let { seq } = JSON.parse(lines.at(-1));
  let prev = sha256(lines.at(-1));
  let attempt = Math.ceil(seq / 2);
  const text = [];
  for (let left = count; left > 0; left -= 2) {
    attempt += 1;
    for (const event of attemptAt(target, attempt)) {
      seq += 1;
      const body = JSON.stringify({ v: 1, seq, at: '2026-01-01T00:00:00.000Z', event }).slice(0, -1);
      const mac = createHmac('sha256', key).update(prev).update(body).digest('hex');
      const line = `${body},"prev":"${prev}","mac":"${mac}"}`;
      prev = sha256(line);
      text.push(line, '\n');
    }
  }
  appendFileSync(journal, text.join(''));
};

const attemptAt = (target, attempt) => [
  {
    type: 'target.started',
    target,
    attempt,
    round: 1,
    reason: 'it failed: exit status 1',
    recipe: `sha256:${'0'.repeat(64)}`,
    inputs: {},
    child: `00-${target}.${attempt}`,
  },
  { type: 'target.failed', target, attempt, kind: 'worker-failed', message: 'exit status 1', retry: true },
];

export const longJournal = (bench) => {
  const work = makeWorkload(join(bench.dir, 'journal'), chain(1));
  const command = (...args) => ({
    name: args[0],
    argv: [process.execPath, bench.program, '-C', work.dir, ...args, '--ticket', '1'],
    env: bench.env,
  });
  runOnce(runSide(bench, work));
  const record = {
    journal: join(work.dir, '.orchestrate/1/journal.jsonl'),
    key: readFileSync(join(bench.home, 'key')),
    target: work.steps[0].name,
  };
  appendLines(record, LINES - AFTER_CHECKPOINT);
  // Opens the record and closes it again, which writes the checkpoint.
  runOnce(command('stop'));
  appendLines(record, AFTER_CHECKPOINT);
  const { boot } = measureSides([command('boot')], bench);
  return [
    time({
      id: 'I8',
      what: 'boot of 100,000 journal lines after a kill',
      got: ['boot', boot.wallMs],
      must: 1_000,
    }),
  ];
};
