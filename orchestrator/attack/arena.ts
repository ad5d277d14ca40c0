/** Throw-away repositories: each with a remote, a home and a state home of its own. Nothing of the person's is read or written. */
import { randomBytes } from 'node:crypto';
import { constants, cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ORDERS_FILE, type Acts, type Orders } from '../../workers/hostile/steps.js';
import { agentText } from './agent.js';
import type { Ground } from './ground.js';
import { AGENT, DECOY, SECRET_VARIABLE } from './names.js';
import { pipelineText, writablePaths, type TextRequest } from './pipeline-text.js';
import type { Subject } from './subject.js';

export interface Arena {
  readonly subject: Subject;
  readonly dir: string;
  readonly repo: string;
  readonly remote: string;
  readonly home: string;
  /** `ORCHESTRATE_HOME`. */
  readonly own: string;
  /** Whole environment of everything that is started here. */
  readonly env: Readonly<Record<string, string>>;
  readonly orders: Orders;
  readonly ordersPath: string;
  /** In the environment of the orchestrator, and nowhere else. */
  readonly secret: string;
}

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

const configText = (remoteName: string): string => `[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
[user]
\tname = Ada Lovelace
\temail = ada@example.com
[remote "${remoteName}"]
\turl = ./.git/origin.git
\tfetch = +refs/heads/*:refs/remotes/${remoteName}/*
`;

export interface ArenaRequest {
  readonly name: string;
  readonly acts: Acts;
  readonly tickets: readonly string[];
  /** What a check runs here. */
  readonly check?: readonly string[];
}

type Places = Orders['places'];

const makePlaces = (dir: string): Places => {
  mkdirSync(dir);
  for (const name of ['bin', 'flags', 'home', 'tmp', 'home/bin']) mkdirSync(join(dir, name));
  mkdirSync(join(dir, 'own'), { mode: 0o700 });
  return { repo: join(dir, 'repo'), home: join(dir, 'home'), own: join(dir, 'own'), bin: join(dir, 'bin') };
};

const makeRepository = (ground: Ground, dir: string, { repo, own }: Places): void => {
  for (const [from, to] of [
    ['template', repo],
    [DECOY, join(dir, DECOY)],
  ] as const)
    cpSync(join(ground.dir, from), to, { recursive: true, mode: constants.COPYFILE_FICLONE });
  writeFileSync(join(repo, '.git', 'config'), configText(ground.subject.pipeline.settings.remote));
  // What is compiled once serves all of them.
  symlinkSync(join(ground.dir, 'cache'), join(own, 'cache'));
};

/** What a rule lets a sandbox write must be there. */
const makeWritable = (request: TextRequest, { repo, home }: Places): void => {
  for (const path of writablePaths(request))
    mkdirSync(path.startsWith('~') ? join(home, path.slice(1)) : resolve(repo, path), { recursive: true });
};

/** One throw-away repository. No process is started. */
export const makeArena = (ground: Ground, request: ArenaRequest): Arena => {
  const { subject, root, home } = ground;
  const dir = join(ground.dir, request.name);
  const places = makePlaces(dir);
  makeRepository(ground, dir, places);
  const token = randomBytes(16).toString('hex');
  const ordersPath = join(dir, ORDERS_FILE);
  const check = request.check === undefined ? {} : { check: request.check };
  const text = { pipeline: subject.pipeline, root, home, token, ordersPath, ...check };
  write(join(places.repo, 'targets.yaml'), pipelineText(text));
  makeWritable(text, places);
  const secret = randomBytes(16).toString('hex');
  const orders = ordersOf(ground, { token, dir, places, acts: request.acts });
  const arena: Arena = {
    subject,
    dir,
    repo: places.repo,
    remote: join(places.repo, '.git', 'origin.git'),
    home: places.home,
    own: places.own,
    env: {
      PATH: `${join(places.home, 'bin')}:${places.bin}:${ground.path}`,
      HOME: places.home,
      ORCHESTRATE_HOME: places.own,
      TMPDIR: join(dir, 'tmp'),
      USER: 'ada',
      LC_ALL: 'C.UTF-8',
      GIT_CONFIG_NOSYSTEM: '1',
      [SECRET_VARIABLE]: secret,
    },
    orders,
    ordersPath,
    secret,
  };
  giveOrders(ground, arena, orders);
  for (const ticket of request.tickets) writeTicket(arena, ticket);
  return arena;
};

const ordersOf = (
  { subject, packageRoot }: Ground,
  parts: Pick<Orders, 'token' | 'dir' | 'places' | 'acts'>,
): Orders => ({
  ...parts,
  orchestrate: [process.execPath, join(packageRoot, 'dist/orchestrate.cjs')],
  pillars: subject.pipeline.settings.pillars,
  outputs: Object.fromEntries(subject.pipeline.targets.map(({ name, outputs }) => [name, outputs])),
});

/** Whole or not at all: workers of other tickets may be reading it. */
export const giveOrders = (ground: Ground, { ordersPath, dir }: Arena, orders: Orders): void => {
  replace(ordersPath, JSON.stringify(orders), 0o644);
  replace(join(dir, 'bin', AGENT), agentText(ground, orders.acts), 0o755);
};

const replace = (path: string, text: string, mode: number): void => {
  writeFileSync(`${path}.new`, text, { mode });
  renameSync(`${path}.new`, path);
};

/** With every label that some target waits for. */
export const writeTicket = ({ repo, subject }: Arena, ticket: string): void => {
  const { settings, targets } = subject.pipeline;
  const labels = [...new Set(targets.flatMap(({ whenLabels }) => whenLabels ?? []))];
  const text = `---\ntitle: Attack ${ticket}\nlabels: ${JSON.stringify(labels)}\nacceptance: [there is a file]\n---\nWrite a file.\n`;
  write(join(repo, settings.tickets.path.replaceAll('{ticket}', ticket)), text);
};

/** Ends what the attack left running here: whatever still waits ends when its orders are gone. */
export const closeArena = ({ ordersPath }: Arena): void => rmSync(ordersPath, { force: true });
