import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder, orchestrateHome } from '../state/home.js';

// What V8 compiled of the bundle, kept between runs in `<orchestrate home>/cache/code/`. Only ever a shortcut: whatever goes
// wrong here, the bundle is compiled from its source.

/** Commands with a cache of their own: each holds just the functions that this command runs. */
const COMMANDS = new Set(
  'run status approve reject tell boot logs explain graph validate verify attack stop abandon clean init doctor demo'.split(
    ' ',
  ),
);

const UNUSED_MS = 30 * 24 * 60 * 60 * 1_000;

/**
 * The name says what the cache was made from: V8 checks its own version and flags, but of the source only the length.
 * @param digest of the bundle's bytes
 */
export const codeCachePath = (digest: string, argv: readonly string[]): string => {
  const command = argv.find((word) => COMMANDS.has(word)) ?? 'other';
  const name = [digest, process.version, process.platform, process.arch, command].join('-');
  return join(cacheFolder(orchestrateHome(process.env)), 'code', `${name}.bin`);
};

/**
 * What the first run of a command compiled. The second adds what it compiled besides (one that makes something calls other
 * functions than one that finds everything made) and stores both under the final name.
 */
export const firstCachePath = (path: string): string => path.replace(/\.bin$/, '-first.bin');

/** The stored bytes; `undefined` when there are none, or when somebody else could have written them: they are code. */
export const readCodeCache = (path: string): Buffer | undefined => {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const stat = fstatSync(fd);
    const own = stat.isFile() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0;
    return own ? readFileSync(fd) : undefined;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
};

/** Stores the bytes whole or not at all, and forgets caches that are a month old (one in use is made again). */
export const writeCodeCache = (path: string, data: Uint8Array): void => {
  const draft = `${path}.${process.pid}`;
  try {
    makeFolder(dirname(path));
    forgetOld(dirname(path));
    writeSynced(draft, data);
    renameSync(draft, path);
  } catch {
    discard(draft);
  }
};

/**
 * `mkdirSync` with `recursive` never returns where the system answers ENOENT below a folder that is there (`/proc`, Node 20).
 * @throws the system error, unless the folder is there
 */
const makeFolder = (path: string): void => {
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT') throw error;
    makeFolder(dirname(path));
    mkdirSync(path, 0o700);
  }
};

/** V8 does not checksum what it reads: a file that a power loss cut short must not get the final name. */
const writeSynced = (path: string, data: Uint8Array): void => {
  const fd = openSync(path, 'wx', 0o600);
  try {
    writeSync(fd, data);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
};

const forgetOld = (folder: string): void => {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (Date.now() - statSync(path).mtimeMs > UNUSED_MS) discard(path);
  }
};

export const discard = (path: string): void => {
  try {
    rmSync(path, { force: true });
  } catch {
    // It stays; nothing depends on it.
  }
};
