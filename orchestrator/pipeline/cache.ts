import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { digestOf } from '../model/digest.js';
import type { Pipeline, SourceFile, Target } from '../model/pipeline.js';
import { readSmallFile } from './files.js';
import type { PipelineProblem } from './problems.js';

// A validated pipeline as JSON, so that a run that finds everything up to date parses no YAML and loads no schema.
// Two lines: a head that says which bytes it was made from, and the pipeline. Only `node:` modules are needed to read it.

/** Raised when the shape of a pipeline, or what the loader makes of a file, changes. */
const FORMAT = 2;

export interface CachedPipeline {
  readonly pipeline: Pipeline;
  readonly warnings: readonly PipelineProblem[];
}

export interface CacheSlot {
  readonly file: string;
  /** Version of the program and all places that the result depends on. */
  readonly salt: string;
}

/**
 * @param dir a folder that only this user writes: whoever can write it decides what a pipeline is
 * @param parts what the result depends on besides the bytes of the files: version, root, path of the pipeline
 */
export const cacheSlot = (dir: string, parts: readonly string[]): CacheSlot => {
  const salt = digestOf(JSON.stringify([FORMAT, ...parts]));
  return { file: join(dir, `pipeline-${salt.slice('sha256:'.length, 'sha256:'.length + 32)}.json`), salt };
};

/** All of a target but what is its own: most targets of a large pipeline share it. */
type Shape = Omit<Target, 'number' | 'name' | 'needs' | 'recipeDigest'>;
/** Number, name, positions of prerequisites, position of the shape, digest. */
type Row = readonly [number, string, readonly number[], number, Target['recipeDigest']];

interface Head {
  readonly salt: string;
  readonly payload: string;
  readonly sources: readonly Omit<SourceFile, 'mtimeMs'>[];
}

interface Payload {
  readonly pipeline: Omit<Pipeline, 'sources' | 'targets'>;
  readonly shapes: readonly Shape[];
  readonly rows: readonly Row[];
  readonly warnings: readonly PipelineProblem[];
}

const pack = ({ pipeline, warnings }: CachedPipeline): Payload => {
  const { name: title, digest, settings, workers, targets } = pipeline;
  const shapes = new Map<string, number>();
  const position = new Map(targets.map(({ name }, at) => [name, at]));
  const list: Shape[] = [];
  const rows = targets.map((target): Row => {
    const { number, name, needs, recipeDigest, ...shape } = target;
    const text = JSON.stringify(shape);
    const at = shapes.get(text) ?? list.push(shape) - 1;
    shapes.set(text, at);
    return [number, name, needs.map((need) => position.get(need) ?? 0), at, recipeDigest];
  });
  return { pipeline: { name: title, digest, settings, workers }, shapes: list, rows, warnings };
};

const NONE: readonly never[] = [];

/** Written out: for ten thousand targets a literal takes a tenth of the time of a spread. */
const toTarget = (shape: Shape, [number, name, , , recipeDigest]: Row, needs: readonly string[]): Target => {
  const target: Target = {
    number,
    name,
    needs,
    recipe: shape.recipe,
    makes: shape.makes,
    access: shape.access,
    inputs: shape.inputs,
    outputs: shape.outputs,
    gates: shape.gates,
    attempts: shape.attempts,
    limits: shape.limits,
    latch: shape.latch,
    recipeDigest,
  };
  const isPlain =
    shape.manual === undefined && shape.onReject === undefined && shape.whenLabels === undefined;
  return isPlain ? target : { ...target, ...shape };
};

const unpack = (payload: Payload, sources: readonly SourceFile[]): CachedPipeline => {
  const { rows, shapes } = payload;
  const names = rows.map(([, name]) => name);
  const targets = rows.map((row): Target => {
    const [, , before, at] = row;
    const shape = shapes[at];
    if (shape === undefined) throw new RangeError('no such shape');
    return toTarget(shape, row, before.length === 0 ? NONE : before.map((need) => names[need] ?? ''));
  });
  return { pipeline: { ...payload.pipeline, sources, targets }, warnings: payload.warnings };
};

/** The sources as they are now, or `undefined` as soon as one has other bytes. */
const unchanged = (sources: Head['sources']): readonly SourceFile[] | undefined => {
  const current: SourceFile[] = [];
  for (const { path, digest } of sources) {
    const read = readSmallFile(path);
    if (!read.ok || read.source.digest !== digest) return undefined;
    current.push(read.source);
  }
  return current;
};

/** The cached pipeline when every file that it was made from still has the same bytes; else `undefined`. Never throws. */
export const readCache = (slot: CacheSlot): CachedPipeline | undefined => {
  try {
    const bytes = readFileSync(slot.file);
    const end = bytes.indexOf(0x0a);
    const head = JSON.parse(bytes.toString('utf8', 0, end)) as Head;
    const body = bytes.subarray(end + 1);
    // The digest finds what a full disk or a copy tool left; it is no protection against who may write here.
    if (end < 0 || head.salt !== slot.salt || head.payload !== digestOf(body)) return undefined;
    const sources = unchanged(head.sources);
    return sources === undefined ? undefined : unpack(JSON.parse(body.toString('utf8')) as Payload, sources);
  } catch {
    // Missing, torn, from another version: it is made again.
    return undefined;
  }
};

/** Writes the cache, whole or not at all. A folder that cannot be written costs only time, so it is no error. */
export const writeCache = (dir: string, slot: CacheSlot, value: CachedPipeline): void => {
  const body = Buffer.from(JSON.stringify(pack(value)));
  const sources = value.pipeline.sources.map(({ path, digest, bytes }) => ({ path, digest, bytes }));
  const head: Head = { salt: slot.salt, payload: digestOf(body), sources };
  const temporary = `${slot.file}.${process.pid}.${randomBytes(6).toString('hex')}`;
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(temporary, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]), {
      flag: 'wx',
      mode: 0o600,
    });
    renameSync(temporary, slot.file);
  } catch {
    discard(temporary);
  }
};

const discard = (file: string): void => {
  try {
    rmSync(file, { force: true });
  } catch {
    // Then it was never there.
  }
};
