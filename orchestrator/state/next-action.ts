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
  readonly total: number;
  readonly done: number;
  /** Targets in order; of more than `BOARD_LINES` only those that are neither pending nor done. */
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
export const BOARD_LINES = 24;

/** Enough for the longest `orchestrate approve` that there can be, whole. */
const NEXT_CHARACTERS = 500;

const boardLines = ({ board, done, total }: NextAction): string[] => {
  const line = ({ mark, number, name, note }: BoardLine): string =>
    `[${mark}] ${number} ${oneLine(name)}${note === '' ? '' : ` – ${oneLine(note, 120)}`}`;
  if (total <= BOARD_LINES) return board.map(line);
  return [
    `${done} of ${total} targets are done`,
    ...board.slice(0, BOARD_LINES).map(line),
    ...(board.length > BOARD_LINES ? [`and ${board.length - BOARD_LINES} more that are not at rest`] : []),
  ];
};

/** Targets that are named as current; the rest is on the readerboard. */
const CURRENT_TARGETS = 5;

const body = (next: NextAction): string => {
  const current = next.board.filter(({ mark }) => mark === '>' || mark === '!');
  const names = current
    .slice(0, CURRENT_TARGETS)
    .map(
      ({ number, name, note }) =>
        `${number} ${oneLine(name)}${note === '' ? '' : ` (${oneLine(note, 120)})`}`,
    );
  if (current.length > CURRENT_TARGETS) names.push(`and ${current.length - CURRENT_TARGETS} more`);
  const directives = next.directives
    .slice(-8)
    .map(({ id, text, delivered }) =>
      quote(
        `${String(id).padStart(4, '0')} ${delivered ? 'handed to a worker' : 'for the next worker'}: ${text}`,
      ),
    );
  return [
    '# Next action\n',
    `Current Target: ${names.length === 0 ? 'none' : names.join('; ')}`,
    `Last Completed Step: ${oneLine(next.lastCompleted)}`,
    `Next Permitted Action: ${oneLine(next.nextAction, NEXT_CHARACTERS)}\n`,
    `## Readerboard\n${boardLines(next).join('\n')}\n`,
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
  const match = FRONT_MATTER.exec(document);
  if (match === null) return { problem: 'its front matter is not what orchestrate writes' };
  const [head = '', ticket = '', epoch, seq, pipeline = '', state = '', seal] = match;
  const fields = {
    document: 'next-action',
    ticket: textIn(ticket),
    epoch: Number(epoch),
    seq: Number(seq),
    pipeline: textIn(pipeline),
    state: textIn(state),
  };
  // The seal is over the values: another spelling of them (`007`, an escape in a string) would pass it.
  if (frontMatter({ ...fields, seal }) !== head)
    return { problem: 'its front matter is not what orchestrate writes' };
  if (sealOf(fields, document.slice(head.length), key) !== seal) {
    return { problem: 'its seal does not match its text' };
  }
  return { seq: fields.seq, pipeline: String(fields.pipeline) };
};

const FRONT_MATTER =
  /^---\ndocument: "next-action"\nticket: (".*")\nepoch: (\d+)\nseq: (\d+)\npipeline: (".*")\nstate: (".*")\nseal: "([0-9a-f]{64})"\n---\n/;

/** A JSON string's text; what is no JSON stays as it is, and is then spelt differently. */
const textIn = (json: string): unknown => {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
};
