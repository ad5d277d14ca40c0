/**
 * What of the file system a sandbox shows.
 *
 * M1  It is a list of what is visible; everything else does not exist inside.
 * M2  The deepest entry over a path decides about it; of two about the same path the later kind in `KINDS`.
 * M3  Only real paths are mounted. Links that lead to them are made again, so that a path means inside what it means outside.
 */
import { existsSync, lstatSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isWithin } from './sandbox-paths.js';
import type { Link, Resolve, ResolvedPath } from './sandbox-paths.js';

/**
 * `system` and `program`: read-only, as the machine has them. `scratch`: empty, writable, gone afterwards. `hidden`: empty and closed
 * but for what is listed in it. `read` and `write`: what was asked for by name.
 */
const KINDS = ['system', 'program', 'scratch', 'hidden', 'read', 'write'] as const;
type Kind = (typeof KINDS)[number];

export interface Entry {
  /** Absolute. */
  readonly path: string;
  readonly kind: Kind;
}

export interface MountPlan {
  /** Real paths, parents first; nothing in it is without effect. */
  readonly entries: readonly Entry[];
  readonly links: readonly Link[];
}

/** A scratch folder need not exist outside. */
const placeOf = ({ path, kind }: Entry, resolvePath: Resolve): ResolvedPath | undefined =>
  resolvePath(path) ?? (kind === 'scratch' ? nearest(path, resolvePath) : undefined);

const nearest = (path: string, resolvePath: Resolve): ResolvedPath => {
  const absolute = resolve(path);
  const above = dirname(absolute);
  if (above === absolute) return { real: '/', links: [] };
  const { real, links } = resolvePath(above) ?? nearest(above, resolvePath);
  return { real: join(real, basename(absolute)), links };
};

const depthOf = (path: string): number => (path === '/' ? 0 : path.split('/').length);

/** The entry that decides about a real path. */
const decides = (entries: readonly Entry[], path: string): Entry | undefined =>
  entries.findLast((entry) => isWithin(path, entry.path));

const isShown = (entry: Entry | undefined): boolean =>
  entry !== undefined && entry.kind !== 'scratch' && entry.kind !== 'hidden';

type Rule = (around: Entry | undefined, path: string, all: readonly Entry[]) => boolean;

/** Whether an entry changes anything below the one that decides about its path so far. */
const MATTERS: Readonly<Record<Kind, Rule>> = {
  system: (around) => !isShown(around),
  program: (around) => !isShown(around) && around?.kind !== 'hidden',
  // In a folder of the machine nothing can be made for it; in one that is writable there is no need.
  scratch: (around, path) => around?.kind !== 'write' && (!isShown(around) || existsSync(path)),
  // Where nothing is shown and nothing is listed below it, it does not exist anyway.
  hidden: (around, path, all) =>
    isShown(around) || all.some((entry) => entry.path !== path && isWithin(entry.path, path)),
  read: (around) => !isShown(around) || around?.kind === 'write',
  write: (around) => around?.kind !== 'write',
};

/** Entries that lead nowhere are left out. */
export const planMounts = (wishes: readonly Entry[], resolvePath: Resolve): MountPlan => {
  const kinds = new Map<string, Kind>();
  const links = new Map<string, Link>();
  for (const wish of wishes) {
    const place = placeOf(wish, resolvePath);
    if (place === undefined || place.real === '/') continue;
    for (const link of place.links) links.set(link.at, link);
    const known = kinds.get(place.real);
    if (known === undefined || KINDS.indexOf(known) < KINDS.indexOf(wish.kind))
      kinds.set(place.real, wish.kind);
  }
  const sorted = [...kinds]
    .map(([path, kind]): Entry => ({ path, kind }))
    .toSorted((one, other) => depthOf(one.path) - depthOf(other.path));
  const entries: Entry[] = [];
  for (const entry of sorted) {
    if (MATTERS[entry.kind](decides(entries, entry.path), entry.path, sorted)) entries.push(entry);
  }
  // A link in a folder that is shown is there already.
  const missing = [...links.values()].filter(({ at }) => !isShown(decides(entries, dirname(at))));
  return { entries, links: missing };
};

/** Whether a real path can be reached inside, with what it has outside. */
export const isVisible = ({ entries }: MountPlan, real: string): boolean => isShown(decides(entries, real));

/** Whether a real path is one of the empty, writable folders. */
export const isScratch = ({ entries }: MountPlan, real: string): boolean =>
  entries.some(({ kind, path }) => kind === 'scratch' && path === real);

const isFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** A device works only where the mount allows it; what is shared memory holds files. */
const isDevice = (path: string): boolean => path.startsWith('/dev/') && !isWithin(path, '/dev/shm');

const bind = (path: string, flag: '--bind' | '--ro-bind'): readonly string[] => [
  isDevice(path) ? '--dev-bind' : flag,
  path,
  path,
];

const optionsOf = ({ path, kind }: Entry): readonly string[] => {
  switch (kind) {
    case 'scratch':
      return ['--tmpfs', path];
    case 'hidden':
      return isFolder(path) ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];
    case 'write':
      return bind(path, '--bind');
    case 'system':
    case 'program':
    case 'read':
      return bind(path, '--ro-bind');
  }
};

/** Arguments of bwrap, in the order in which it must do it: what is empty is closed when all that lies in it is there. */
export const mountOptions = ({ entries, links }: MountPlan): readonly string[] => [
  ...entries.flatMap(optionsOf),
  ...links.flatMap(({ at, target }) => ['--symlink', target, at]),
  ...entries
    .filter(({ kind, path }) => kind === 'hidden' && isFolder(path))
    .flatMap(({ path }) => ['--remount-ro', path]),
  '--remount-ro',
  '/',
];
