import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Rig } from './rig.js';

const AGENT = resolve(import.meta.dirname, '../fixtures/agents/quick-agent.sh');

export interface QuickOptions {
  /** YAML of targets that is added below the built-in ones. */
  readonly targets?: string;
  readonly agent?: string;
}

/**
 * A repository whose ticket 1 goes through the built-in pipeline in well under a second: agents are small shell scripts,
 * the first round is rejected, a policy approves. Every agent that is started, and every push that the remote takes, leaves a line.
 */
export const quickTicket = (rig: Rig, options: QuickOptions = {}): void => {
  const worker = `{ adapter: command, command: [${options.agent ?? AGENT}] }`;
  rig.gitIn(rig.dir, 'init', '-q', '-b', 'main', rig.repo);
  rig.write({
    'README.md': '# Answers\n',
    'tickets/1.md':
      '---\ntitle: The answer\nacceptance: [it is 42]\n---\nWrite the answer into src/answer.txt.\n',
    'targets.yaml': `name: quick
extends: builtin
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
${options.targets ?? ''}`,
  });
  rig.git('add', '-A');
  rig.git('-c', 'commit.gpgSign=false', 'commit', '-qm', 'Start');
  rig.git('init', '-q', '--bare', '.git/origin.git');
  rig.git('remote', 'add', 'origin', join(rig.repo, '.git/origin.git'));
  rig.git('push', '-q', '-u', 'origin', 'main');
  const hook = join(rig.repo, '.git/origin.git/hooks/post-receive');
  writeFileSync(hook, `#!/bin/sh\ncat >>${join(rig.dir, 'pushes.log')}\n`);
  chmodSync(hook, 0o755);
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

/** What the world saw of a ticket: which agents ran, which refs were pushed, and what was landed. */
export const outcomeOf = (rig: Rig) => {
  const log = (format: string): string =>
    rig.git('--git-dir=.git/origin.git', 'log', `--format=${format}`, 'main');
  return {
    agents: linesOf(join(rig.dir, 'agents.log')).toSorted(),
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
