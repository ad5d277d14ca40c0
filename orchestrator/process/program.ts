import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

/** Where execvp(3) looks when there is no PATH. */
const DEFAULT_PATH = '/usr/bin:/bin';

interface Lookup {
  /** The PATH of the process that will run it, not ours. */
  readonly path: string | undefined;
  /** Working directory of that process, absolute. */
  readonly cwd: string;
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

/**
 * Absolute path of a program: an executable regular file. A name with a slash is relative to `cwd`; otherwise PATH is searched.
 * Relative and empty PATH entries are skipped, because what they mean changes with the folder that a worker writes in.
 * @returns `undefined` when there is none
 */
export const resolveProgram = (name: string, { path, cwd }: Lookup): string | undefined => {
  if (name === '' || name.includes('\0')) return undefined;
  if (name.includes('/')) {
    const absolute = isAbsolute(name) ? name : resolve(cwd, name);
    return isExecutable(absolute) ? absolute : undefined;
  }
  return (path ?? DEFAULT_PATH)
    .split(':')
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .find((candidate) => isExecutable(candidate));
};
