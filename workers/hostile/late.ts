/** Processes that outlive their worker, or try to. */
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { confined } from './guard.js';
import { speakForCritic, usurp } from './late-critic.js';
import { filled, log, type Scene } from './scene.js';
import { TOKEN_VARIABLE, type Late } from './steps.js';
import { attempt, flag, isClaimed, raise, until } from './waiting.js';

/** What a late process is started with, behind the orders. */
export interface LateOrders {
  readonly row: string;
  readonly scene: Pick<Scene, 'ticket' | 'tree' | 'out'>;
  readonly late: Late;
}

/** Starts one; when this returns, it is there. */
export const leave = (
  scene: Scene,
  row: string,
  { hidden, late }: { readonly hidden: boolean; readonly late: Late },
): string => {
  const { ticket, tree, out, ordersPath, orders } = scene;
  const told: LateOrders = { row, scene: { ticket, tree, out }, late };
  const argv = [process.execPath, process.argv[1] ?? '', ordersPath, JSON.stringify(told)];
  const clean = { PATH: process.env['PATH'], HOME: orders.places.home, [TOKEN_VARIABLE]: orders.token };
  const stdout = late.do === 'hold' ? 1 : 'ignore';
  // The shell ends at once, so that nobody is the parent any more.
  const words = hidden ? ['/bin/sh', '-c', '"$@" & ', 'sh', ...argv] : argv;
  const child = spawn(words[0] ?? '', words.slice(1), {
    cwd: tree,
    detached: true,
    env: hidden ? clean : process.env,
    stdio: ['ignore', stdout, 'ignore'],
  });
  child.unref();
  const ready = join(out, `late-${row}`);
  until(scene, () => existsSync(ready));
  raise(scene, 'late');
  return `process ${readFileSync(ready, 'utf8')}`;
};

/** The whole life of a late process. */
export const liveOn = (scene: Scene, { row, late }: LateOrders): void => {
  writeFileSync(join(scene.out, `late-${row}`), String(process.pid));
  switch (late.do) {
    case 'speak':
      return speak(scene, row, late.child);
    case 'scribble':
      return scribble(scene, late);
    case 'speak-for-critic':
      return speakForCritic(scene, row, late.child);
    case 'usurp':
      return usurp(scene, row, late.child);
    case 'approve':
      return approve(scene, row, late);
    case 'hold':
      return hold(scene, row, late.forMs);
  }
};

const speak = (scene: Scene, row: string, child: string): void => {
  until(scene, () => isClaimed(scene, child));
  log(scene, row, 'late', { outcome: 'done', detail: 'still there when the next child was started' });
};

const scribble = (scene: Scene, { path, text, after }: Extract<Late, { do: 'scribble' }>): void => {
  const file = confined(scene.orders, filled(scene, path));
  until(scene, () => existsSync(filled(scene, after)));
  until(scene, () => {
    appendFileSync(file, text);
    return false;
  });
};

const approve = (scene: Scene, row: string, { ticket, target }: Extract<Late, { do: 'approve' }>): void => {
  attempt(scene, row, () => {
    let said = '';
    // As long as a run goes on its ticket is locked.
    until(scene, () => {
      const answer = runApprove(scene, { ticket: filled(scene, ticket), target }, process.env);
      said = answer.said;
      return answer.status !== BUSY && answer.status !== NOT_WAITING;
    });
    return said;
  });
  raise(scene, 'approved');
};

/** Exit statuses of `approve`: the ticket is locked; nothing waits for an answer. */
const BUSY = 5;
const NOT_WAITING = 2;
const TAKEN = 0;

interface Asked {
  readonly ticket: string;
  readonly target: string;
}

/** Digest that a person was asked about last. */
const awaitedIn = (journal: string): string =>
  [...journal.matchAll(/"outcome":"awaiting","digest":"(sha256:[0-9a-f]{64})"/g)].at(-1)?.[1] ?? '';

/** Answers as a person would. @throws with what the binary said, when it refused for good */
export const runApprove = (
  { orders }: Scene,
  { ticket, target }: Asked,
  env: NodeJS.ProcessEnv,
): { readonly status: number | null; readonly said: string } => {
  const [program = '', ...args] = orders.orchestrate;
  const journal = join(orders.places.repo, '.orchestrate', ticket, 'journal.jsonl');
  const digest = awaitedIn(readFileSync(journal, 'utf8'));
  const more = ['approve', '--ticket', ticket, '--target', target, '--digest', digest];
  const { status, stderr } = spawnSync(program, [...args, ...more], {
    cwd: orders.places.repo,
    env: { ...env, HOME: orders.places.home, ORCHESTRATE_HOME: orders.places.own },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (status === TAKEN) return { status, said: `\`approve\` of ${ticket} was taken for a person's` };
  const said = `exit status ${status}: ${(stderr ?? '').split('\n')[0] ?? ''}`;
  if (status === BUSY || status === NOT_WAITING) return { status, said };
  throw new Error(said);
};

const hold = (scene: Scene, row: string, forMs: number): void => {
  const end = Date.now() + forMs;
  until(scene, () => Date.now() >= end);
  log(scene, row, 'late', { outcome: 'done', detail: `standard output was held for ${forMs} ms` });
};

/** Until the late process of this ticket has done its part; there is none where its place cannot be seen. */
export const waitForLate = (scene: Scene, part: 'spoken' | 'approved'): string => {
  if (!existsSync(flag(scene, 'late'))) throw new Error('there is none');
  until(scene, () => existsSync(flag(scene, part)));
  return `it has ${part}`;
};
