import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { ALL_KEYS } from '../../workers/provider-keys.js';
import type { Invocation, Worker, WorkerPaths } from '../../workers/worker.js';
import type { ForkRequest } from '../model/child.js';
import type { Target } from '../model/pipeline.js';
import { buildPrompt } from '../context/prompt.js';
import { childEnvironment } from '../process/child-env.js';
import { returnJsonSchema } from '../process/return-json-schema.js';
import { contain } from './containment.js';
import { commonVariables } from './fork.js';
import type { Frozen } from './freeze.js';
import { returnChannel, type ReturnChannel } from './return-channel.js';
import { stateOf, workFolder, type TicketRun } from './ticket-run.js';
import { promptParts, type ForkParts, type Told } from './worker-prompt.js';

export interface PreparedFork {
  readonly request: ForkRequest;
  readonly channel: ReturnChannel;
}

/** Folder in a child's folder that is its agent's own. */
const CONFIG = 'agent';

export const configFolder = (folder: string): string => join(folder, CONFIG);

const pathsOf = (folder: string, tree: string): WorkerPaths => {
  const out = join(folder, 'out');
  const config = configFolder(folder);
  return {
    tree,
    out,
    prompt: join(folder, 'prompt.md'),
    returnPath: join(out, `return-${randomBytes(12).toString('hex')}.json`),
    config,
    schema: join(config, 'return.schema.json'),
  };
};

/** The request to fork, as plain data; the files that the adapter asks for are written. */
export const prepareFork = (run: TicketRun, target: Target, parts: ForkParts): PreparedFork => {
  const { worker, attempt, folder, containment } = parts;
  const paths = pathsOf(folder, parts.frozen?.checkout ?? workFolder(run));
  makePlaces(paths);
  const sandboxed = containment.tier === 'sandbox';
  const schema = returnJsonSchema(target.makes, run.pipeline.settings.pillars);
  const invocation = invocationOf(run, target, { parts, paths, schema, sandboxed });
  const channel = returnChannel(target, worker, invocation, sandboxed);
  if (worker.agent !== undefined) writeConfig(paths, invocation, schema);
  const told: Told = {
    ...parts,
    paths,
    channel,
    round: stateOf(run, target).context.round,
    returnTo: channel.kind === 'file' ? paths.returnPath : '-',
  };
  const request: ForkRequest = {
    ticket: run.ticket,
    target: target.name,
    number: target.number,
    generation: attempt,
    dir: folder,
    ...startOf(run, target, told, invocation),
    cwd: paths.tree,
    prompt: buildPrompt(promptParts(run, target, told)),
    returnPath: paths.returnPath,
    returns: channel.kind,
    ...(channel.socket ? { output: 'socket' } : {}),
    limits: target.limits,
  };
  return { request, channel };
};

/** An agent gets the keys of its own provider; a program that may be an agent, all. */
const keysFor = ({ agent }: Worker): readonly string[] => agent?.keys ?? ALL_KEYS;

interface Asked {
  readonly parts: ForkParts;
  readonly paths: WorkerPaths;
  readonly schema: string;
  readonly sandboxed: boolean;
}

const invocationOf = (run: TicketRun, target: Target, asked: Asked): Invocation => {
  const { parts, paths, schema, sandboxed } = asked;
  const { env: parent, pipeline } = run;
  const keys = keysFor(parts.worker);
  const variables = childEnvironment({ parent, allow: pipeline.settings.env, keys, set: {} });
  return parts.worker.invocation({
    spec: parts.spec,
    ticket: run.ticket,
    target: target.name,
    access: target.access,
    paths,
    schema,
    home: parent['HOME'] ?? homedir(),
    variables: new Set(Object.keys(variables)),
    folders: movedFolders(parts, parent),
    sandboxed,
    packageRoot: run.packageRoot,
    nodePath: process.execPath,
  });
};

