import { createHash, type Hash } from 'node:crypto';
import { run } from './git.js';
import type { ReadRequest } from './read.js';

/** An object whose id was computed again from its bytes. */
export type ObjectState =
  | { readonly kind: 'intact'; readonly type: string; /** Of commits only. */ readonly body: string }
  | { readonly kind: 'missing' | 'damaged' | 'unread' };

/** Contents that are wanted on the way, each handed over once, when its bytes are what its id says. */
export interface Wanted {
  readonly ids: ReadonlySet<string>;
  /** @param bytes at most the first `MOST_KEPT_BYTES` */
  readonly take: (id: string, bytes: Buffer) => void;
}

/** Of one object in memory. */
export const MOST_KEPT_BYTES = 4 * 1024 * 1024;

/** Processes that may end early at a damaged object before the rest is given up. */
const MOST_RESTARTS = 100;

/**
 * Reads objects from the store and computes their ids again. Contents stream through, so their size costs no memory. A
 * damaged object can end git, whose exit status says nothing here: what was not read whole is no intact object, and the
 * rest is read by another process.
 */
export const readObjects = async (
  { git, store }: ReadRequest,
  ids: readonly string[],
  wanted?: Wanted,
): Promise<ReadonlyMap<string, ObjectState>> => {
  const states = new Map<string, ObjectState>();
  let rest = ids;
  for (let round = 0; rest.length > 0 && round < MOST_RESTARTS; round += 1) {
    const sink = new ObjectSink(rest, store.format, wanted);
    await run(git, {
      args: ['cat-file', '--batch', '--buffer'],
      gitDir: store.path,
      input: `${rest.join('\n')}\n`,
      onOutput: async (chunk) => sink.take(chunk),
    });
    for (const [id, state] of sink.end()) states.set(id, state);
    rest = rest.filter((id) => !states.has(id));
  }
  for (const id of rest) states.set(id, { kind: 'unread' });
  return states;
};

const NEWLINE = 10;
/** A header is shorter: an id of at most 64 digits, a type and a size. */
const HEADER_BYTES = 200;

interface Body {
  readonly type: string;
  readonly hash: Hash;
  readonly kept: Buffer[] | undefined;
  keptBytes: number;
  left: number;
}

/**
 * Takes the output of `git cat-file --batch` apart: `ID TYPE SIZE\n`, the bytes, `\n`; or `ID missing\n`. Out of step, as
 * after an object with a false size, it takes nothing more.
 */
class ObjectSink {
  private readonly states = new Map<string, ObjectState>();
  private readonly ids: readonly string[];
  private readonly format: string;
  private readonly wanted: Wanted | undefined;
  private pending: Buffer = Buffer.alloc(0);
  private position = 0;
  private body: Body | undefined;
  private lost = false;

  constructor(ids: readonly string[], format: string, wanted: Wanted | undefined) {
    this.ids = ids;
    this.format = format;
    this.wanted = wanted;
  }

  take(chunk: Buffer): void {
    let data = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    while (!this.lost) {
      const rest = this.body === undefined ? this.takeHeader(data) : this.takeBody(data, this.body);
      if (rest === undefined) break;
      data = rest;
    }
    this.pending = data;
  }

  /** States by id. At least one: the object at which the output ended is damaged. */
  end(): ReadonlyMap<string, ObjectState> {
    const current = this.ids[this.position];
    const stuck = this.body !== undefined || this.position === 0;
    if (current !== undefined && stuck) this.states.set(current, { kind: 'damaged' });
    return this.states;
  }

  /** What follows; `undefined` when more is needed. */
  private takeHeader(data: Buffer): Buffer | undefined {
    const end = data.indexOf(NEWLINE);
    if (end === -1) {
      this.lost = data.length > HEADER_BYTES;
      return undefined;
    }
    const [id, type, size] = data.toString('latin1', 0, end).split(' ');
    if (id === undefined || id !== this.ids[this.position]) {
      this.lost = true;
      return undefined;
    }
    if (type === 'missing') this.settle({ kind: 'missing' });
    else this.start(type ?? '', size ?? '');
    return data.subarray(end + 1);
  }

  private start(type: string, size: string): void {
    const hash = createHash(this.format).update(`${type} ${size}\0`);
    const isKept = type === 'commit' || this.wanted?.ids.has(this.ids[this.position] ?? '') === true;
    this.body = { type, hash, kept: isKept ? [] : undefined, keptBytes: 0, left: Number(size) };
    this.lost = !/^\d+$/.test(size);
  }

  private takeBody(data: Buffer, body: Body): Buffer | undefined {
    const part = data.subarray(0, body.left);
    body.hash.update(part);
    keep(body, part);
    body.left -= part.length;
    const rest = data.subarray(part.length);
    // Its last byte may be there; the newline that ends it is not.
    if (rest.length === 0) return part.length === 0 ? undefined : rest;
    const isWhole = body.hash.digest('hex') === this.ids[this.position];
    this.body = undefined;
    this.lost = rest[0] !== NEWLINE;
    if (isWhole) this.settleIntact(body);
    else this.settle({ kind: 'damaged' });
    return rest.subarray(1);
  }

  private settleIntact({ type, kept }: Body): void {
    const id = this.ids[this.position] ?? '';
    const bytes = Buffer.concat(kept ?? []);
    if (this.wanted?.ids.has(id) === true) this.wanted.take(id, bytes);
    this.settle({ kind: 'intact', type, body: type === 'commit' ? bytes.toString('utf8') : '' });
  }

  private settle(state: ObjectState): void {
    const id = this.ids[this.position];
    if (id !== undefined) this.states.set(id, state);
    this.position += 1;
  }
}

const keep = (body: Body, part: Buffer): void => {
  if (body.kept === undefined) return;
  const wanted = part.subarray(0, MOST_KEPT_BYTES - body.keptBytes);
  // A copy: the chunk that it is a part of would stay in memory with it.
  body.kept.push(Buffer.from(wanted));
  body.keptBytes += wanted.length;
};
