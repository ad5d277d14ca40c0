/**
 * What a worker is given, in an order that never changes: the stable part first (kernel, manual: the provider's prompt
 * cache hits), then the assignment, then what is quoted, and the state documents 00 → 99 last, 99 being the last line.
 *
 * P1  A line that starts at column 0 is ours; everything that came from a ticket, an agent, a file or a person is quoted.
 * P2  One manual, no other.
 */
import { oneLine, quote } from '../model/text.js';

export interface PromptParts {
  readonly kernel: string;
  readonly manual: string;
  readonly assignment: Readonly<Record<string, string | number>>;
  /** For a review: the round's nonce, the pages of branch.diff, the pillars. */
  readonly review?: ReviewParts;
  readonly ticket: string;
  /** Approved plan, for who has to keep to it. */
  readonly plan?: string;
  /** Why this target is made again: blockers, a rejection's note, a failed check. */
  readonly feedback: readonly string[];
  readonly directives: readonly { readonly id: number; readonly text: string }[];
  /** Index of notes: path and title. */
  readonly notes: readonly { readonly path: string; readonly title: string }[];
  /** Scars of earlier tickets that match this one. */
  readonly scars: readonly string[];
  /** State documents in lexical order. */
  readonly documents: readonly { readonly name: string; readonly text: string }[];
}

export interface ReviewParts {
  readonly nonce: string;
  readonly pages: readonly { readonly path: string; readonly digest: string }[];
  readonly pillars: readonly string[];
  readonly diff: string;
}

const section = (title: string, body: string | undefined): string[] =>
  body === undefined || body === '' ? [] : [`# ${title}\n`, body, ''];

const assignmentLines = (parts: PromptParts): string => {
  const lines = Object.entries(parts.assignment).map(
    ([key, value]) => `${key}: ${oneLine(String(value), 4_096)}`,
  );
  const { review } = parts;
  if (review !== undefined) {
    lines.push(`diff: ${review.diff}`, `nonce: ${review.nonce}`);
    for (const { digest, path } of review.pages) lines.push(`page: ${digest} ${path}`);
    for (const pillar of review.pillars) lines.push(`pillar: ${oneLine(pillar)}`);
  }
  return lines.join('\n');
};

const quotedList = (lines: readonly string[]): string => lines.map((line) => quote(line)).join('\n');

/** The whole prompt. Pure: the same parts give the same bytes. */
export const buildPrompt = (parts: PromptParts): string => {
  const lines = [
    parts.kernel.trimEnd(),
    '',
    ...(parts.manual === '' ? [] : [parts.manual.trimEnd(), '']),
    ...section('Assignment', assignmentLines(parts)),
    ...section('Ticket', quote(parts.ticket)),
    ...section('Approved plan', parts.plan === undefined ? undefined : quote(parts.plan)),
    ...section('Feedback of earlier attempts', quotedList(parts.feedback)),
    ...section(
      'Directives from a person',
      quotedList(parts.directives.map(({ id, text }) => `${id}: ${text}`)),
    ),
    ...section(
      'Notes that may be read',
      quotedList(parts.notes.map(({ path, title }) => `${path} – ${title}`)),
    ),
    ...section('Scars of earlier tickets', quotedList(parts.scars)),
    '# State, 00 to 99\n',
    ...parts.documents.map(({ name, text }) => `## ${oneLine(name)}\n\n${quote(text)}\n`),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
};
