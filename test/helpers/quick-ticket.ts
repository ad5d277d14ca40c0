import {
  appendFileSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll } from 'vitest';
import { writeFiles, type Rig } from './rig.js';

const AGENT = resolve(import.meta.dirname, '../fixtures/agents/quick-agent.sh');

export interface QuickOptions {
  /** YAML of targets that is added below the built-in ones. */
  readonly targets?: string;
  readonly agent?: string;
}

/** Made once for a file and an agent: eight processes for each of hundreds of rigs would take longer than what they test. */
const templates = new Map<string, string>();

// At the level of the file that imports this: inside a test it would be too late to be asked for.
afterAll(() => {
  for (const dir of templates.values()) rmSync(dir, { recursive: true, force: true });
  templates.clear();
});

/**
 * A repository whose ticket 1 goes through the built-in pipeline in well under a second: agents are small shell scripts,
 * the first round is rejected, a policy approves. Every agent that is started, and every push that the remote takes, leaves a line.
 */
export const quickTicket = (rig: Rig, options: QuickOptions = {}): void => {
  const agent = options.agent ?? AGENT;
  const key = `${agent} ${options.targets ?? ''}`;
  const template = templates.get(key) ?? makeTemplate(rig, agent, options.targets ?? '');
  templates.set(key, template);
  cpSync(template, rig.repo, { recursive: true, preserveTimestamps: true, mode: constants.COPYFILE_FICLONE });
};

const makeTemplate = (rig: Rig, agent: string, targets: string): string => {
  const dir = mkdtempSync(join(tmpdir(), 'orchestrate-quick-'));
  const git = (...args: string[]): string => rig.gitIn(dir, ...args);
  const worker = `{ adapter: command, command: [${agent}] }`;
  // Samples of hooks would be half of what is copied.
  git('init', '-q', '--template=', '-b', 'main');
  writeFiles(dir, {
    'README.md': '# Answers\n',
    'tickets/1.md':
      '---\ntitle: The answer\nacceptance: [it is 42]\n---\nWrite the answer into src/answer.txt.\n',
    'targets.yaml': `name: quick
extends: builtin
sandbox: off
env: [AGENT_LOG, GATED, GATE, WRONG_ROUNDS]
workers:
  archaeologist: ${worker}
  builder: ${worker}
  critic: ${worker}
  scribe: ${worker}
targets:
  approved-plan:
    gates: [{ approval: { policy: { paths: ["src/**"], maxFiles: 5, maxLines: 50 } } }]
  implementation-diff:
    gates: [not-empty, blast-radius, { check: { name: answer, run: [grep, -q, "4", src/answer.txt], timeout: 1m } }]
${targets}`,
  });
  git('add', '-A');
  git('-c', 'commit.gpgSign=false', 'commit', '-qm', 'Start');
  git('init', '-q', '--template=', '--bare', '.git/origin.git');
  // Relative, as the template is copied.
  git('remote', 'add', 'origin', './.git/origin.git');
  git('push', '-q', '-u', 'origin', 'main');
  writeFiles(join(dir, '.git/origin.git'), {
    'hooks/post-receive': '#!/bin/sh\nwhile read -r line; do echo "$line"; done >>../../../pushes.log\n',
  });
  chmodSync(join(dir, '.git/origin.git/hooks/post-receive'), 0o755);
  appendFileSync(join(dir, '.git/origin.git/config'), '[receive]\n\tautogc = false\n');
  return dir;
};

/** What `rig.run` needs in its environment, so that the agents' lines are found. */
export const quickEnv = (rig: Rig): Record<string, string> => ({ AGENT_LOG: join(rig.dir, 'agents.log') });

/** Starts in `agents.log`: a worker that was waited for again has one line, one that was started again two. */
export const agentStarts = (rig: Rig): string[] => linesOf(join(rig.dir, 'agents.log'));

const linesOf = (path: string): string[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];

const isCritic = (start: string): boolean => start.startsWith('adversarial-review ');

/**
 * Each start that there must be exactly once, whatever was killed. A critic is asked again when the orchestrator that listened to it is
 * gone: of its starts one a round is kept.
 */
export const startsWithoutRepeatedCritics = (starts: readonly string[]): readonly string[] =>
  [...starts.filter((start) => !isCritic(start)), ...new Set(starts.filter(isCritic))].toSorted();

/** What the world saw of a ticket: which agents ran, which refs were pushed, and what was landed. */
export const outcomeOf = (rig: Rig) => {
  const log = (format: string): string =>
    rig.git('--git-dir=.git/origin.git', 'log', `--format=${format}`, 'main');
  return {
    agents: startsWithoutRepeatedCritics(agentStarts(rig)),
    pushed: linesOf(join(rig.dir, 'pushes.log')).map((line) => line.split(' ')[2]),
    tree: log('%T').split('\n')[0],
    subjects: log('%s').split('\n'),
    documents: [
      '00_governance.md',
      '10_ticket.md',
      '20_plan_approved.md',
      '30_critic_summary.md',
      '99_next_action.md',
    ].map((name) => withoutTimes(rig.read(`.orchestrate/1/state/${name}`), rig)),
  };
};

/** Times, the rig's own folder and what follows from them are no part of an outcome. */
const withoutTimes = (text: string, rig: Rig): string =>
  text
    .replaceAll(rig.dir, 'RIG')
    .replaceAll(/repo-[0-9a-f]{12}/g, 'repo-ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/(base: "|on base )[0-9a-f]{40}/g, '$1BASE')
    .replaceAll(/"?sha256:[0-9a-f]+"?/g, 'DIGEST')
    .replaceAll(/seal: .*/g, 'seal')
    .replaceAll(/seq: \d+|journal line \d+/g, 'LINE')
    .replaceAll(/(child: \S+?)\.\d+/g, '$1.N');
