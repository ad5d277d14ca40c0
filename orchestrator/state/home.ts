import { randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, type Stats } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { digestOf } from '../model/digest.js';
import { Problem } from '../model/failure.js';
import { writeOnce } from './files.js';

/**
 * The user's own folder for what must not lie in the repository: the seal key, the trees of the workers, caches.
 * `$ORCHESTRATE_HOME`, else `$XDG_STATE_HOME/orchestrate`, else `~/.local/state/orchestrate`.
 */
export const orchestrateHome = (env: NodeJS.ProcessEnv): string => {
  const own = env['ORCHESTRATE_HOME'];
  if (own) return resolve(own);
  const state = env['XDG_STATE_HOME'];
  return state
    ? resolve(state, 'orchestrate')
    : join(env['HOME'] || homedir(), '.local', 'state', 'orchestrate');
};

/** One folder a repository, so that two clones of one project never meet. */
const repositoryFolder = (mainRoot: string): string =>
  `${basename(mainRoot).replaceAll(/[^A-Za-z0-9._-]/g, '-')}-${digestOf(mainRoot).slice(7, 19)}`;

/** Folder that holds the working copies of this repository's tickets. */
export const treesFolder = (home: string, mainRoot: string): string =>
  join(home, 'trees', repositoryFolder(mainRoot));

/** Folder for frozen and clean checkouts of this repository; everything in it can be made again. */
export const checkoutsFolder = (home: string, mainRoot: string): string =>
  join(home, 'checkouts', repositoryFolder(mainRoot));

export const cacheFolder = (home: string): string => join(home, 'cache');

const KEY_BYTES = 32;

/**
 * The key that seals journals, made at first use: 32 random bytes, mode 0600.
 * @throws `Problem` `not-writable` when it cannot be made, `record-refused` when others can read or write it
 */
export const sealKey = (home: string): Buffer => {
  const path = join(home, 'key');
  const existing = readKey(path);
  if (existing !== undefined) return existing;
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeOnce(path, randomBytes(KEY_BYTES), { mode: 0o600, sync: true });
  } catch (error) {
    const raced = readKey(path);
    if (raced !== undefined) return raced;
    throw new Problem(
      {
        kind: 'not-writable',
        message: `cannot make the seal key: ${(error as Error).message}`,
        where: path,
        next: 'set ORCHESTRATE_HOME (or XDG_STATE_HOME) to a folder that you can write to',
      },
      { cause: error },
    );
  }
  return readFileSync(path);
};

/**
 * The key if it is there; it is not made.
 * @throws `Problem` `record-refused` as `sealKey`
 */
export const existingKey = (home: string): Buffer | undefined => readKey(join(home, 'key'));

/** `undefined` also where something above it is a file: making it then says what is wrong. */
const entryAt = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw error;
  }
};

const readKey = (path: string): Buffer | undefined => {
  const stat = entryAt(path);
  if (stat === undefined) return undefined;
  if (!stat.isFile() || (stat.mode & 0o077) !== 0 || stat.size !== KEY_BYTES) {
    throw new Problem({
      kind: 'record-refused',
      message: 'the seal key must be a regular file of 32 bytes that only you can read (mode 0600)',
      where: path,
      next: `\`chmod 600 ${path}\`, or move it away if it is not yours; runs sealed with another key are then refused`,
    });
  }
  return readFileSync(path);
};
