// What is added to a real agent: from the fork to the end of its target, less the agent itself, which a program around it times.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { agentFolder, isInstalled } from '../../.ci/agents.mjs';
import { medianOf, probeSide, runOnce } from './measure.mjs';
import { memory, skipped, time } from './rows.mjs';

const RETURN = '{"status":"no-change","summary":["looked"]}';
const TICKET = `---\ntitle: Look\n---\n<fake-llm>[{"shell":"ls"},{"json":${RETURN}}]</fake-llm>\n`;

/** A model that is a script, in a process of its own. @returns its address and how it is ended */
const startModel = async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../helpers/llm-server.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await new Promise((settle) => {
    const lines = createInterface(child.stdout);
    lines.once('line', (first) => settle([first]));
  });
  return { url: JSON.parse(line).url, close: () => child.kill() };
};

/** Also what the orchestrator, its parent's parent, has in memory when the agent begins, in KiB. */
const TIMER = (program) => `#!/bin/sh
field() { sed -n "s/^$1:[^0-9]*\\([0-9]*\\).*/\\1/p" "/proc/$2/status"; }
rss=$(field VmRSS "$(field PPid "$PPID")")
start=$(date +%s%N)
"${program}" "$@"
status=$?
echo "$start $(date +%s%N) $rss" >> "$BENCH_TIMES"
exit $status
`;

const pipeline = (url, recipe) => `name: agent
sandbox: off
env: [BENCH_TIMES]
workers:
  w:
    adapter: codex
    model: gpt-5.1-codex
    args: ["-c", 'model_providers.fake={name="fake",base_url="${url}/v1",env_key="CODEX_API_KEY",wire_api="responses"}', "-c", 'model_provider="fake"']
targets:
  ticket: { builtin: ticket }
  look: { needs: [ticket], ${recipe} }
`;

const makeRepository = (dir, text) => {
  mkdirSync(join(dir, 'tickets'), { recursive: true });
  writeFileSync(join(dir, 'tickets/1.md'), TICKET);
  writeFileSync(join(dir, 'targets.yaml'), text);
  const git = (...args) => execFileSync('git', args, { cwd: dir });
  git('init', '-q');
  git('config', 'user.name', 'b');
  git('config', 'user.email', 'b@example.com');
  git('add', '-A');
  git('commit', '-qm', 'Start');
  return dir;
};

const timeOf = (lines, type) =>
  Date.parse(lines.find(({ event }) => event.target === 'look' && event.type === type).at);

/** Milliseconds between the record of the start and that of the end. */
const forkToEnd = (repository) => {
  const lines = readFileSync(join(repository, '.orchestrate/1/journal.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return timeOf(lines, 'target.done') - timeOf(lines, 'target.started');
};

const NANOSECONDS = 1e6;

/** Milliseconds of the agent that ran last. */
const lastRun = (file) => {
  const [start, end] = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1).split(' ');
  return Number(BigInt(end) - BigInt(start)) / NANOSECONDS;
};

/** Bytes, of each run. */
const atFork = (file) =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.split(' ')[2]) * 1_024);

export const agent = async (bench) => {
  const what = 'around a real agent (codex), fork to exit';
  if (!isInstalled('codex')) return [skipped('I9', what, 'codex is not installed: node .ci/agents.mjs')];
  const model = await startModel();
  try {
    const dir = join(bench.dir, 'agent');
    const bin = join(dir, 'bin');
    const times = join(dir, 'times');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'codex'), TIMER(join(agentFolder('codex'), 'node_modules/.bin/codex')));
    chmodSync(join(bin, 'codex'), 0o755);
    const env = {
      ...bench.env,
      PATH: `${bin}:${bench.env.PATH}`,
      CODEX_API_KEY: 'sk-bench',
      BENCH_TIMES: times,
    };
    const sideOf = (name, recipe) => {
      const repository = makeRepository(join(dir, name), pipeline(model.url, recipe));
      const argv = [process.execPath, bench.program, '-C', repository, 'run', '--ticket', '1'];
      const before = () => {
        rmSync(join(repository, '.orchestrate'), { recursive: true, force: true });
        rmSync(join(bench.home, 'trees'), { recursive: true, force: true });
      };
      return { repository, side: { name, argv, env, before } };
    };
    const agentSide = sideOf('agent', 'worker: w, makes: notes');
    const added = [];
    for (let turn = 0; turn <= bench.runs; turn += 1) {
      runOnce(agentSide.side);
      if (turn > 0) added.push(forkToEnd(agentSide.repository) - lastRun(times));
    }
    const probeFile = join(bench.dir, 'probe-agent.json');
    const { peakBytes } = probeSide(agentSide.side, { runs: bench.memoryRuns, file: probeFile });
    const grown = peakBytes - medianOf(atFork(times).slice(-bench.memoryRuns));
    return [
      time({ id: 'I9', what, got: [`median of ${added.length}`, medianOf(added)], must: 50 }),
      memory({
        id: 'I9',
        what: 'memory from the fork on',
        got: ['peak less that at the fork', Math.max(0, grown)],
        must: 10,
      }),
    ];
  } finally {
    model.close();
    if (existsSync(join(bench.dir, 'agent')))
      rmSync(join(bench.dir, 'agent'), { recursive: true, force: true });
  }
};
