import { dirname, resolve } from 'node:path';

import type { core } from 'zod';

import type { SourceFile } from '../model/pipeline.js';
import { decodeText, readSmallFile } from './files.js';
import { problemOf, type Finding, type Path, type PipelineProblem } from './problems.js';
import { findingsOf, valueAt } from './schema-issues.js';
import {
  fileSchema,
  fileShape,
  targetSchema,
  targetShape,
  workerSchema,
  workerShape,
  type RawFile,
  type RawTarget,
} from './schema.js';
import { readYaml, type YamlSource } from './source.js';
import type { Suggest } from '../model/suggest.js';

/** One YAML file after its own checks. Kernel and manuals are absolute paths from here on. */
export interface ParsedFile {
  readonly path: string;
  readonly source: YamlSource;
  readonly file?: SourceFile;
  readonly problems: readonly PipelineProblem[];
  /** Its data says nothing: unreadable, or not YAML. */
  readonly broken: boolean;
  readonly raw: RawFile;
  /**
   * Targets and workers, as `targets.lint`, with a key that was refused. The rest of them is kept, so that the other
   * rules still see them; but what they lack is no news.
   */
  readonly damaged: ReadonlySet<string>;
}

interface Schema {
  readonly safeParse: (value: unknown) => { readonly success: boolean; readonly data?: unknown };
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The keys of a map whose values hold by themselves. */
const soundKeys = (value: unknown, shape: Readonly<Record<string, Schema>>): Record<string, unknown> => {
  const sound: Record<string, unknown> = {};
  if (!isMap(value)) return sound;
  for (const [key, schema] of Object.entries(shape)) {
    if (!Object.hasOwn(value, key)) continue;
    const parsed = schema.safeParse(value[key]);
    if (parsed.success) sound[key] = parsed.data;
  }
  return sound;
};

const soundEntries = (value: unknown, shape: Readonly<Record<string, Schema>>): Record<string, unknown> =>
  isMap(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, entry]) => [name, entry === null ? null : soundKeys(entry, shape)]),
      )
    : {};

/** What can be used of a file that did not pass, so that one report holds all of its problems. */
const salvage = (value: unknown): RawFile =>
  ({
    ...soundKeys(value, fileShape),
    workers: soundEntries(valueAt(value, ['workers']), workerShape),
    targets: soundEntries(valueAt(value, ['targets']), targetShape),
  }) as RawFile;

/** Targets and workers with a finding, as `targets.lint`. */
const damagedBy = (findings: readonly Finding[]): ReadonlySet<string> =>
  new Set(
    findings.filter(({ path }) => path.length > 1).map(({ path }) => `${String(path[0])}.${String(path[1])}`),
  );

/** zod does not look at what stands under a name that it refuses; we do, so that nothing is found only later. */
const underBadNames = (issues: readonly core.$ZodIssue[], value: unknown): readonly core.$ZodIssue[] =>
  issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code !== 'invalid_key' || path.length !== 2) return [];
    const parsed = (path[0] === 'workers' ? workerSchema : targetSchema)
      .nullable()
      .safeParse(valueAt(value, path));
    return parsed.success
      ? []
      : parsed.error.issues.map((inner) => ({ ...inner, path: [...path, ...inner.path] }));
  });

/** Paths are relative to the file that names them, so they are resolved before files are merged. */
const withAbsolutePaths = (raw: RawFile, path: string): RawFile => {
  const absolute = (text: string): string => resolve(dirname(path), text);
  const targets = Object.entries(raw.targets ?? {}).map(([name, target]): [string, RawTarget | null] =>
    target?.manual === undefined ? [name, target] : [name, { ...target, manual: absolute(target.manual) }],
  );
  return {
    ...raw,
    ...(raw.kernel === undefined ? {} : { kernel: absolute(raw.kernel) }),
    ...(raw.targets === undefined ? {} : { targets: Object.fromEntries(targets) }),
  };
};

const settle = (source: YamlSource, finding: Finding): PipelineProblem =>
  problemOf(source.file, source.locate(finding.path, finding.at), finding);

const ROOT: Path = [];

const broken = (path: string, source: YamlSource, file?: SourceFile): ParsedFile => ({
  path,
  source,
  ...(file === undefined ? {} : { file }),
  problems: source.problems,
  broken: true,
  raw: {},
  damaged: new Set(),
});

const unread = (path: string, display: string, finding: Omit<Finding, 'path'>): ParsedFile => {
  const source = readYaml(display, '');
  const problem = problemOf(display, { line: 1, column: 1 }, finding);
  return { ...broken(path, source), problems: [problem] };
};

/**
 * Reads and checks one YAML file by itself. Never throws.
 * @param display how messages name the file
 */
export const parseFile = (path: string, display: string, suggest: Suggest): ParsedFile => {
  const read = readSmallFile(path);
  if (!read.ok) {
    return unread(path, display, {
      message: `cannot be read: ${read.reason}`,
      fix: 'check the path, or run `orchestrate init`',
    });
  }
  const text = decodeText(read.bytes);
  if (text === undefined)
    return unread(path, display, { message: 'is not UTF-8', fix: 'save the file as UTF-8' });
  const source = readYaml(display, text);
  if (source.broken) return broken(path, source, read.source);
  if (!isMap(source.value)) {
    const finding = {
      path: ROOT,
      message: 'the file is not a map',
      expected: '`name:`, `targets:` …',
      fix: 'see `orchestrate init`',
    };
    return { ...broken(path, source, read.source), problems: [...source.problems, settle(source, finding)] };
  }
  const parsed = fileSchema.safeParse(source.value);
  const issues = parsed.success ? [] : parsed.error.issues;
  const findings = findingsOf([...issues, ...underBadNames(issues, source.value)], source.value, suggest);
  return {
    path,
    source,
    file: read.source,
    problems: [...source.problems, ...findings.map((finding) => settle(source, finding))],
    broken: false,
    raw: withAbsolutePaths(parsed.success ? parsed.data : salvage(source.value), path),
    damaged: damagedBy(findings),
  };
};