/** Where the user has moved the folder that the login is in. */
const movedFolders = ({ worker }: ForkParts, env: NodeJS.ProcessEnv): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (worker.agent?.login.files ?? []).flatMap(({ folder }) => {
      const moved = folder === undefined ? undefined : env[folder.variable];
      return folder === undefined || moved === undefined || moved === '' ? [] : [[folder.variable, moved]];
    }),
  );

/** Program and environment, in what contains them. */
const startOf = (
  run: TicketRun,
  target: Target,
  told: Told,
  invocation: Invocation,
): Pick<ForkRequest, 'argv' | 'env'> => {
  const { spec, paths, containment, worker } = told;
  const env = childEnvironment({
    parent: run.env,
    allow: run.pipeline.settings.env,
    ...(invocation.agentKeys ? { keys: keysFor(worker) } : {}),
    set: {
      ...invocation.env,
      ...spec.env,
      ...commonVariables(run, target, told.attempt),
      ORCHESTRATE_ROUND: String(told.round),
      ORCHESTRATE_MAKES: target.makes,
      ORCHESTRATE_ACCESS: target.access,
      ORCHESTRATE_TREE: paths.tree,
      ORCHESTRATE_OUT: paths.out,
      ORCHESTRATE_RETURN: told.returnTo,
    },
  });
  const argv = contain(run, containment, {
    argv: invocation.argv,
    cwd: paths.tree,
    env,
    rule: spec.sandbox,
    read: [...readable(run, told.frozen, paths), ...namedFiles(env)],
    write: writable(target, paths, worker.agent === undefined ? undefined : invocation),
  });
  return { argv, env };
};

/** What a sandbox is to show must be there when it is described. The prompt gets its text with the rest of the intent. */
const makePlaces = ({ out, prompt }: WorkerPaths): void => {
  mkdirSync(out, { recursive: true });
  if (!existsSync(prompt)) writeFileSync(prompt, '', { mode: 0o400 });
};

/**
 * The agent's own folder: its settings, and links to the user's login, where there is one. And the folder of its notes: copilot writes
 * a file into a folder only if that is there, and without a shell it cannot make one.
 */
const writeConfig = ({ out, config, schema }: WorkerPaths, invocation: Invocation, text: string): void => {
  mkdirSync(join(out, 'notes'), { recursive: true });
  mkdirSync(config, { recursive: true, mode: 0o700 });
  writeFileSync(schema, `${text}\n`);
  for (const file of invocation.files ?? []) {
    const path = join(config, file.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.text, { mode: 0o600 });
  }
  for (const { path, from } of invocation.links ?? []) {
    if (!existsSync(from)) continue;
    mkdirSync(dirname(join(config, path)), { recursive: true });
    symlinkSync(from, join(config, path));
  }
};

/** Variables whose value is a file or a folder that an agent reads its settings from. */
const FILE_VARIABLES = [
  'OPENCODE_CONFIG',
  'OPENCODE_CONFIG_DIR',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
];

const namedFiles = (env: Readonly<Record<string, string>>): string[] =>
  FILE_VARIABLES.flatMap((name) => env[name] ?? []).filter((path) => isAbsolute(path));

/** What a sandboxed worker is shown, read-only. */
const readable = (run: TicketRun, frozen: Frozen | undefined, paths: WorkerPaths): string[] => [
  paths.tree,
  paths.prompt,
  join(run.recorder.directory.artifacts, 'notes'),
  ...(frozen === undefined
    ? []
    : [frozen.diff, frozen.ignored ?? frozen.diff, ...frozen.pages.map(({ path }) => path)]),
];

/** What it can write: the tree only with access to it, and always its results and its own settings. */
const writable = (target: Target, paths: WorkerPaths, agent: Invocation | undefined): string[] => [
  ...(target.access === 'write' ? [paths.tree] : []),
  paths.out,
  ...(agent === undefined ? [] : [paths.config]),
  ...(agent?.links ?? []).map(({ from }) => from).filter((from) => existsSync(from)),
];
