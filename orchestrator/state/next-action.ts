import { createHmac } from 'node:crypto';
import type { Digest } from '../model/digest.js';
import { oneLine, quote } from '../model/text.js';
import { frontMatter } from './front-matter.js';

/** 99 as plain data; everything in it follows from the journal and the pipeline. */
export interface NextAction {
  readonly ticket: string;
  readonly epoch: number;
  /** Journal line that it follows from. */
  readonly seq: number;
  readonly pipeline: Digest;
  readonly state: string;
  /** Targets in order. */
  readonly board: readonly BoardLine[];
  readonly lastCompleted: string;
  readonly nextAction: string;
  readonly directives: readonly { readonly id: number; readonly text: string; readonly delivered: boolean }[];
}

export interface BoardLine {
  readonly number: number;
  readonly name: string;
  readonly mark: 'x' | '>' | ' ' | '!' | '-';
  readonly note: string;
}

/** Lines of the readerboard; what is longer is counted. */
const BOARD_LINES = 24;

const boardLines = (board: readonly BoardLine[]): string[] => {
  const line = ({ mark, number, name, note }: BoardLine): string =>
    `[${mark}] ${number} ${name}${note === '' ? '' : ` – ${oneLine(note, 120)}`}`;
  if (board.length <= BOARD_LINES) return board.map(line);
  const notable = board.filter(({ mark }) => mark === '>' || mark === '!');
  const done = board.filter(({ mark }) => mark === 'x').length;
  return [
    `${done} of ${board.length} targets are done`,
    ...notable.slice(0, BOARD_LINES).map(line),
    ...(notable.length > BOARD_LINES ? [`and ${notable.length - BOARD_LINES} more that are not at rest`] : []),
  ];
};

const body = (next: NextAction): string => {
  const current = next.board.filter(({ mark }) => mark === '>' || mark === '!');
  const names = current.slice(0, 5).map(({ number, name, note }) => `${number} ${name}${note === '' ? '' : ` (${oneLine(note, 120)})`}`);
  const directives = next.directives.slice(-8).map(({ id, text, delivered }) =>
    quote(`${String(id).padStart(4, '0')} ${delivered ? 'handed to a worker' : 'for the next worker'}: ${text}`),
  );
  return [
    '# Next action\n',
    `Current Target: ${names.length === 0 ? 'none' : names.join('; ')}`,
    `Last Completed Step: ${next.lastCompleted}`,
    `Next Permitted Action: ${next.nextAction}\n`,
    `## Readerboard\n${boardLines(next.board).join('\n')}\n`,
    ...(directives.length === 0 ? [] : [`## Directives\n${directives.join('\n')}\n`]),
  ].join('\n');
};

/** The bytes of 99, sealed with the key: nobody else can write one that is taken for ours. */
export const nextActionDocument = (next: NextAction, key: Uint8Array): string => {
  const text = body(next);
  const fields = {
    document: 'next-action',
    ticket: next.ticket,
    epoch: next.epoch,
    seq: next.seq,
    pipeline: next.pipeline,
    state: next.state,
  };
  return frontMatter({ ...fields, seal: sealOf(fields, text, key) }) + text;
};

const sealOf = (fields: Readonly<Record<string, unknown>>, text: string, key: Uint8Array): string =>
  createHmac('sha256', key).update(JSON.stringify(fields)).update('\n').update(text).digest('hex');

/** What boot needs of a 99 that it finds, or why it is not ours. */
export const readNextAction = (
  document: string,
  key: Uint8Array,
): { readonly seq: number; readonly pipeline: string } | { readonly problem: string } => {
  const match =
    /^---\ndocument: "next-action"\nticket: (".*")\nepoch: (\d+)\nseq: (\d+)\npipeline: (".*")\nstate: (".*")\nseal: "([0-9a-f]{64})"\n---\n/.exec(
      document,
    );
  if (match === null) return { problem: 'its front matter is not what orchestrate writes' };
  const [head, ticket, epoch, seq, pipeline, state, seal] = match as unknown as string[];
  const fields = {
    document: 'next-action',
    ticket: JSON.parse(ticket ?? '""') as string,
    epoch: Number(epoch),
    seq: Number(seq),
    pipeline: JSON.parse(pipeline ?? '""') as string,
    state: JSON.parse(state ?? '""') as string,
  };
  if (sealOf(fields, document.slice((head ?? '').length), key) !== seal) {
    return { problem: 'its seal does not match its text' };
  }
  return { seq: fields.seq, pipeline: fields.pipeline };
};
