/** Paths as the kernel sees them: where a path really leads, and over which links. */
import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';

export interface Link {
  /** Where the link is, with every link before it resolved. */
  readonly at: string;
  readonly target: string;
}

export interface ResolvedPath {
  readonly real: string;
  readonly links: readonly Link[];
}

/** The kernel's own limit. Source: path_resolution(7). */
const MOST_LINKS = 40;

const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '' && part !== '.');

/** The target of a link, `''` for anything else, `undefined` when there is nothing or we may not look. */
const linkTarget = (path: string): string | undefined => {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    return found.isSymbolicLink() ? readlinkSync(path) : '';
  } catch {
    // A folder on the way is closed to us, or it is a file.
    return undefined;
  }
};

/** Follows an absolute path to its end. @returns `undefined` when it leads nowhere */
export type Resolve = (path: string) => ResolvedPath | undefined;

/** Many paths begin alike: what was looked at once is remembered, so a resolver is for the moment only. */
export const pathResolver = (): Resolve => {
  const targets = new Map<string, string | undefined>();
  const targetOf = (path: string): string | undefined => {
    if (!targets.has(path)) targets.set(path, linkTarget(path));
    return targets.get(path);
  };
  return (path) => {
    const links: Link[] = [];
    const left = partsOf(resolve(path));
    let real = '/';
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      const next = part === '..' ? dirname(real) : `${real === '/' ? '' : real}/${part}`;
      const target = targetOf(next);
      if (target === undefined) return undefined;
      if (target === '') {
        real = next;
        continue;
      }
      links.push({ at: next, target });
      if (links.length > MOST_LINKS) return undefined;
      left.unshift(...partsOf(target));
      if (isAbsolute(target)) real = '/';
    }
    return { real, links };
  };
};

/** Whether a path is a folder or lies below it. Both are absolute and normal. */
export const isWithin = (path: string, folder: string): boolean =>
  path === folder || folder === '/' || path.startsWith(`${folder}/`);

/** Whether a path ends in one of these folders, or passes over a link in one of them. All are real paths. */
export const leadsThrough = ({ real, links }: ResolvedPath, folders: readonly string[]): boolean =>
  folders.some((folder) => [real, ...links.map(({ at }) => at)].some((path) => isWithin(path, folder)));
