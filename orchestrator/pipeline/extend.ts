import { dirname, join, resolve } from 'node:path';

import { parseFile, type ParsedFile } from './parse-file.js';
import {
  describeProblem,
  displayPath,
  problemOf,
  type Finding,
  type Path,
  type PipelineProblem,
} from './problems.js';
import type { RawFile, RawTarget, RawWorker } from './schema.js';
import type { Suggest } from '../model/suggest.js';

/** All files of a pipeline as one. */
export interface Merged {
  readonly settings: Omit<RawFile, 'workers' | 'targets'>;
  /** In the order of the files, base first. */
  readonly workers: ReadonlyMap<string, RawWorker>;
  readonly targets: ReadonlyMap<string, RawTarget>;
  /** As in `ParsedFile`. */
  readonly damaged: ReadonlySet<string>;
  /** Targets that a file dropped with null. */
  readonly dropped: ReadonlySet<string>;
  /** A file has problems of its own, so something may be missing here that is written there. */
  readonly flawed: boolean;
}

export interface FileChain {
  /** The file that was asked for first, its base next. */
  readonly files: readonly ParsedFile[];
  readonly problems: readonly PipelineProblem[];
  /** Some file says nothing, so rules about the whole would only repeat that. */
  readonly broken: boolean;
}

export interface Places {
  readonly file: string;
  readonly root: string;
  readonly packageRoot: string;
}

/** The built-in pipeline: a file like any other. */
const builtinFile = (packageRoot: string): string => join(packageRoot, 'targets.yaml');

const nextFile = (parsed: ParsedFile, packageRoot: string): string | undefined => {
  const base = parsed.raw.extends;
  if (base === undefined) return undefined;
  return base === 'builtin' ? builtinFile(packageRoot) : resolve(dirname(parsed.path), base);
};

/** Reads a file and all that it extends. A cycle and a missing base are problems of the file that names them. */
export const readChain = (places: Places, suggest: Suggest): FileChain => {
  const files: ParsedFile[] = [];
  const problems: PipelineProblem[] = [];
  const show = (path: string): string => displayPath(places.root, path);
  let path: string | undefined = resolve(places.file);
  while (path !== undefined) {
    const current: string = path;
    const parsed = parseFile(current, show(current), suggest);
    const user = files.at(-1);
    if (user !== undefined && parsed.file === undefined) {
      const reason = parsed.problems.map(describeProblem).join('; ');
      problems.push(
        atExtends(user, {
          message: `the extended file cannot be used: ${reason}`,
          fix: 'correct the path; it is relative to this file, or `builtin`',
        }),
      );
      return { files, problems, broken: true };
    }
    files.push(parsed);
    problems.push(...parsed.problems);
    path = nextFile(parsed, places.packageRoot);
    const start = files.findIndex((file) => file.path === path);
    if (path !== undefined && start >= 0) {
      const circle = [...files.slice(start).map((file) => show(file.path)), show(path)].join(' -> ');
      problems.push(
        atExtends(parsed, {
          message: `\`extends\` goes in a circle: ${circle}`,
          fix: 'remove one `extends`',
        }),
      );
      return { files, problems, broken: true };
    }
  }
  return { files, problems, broken: files.some((file) => file.broken) };
};

const atExtends = (parsed: ParsedFile, finding: Omit<Finding, 'path'>): PipelineProblem =>
  problemOf(parsed.source.file, parsed.source.locate(['extends']), finding);

/**
 * Where a part of the merged pipeline is written: the first file of the chain that has the whole path; for something
 * that is missing, the first that has its nearest parent.
 */
export const placeFinding = (files: readonly ParsedFile[], finding: Finding): PipelineProblem => {
  for (let length = finding.path.length; length >= 0; length -= 1) {
    const path: Path = finding.path.slice(0, length);
    const at = length === finding.path.length ? finding.at : 'key';
    for (const { source } of files) {
      const place = source.locate(path, at);
      if (place.exact) return problemOf(source.file, place, finding);
    }
  }
  return problemOf(files[0]?.source.file ?? '', { line: 1, column: 1 }, finding);
};

const RECIPE_KEYS = ['command', 'worker', 'builtin'] as const;

/** A target that names another recipe does not also keep the one of its base. */
const mergeTarget = (base: RawTarget, over: RawTarget): RawTarget => {
  const { command, worker, builtin, ...rest } = base;
  const keepsRecipe = RECIPE_KEYS.every((key) => over[key] === undefined);
  const recipe = {
    ...(command === undefined ? {} : { command }),
    ...(worker === undefined ? {} : { worker }),
    ...(builtin === undefined ? {} : { builtin }),
  };
  return {
    ...rest,
    ...(keepsRecipe ? recipe : {}),
    ...over,
    ...(base.limits !== undefined && over.limits !== undefined
      ? { limits: { ...base.limits, ...over.limits } }
      : {}),
  };
};

