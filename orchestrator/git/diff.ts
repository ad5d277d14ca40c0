import { createHash } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import type { Digest } from '../model/digest.js';
import { fail, ok, type Result } from '../model/result.js';
import { type Git, run } from './git.js';
import { parseRecord, type PathRecord } from './records.js';
import type { Store } from './store.js';

export interface DiffRequest {
  readonly git: Git;
  readonly store: Store;
  /** Commits or trees in the store. */
  readonly from: string;
  readonly to: string;
  /** Path of the diff to write; replaced whole when it exists. */
  readonly file: string;
}

export interface RenderedDiff {
  readonly records: readonly PathRecord[];
  /** Ids of all objects that the diff was made from, on both sides, folders included and the two roots apart. */
  readonly objects: readonly string[];
  readonly diffDigest: Digest;
  readonly diffBytes: number;
  readonly addedLines: number;
  readonly removedLines: number;
}

/** Same bytes whatever anybody has configured. Source: EVIDENCE section 3. */
const RENDER = [
  'diff-tree',
  '-r',
  // Names the folders on the way too; they have no part in the patch.
  '-t',
  '-z',
  '--raw',
  '--numstat',
  '-p',
  '--no-ext-diff',
  '--no-textconv',
  '--text',
  '--full-index',
  '--no-renames',
  '--no-color',
  '--ignore-submodules=none',
  '-U3',
  '--diff-algorithm=myers',
  '--src-prefix=a/',
  '--dst-prefix=b/',
];

/**
 * Renders the difference of two trees to a file and counts it, in one process and one pass: the diff streams through, so
 * its size costs no memory.
 */
export const renderDiff = async (request: DiffRequest): Promise<Result<RenderedDiff>> => {
  const temporary = `${request.file}.tmp-${process.pid}`;
  await rm(temporary, { force: true });
  const handle = await open(temporary, 'wx', 0o644);
  try {
    const sink = new DiffSink(handle);
    const rendered = await run(request.git, {
      args: [...RENDER, request.from, request.to],
      gitDir: request.store.path,
      onOutput: (chunk) => sink.take(chunk),
    });
    if (!rendered.ok) return rendered;
    await handle.datasync();
    const result = sink.end();
    if (result === undefined) return notWhole(request);
    await rename(temporary, request.file);
    return ok(result);
  } finally {
    await handle.close();
    await rm(temporary, { force: true });
  }
};

/** Two objects with different ids and the same bytes: git lists them and shows nothing. */
const notWhole = ({ store }: DiffRequest) =>
  fail({
    kind: 'evidence-refused',
    message:
      'objects of the private store are missing or not what their ids say: git lists changes and shows none',
    where: store.path,
    next: 'find out what wrote there; to start afresh move `.orchestrate` away and run the tickets again',
  });

const NUL = 0;
const COLON = 58;
const FOLDER = '040000';
const GITLINK = '160000';
const NO_OBJECT = /^0+$/;

/**
 * Splits `--raw --numstat -p -z` output: records (`:meta NUL path NUL`), then as many counts (`added TAB removed TAB path
 * NUL`), then NUL and the patch. Records are counted, so nothing in a path can be taken for the end of a part.
 */
class DiffSink {
  private readonly records: PathRecord[] = [];
  private readonly objects = new Set<string>();
  private readonly hash = createHash('sha256');
  private readonly handle: FileHandle;
  private pending: Buffer = Buffer.alloc(0);
  private part: 'records' | 'counts' | 'patch' = 'records';
  private counted = 0;
  private bytes = 0;
  private added = 0;
  private removed = 0;

  constructor(handle: FileHandle) {
    this.handle = handle;
  }

  async take(chunk: Buffer): Promise<void> {
    const rest = this.part === 'patch' ? chunk : this.takeHead(chunk);
    if (rest.length === 0) return;
    this.hash.update(rest);
    this.bytes += rest.length;
    await this.handle.writeFile(rest);
  }

  /** `undefined` when there are records and no patch. */
  end(): RenderedDiff | undefined {
    const complete = this.part === 'patch' || (this.records.length === 0 && this.pending.length === 0);
    if (!complete) return undefined;
    return {
      records: this.records,
      objects: [...this.objects],
      diffDigest: `sha256:${this.hash.digest('hex')}`,
      diffBytes: this.bytes,
      addedLines: this.added,
      removedLines: this.removed,
    };
  }

  /** Takes records and counts; what is left over belongs to the patch. */
  private takeHead(chunk: Buffer): Buffer {
    const data = Buffer.concat([this.pending, chunk]);
    let position = 0;
    for (;;) {
      const next = this.takeItem(data, position);
      if (next === undefined) break;
      position = next;
      if (this.isPatch()) return data.subarray(position);
    }
    this.pending = data.subarray(position);
    return Buffer.alloc(0);
  }

  private isPatch(): boolean {
    return this.part === 'patch';
  }

  /** Position after the item that starts at `start`, or `undefined` when it is not all there yet. */
  private takeItem(data: Buffer, start: number): number | undefined {
    const first = data[start];
    if (first === undefined) return undefined;
    if (this.part === 'records' && first === COLON) return this.takeRecord(data, start);
    this.part = 'counts';
    if (this.counted === this.records.length) {
      if (first !== NUL) throw new Error('git diff-tree printed no separator before the patch');
      this.part = 'patch';
      return start + 1;
    }
    return this.takeCount(data, start);
  }

  private takeRecord(data: Buffer, start: number): number | undefined {
    const middle = data.indexOf(NUL, start);
    const end = middle === -1 ? -1 : data.indexOf(NUL, middle + 1);
    if (end === -1) return undefined;
    this.note(parseRecord(data.toString('latin1', start, middle), data.toString('latin1', middle + 1, end)));
    return end + 1;
  }

  private note(record: PathRecord): void {
    const { oldMode, newMode, oldId, newId } = record;
    for (const [mode, id] of [
      [oldMode, oldId],
      [newMode, newId],
    ] as const) {
      // The commit of another repository is not in the store.
      if (mode !== GITLINK && !NO_OBJECT.test(id)) this.objects.add(id);
    }
    if (oldMode !== FOLDER && newMode !== FOLDER) this.records.push(record);
  }

  private takeCount(data: Buffer, start: number): number | undefined {
    const end = data.indexOf(NUL, start);
    if (end === -1) return undefined;
    const [added = '', removed = ''] = data.toString('latin1', start, end).split('\t', 2);
    this.added += Number.parseInt(added, 10) || 0;
    this.removed += Number.parseInt(removed, 10) || 0;
    this.counted += 1;
    return end + 1;
  }
}
