import type { Invocation, Worker } from '../../workers/worker.js';
import type { Target } from '../model/pipeline.js';

/**
 * The way by which a worker's return reaches the parent.
 * - `file`: the path that the parent named, in `out/`.
 * - `value`: the structured answer in the program's output.
 * - `answer`: the last message of an agent, which is the JSON object.
 * - `last-line`: the last line of the output of any program.
 */
export interface ReturnChannel {
  readonly kind: 'file' | 'value' | 'answer' | 'last-line';
  /** The output is read from a socket that no other process can write to. */
  readonly socket: boolean;
}

/**
 * A word that opens a gate comes from a place that nobody else can write to: `out/` of a sandbox, or a socket between the child
 * and its parent. Everything else may come as a file.
 */
export const returnChannel = (
  target: Target,
  worker: Worker,
  { returns }: Invocation,
  sandboxed: boolean,
): ReturnChannel => {
  const socket = target.makes === 'review' && !sandboxed;
  if (returns === 'structured') return { kind: 'value', socket };
  if (!socket) return { kind: 'file', socket };
  return { kind: worker.agent === undefined ? 'last-line' : 'answer', socket };
};

/** What the Assignment says about a return that is no file. */
export const howToReturn = ({ kind }: ReturnChannel): string | undefined => {
  switch (kind) {
    case 'file':
      return undefined;
    case 'value':
      return 'give the JSON object as your structured final answer';
    case 'answer':
      return 'your last message is the JSON object and nothing else';
    case 'last-line':
      return 'print the JSON object on one line, as the last line of standard output';
  }
};
