import type { DocumentPointer } from '../model/event.js';
import type { Digest } from '../model/digest.js';
import type { RunState } from '../machine/run-state.js';

/** One file of a pipeline that is not what it was; `null`: there is none on that side. */
export interface SourceChange {
  readonly path: string;
  readonly from: Digest | null;
  readonly to: Digest | null;
}

/** Files by path that were changed, came or went; in the order in which the pipeline reads them now, the gone last. */
export const sourceChanges = (
  before: readonly DocumentPointer[],
  after: readonly DocumentPointer[],
): SourceChange[] => {
  const old = new Map(before.map(({ path, digest }) => [path, digest]));
  const now = new Map(after.map(({ path, digest }) => [path, digest]));
  const changed = after
    .filter(({ path, digest }) => old.get(path) !== digest)
    .map(({ path, digest }) => ({ path, from: old.get(path) ?? null, to: digest }));
  const gone = before
    .filter(({ path }) => !now.has(path))
    .map(({ path, digest }) => ({ path, from: digest, to: null }));
  return [...changed, ...gone];
};

/** What is different from document 00, as the record knows it. */
export const changesSinceOpened = ({ opened, changed }: RunState): SourceChange[] =>
  opened === undefined || changed === undefined
    ? []
    : sourceChanges(opened.pipeline.sources, changed.sources);

/** As 00 shows digests. */
const short = (digest: Digest | null, word: string): string => (digest === null ? word : digest.slice(0, 19));

/** A line for people: `targets.yaml sha256:0f0096b9a937 → sha256:11aa22bb33cc`. */
export const changeLine = ({ path, from, to }: SourceChange): string =>
  `${path} ${short(from, 'not there before')} → ${short(to, 'gone')}`;
