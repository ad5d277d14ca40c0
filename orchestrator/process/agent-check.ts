/** Whether an agent's program is here and somebody is logged in: by files and variables, without starting it or spending a token. */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Agent } from '../../workers/worker.js';
import { resolveProgram } from './program.js';

export interface AgentHere {
  /** Absolute path; `undefined` when it is not on the PATH. */
  readonly program: string | undefined;
  /** What shows that somebody is logged in, or `undefined`. */
  readonly login: string | undefined;
}

const KEYCHAIN_MS = 5_000;

interface Place {
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Folder that a relative PATH entry would be of; such entries are skipped. */
  readonly cwd: string;
}

export const findAgent = (agent: Agent, { env, cwd }: Place): AgentHere => ({
  program: resolveProgram(agent.program, { path: env['PATH'], cwd }),
  login: loginOf(agent, env),
});

const loginOf = ({ login }: Agent, env: Readonly<NodeJS.ProcessEnv>): string | undefined => {
  const variable = login.variables.find((name) => (env[name] ?? '') !== '');
  if (variable !== undefined) return `$${variable}`;
  const file = login.files.map((each) => loginFile(each, env)).find((path) => isThere(path));
  return file ?? keychainEntry(login.keychain);
};

/** On macOS a login may be in the keychain. Only whether there is one is asked, never what it is. */
const keychainEntry = (name: string | undefined): string | undefined => {
  if (name === undefined || process.platform !== 'darwin') return undefined;
  const { status } = spawnSync('/usr/bin/security', ['find-generic-password', '-s', name], {
    stdio: 'ignore',
    timeout: KEYCHAIN_MS,
  });
  return status === 0 ? `the keychain entry ${name}` : undefined;
};

const loginFile = (
  { path, folder }: Agent['login']['files'][number],
  env: Readonly<NodeJS.ProcessEnv>,
): string => {
  const moved = folder === undefined ? '' : (env[folder.variable] ?? '');
  if (folder !== undefined && moved !== '') return join(moved, folder.path);
  return join(env['HOME'] ?? homedir(), path);
};

const isThere = (path: string): boolean => {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && (stat.isDirectory() || stat.size > 2);
};