/** A worker with another adapter is another program: nothing of the old one holds. */
const mergeWorker = (base: RawWorker, over: RawWorker): RawWorker => {
  if (over.adapter !== undefined && over.adapter !== base.adapter) return over;
  return {
    ...base,
    ...over,
    ...(base.env !== undefined && over.env !== undefined ? { env: { ...base.env, ...over.env } } : {}),
  };
};

const mergeSettings = (base: Merged['settings'], over: Merged['settings']): Merged['settings'] => ({
  ...base,
  ...over,
  ...(base.tickets !== undefined && over.tickets !== undefined
    ? { tickets: { ...base.tickets, ...over.tickets } }
    : {}),
  ...(base.limits !== undefined && over.limits !== undefined
    ? { limits: { ...base.limits, ...over.limits } }
    : {}),
});

interface Layer<T> {
  readonly entries: Map<string, T>;
  readonly dropped: Set<string>;
}

/** Puts the entries of one file over those of its base; returns the names whose null drops nothing. */
const layOver = <T>(
  layer: Layer<T>,
  over: readonly (readonly [string, T | null | undefined])[],
  merge: (base: T, over: T) => T,
): readonly string[] => {
  const pointless: string[] = [];
  for (const [name, entry] of over) {
    const base = layer.entries.get(name);
    if (entry !== null && entry !== undefined) {
      layer.entries.set(name, base === undefined ? entry : merge(base, entry));
      layer.dropped.delete(name);
    } else if (layer.entries.delete(name)) {
      layer.dropped.add(name);
    } else {
      pointless.push(name);
    }
  }
  return pointless;
};

/** JavaScript puts keys such as `7` before all others; the file is asked only when there are some. */
const inOrder = <T>(
  parsed: ParsedFile,
  group: 'workers' | 'targets',
  entries: Readonly<Record<string, T>>,
) => {
  const first = Object.keys(entries)[0];
  if (first === undefined || !/^[0-9]+$/.test(first)) return Object.entries(entries);
  const ordered = parsed.source.keysAt([group]).filter((name) => Object.hasOwn(entries, name));
  return [...new Set([...ordered, ...Object.keys(entries)])].map((name): [string, T | undefined] => [
    name,
    entries[name],
  ]);
};

/** Merges a chain: settings by key, workers and targets by name; null drops one. Lists are replaced, not joined. */
export const mergeChain = (
  files: readonly ParsedFile[],
  suggest: Suggest,
): { readonly merged: Merged; readonly problems: readonly PipelineProblem[] } => {
  const workers: Layer<RawWorker> = { entries: new Map(), dropped: new Set() };
  const targets: Layer<RawTarget> = { entries: new Map(), dropped: new Set() };
  const problems: PipelineProblem[] = [];
  let settings: Merged['settings'] = {};
  const emptyEntry = (parsed: ParsedFile, path: Path, known: Iterable<string>): void => {
    const near = parsed.raw.extends === undefined ? undefined : suggest(String(path[1]), known);
    const fix = near === undefined ? 'give it its keys, or remove it' : `did you mean \`${near}\`?`;
    const finding = {
      message: `\`${path.join('.')}\` is empty, and there is none in an extended file to drop`,
      fix,
    };
    problems.push(problemOf(parsed.source.file, parsed.source.locate(path, 'key'), finding));
  };
  for (const parsed of files.toReversed()) {
    const { workers: overWorkers, targets: overTargets, ...overSettings } = parsed.raw;
    settings = mergeSettings(settings, overSettings);
    for (const name of layOver(workers, inOrder(parsed, 'workers', overWorkers ?? {}), mergeWorker)) {
      emptyEntry(parsed, ['workers', name], workers.entries.keys());
    }
    for (const name of layOver(targets, inOrder(parsed, 'targets', overTargets ?? {}), mergeTarget)) {
      emptyEntry(parsed, ['targets', name], targets.entries.keys());
    }
  }
  const damaged = new Set(files.flatMap((file) => [...file.damaged]));
  return {
    merged: {
      settings,
      workers: workers.entries,
      targets: targets.entries,
      damaged,
      dropped: targets.dropped,
      flawed: files.some((file) => file.problems.length > 0),
    },
    problems,
  };
};
