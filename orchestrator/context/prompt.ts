/**
 * What a worker is given, in an order that never changes: the stable part first (kernel, manual: the provider's prompt
 * cache hits), then the assignment, then what is quoted, and the state documents 00 → 99 last, 99 being the last line.
 *
 * P1  A line that starts at column 0 is ours; everything that came from a ticket, an agent, a file or a person is quoted.
 *     Each line carries its own mark, so that no reader has to find where a quotation ends.
 * P2  One manual, no other.
 */
import { quote, visibleLine } from '../model/text.js';
import { DOCUMENTS } from '../state/run-dir.js';

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
  /** State documents in lexical order. A file that we did not name is quoted with its name, and before 99. */
  readonly documents: readonly { readonly name: string; readonly text: string }[];
}

export interface ReviewParts {
  readonly nonce: string;
  readonly pages: readonly { readonly path: string; readonly digest: string; readonly hiding?: boolean }[];
  readonly pillars: readonly string[];
  readonly diff: string;
  /** List of ignored files that lie in the tree and are in no diff. */
  readonly ignored?: string;
}

const section = (title: string, body: string | undefined): string[] =>
  body === undefined || body === '' ? [] : [`# ${title}\n`, body, ''];

const assignmentLines = (parts: PromptParts): string => {
  const lines = Object.entries(parts.assignment).map(
    ([key, value]) => `${key}: ${visibleLine(String(value))}`,
  );
  const { review } = parts;
  if (review !== undefined) {
    lines.push(`diff: ${visibleLine(review.diff)}`, `nonce: ${review.nonce}`);
    if (review.ignored !== undefined) lines.push(`ignored: ${visibleLine(review.ignored)}`);
    for (const { digest, path } of review.pages) lines.push(`page: ${digest} ${visibleLine(path)}`);
    // EVIDENCE 51: what a reader would not see in the diff is not left to his eyes.
    for (const { hiding, path } of review.pages)
      if (hiding === true) lines.push(`hidden-characters: ${visibleLine(path)}`);
    for (const pillar of review.pillars) lines.push(`pillar: ${visibleLine(pillar)}`);
  }
  return lines.join('\n');
};

const quotedList = (lines: readonly string[]): string => lines.map((line) => quote(line)).join('\n');

type StateText = PromptParts['documents'][number];

const isOurs = ({ name }: StateText): boolean => (DOCUMENTS as readonly string[]).includes(name);

const documentSection = (document: StateText): string =>
  isOurs(document)
    ? `## ${document.name}\n\n${quote(document.text)}\n`
    : `## Another file of the state folder\n\n${quote(visibleLine(document.name))}\n\n${quote(document.text)}\n`;

const withLast = (documents: readonly StateText[], last: string): StateText[] => [
  ...documents.filter(({ name }) => name !== last),
  ...documents.filter(({ name }) => name === last),
];

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
      quotedList(parts.notes.map(({ path, title }) => `${visibleLine(path)} – ${title}`)),
    ),
    ...section('Scars of earlier tickets', quotedList(parts.scars)),
    '# State, 00 to 99\n',
    ...withLast(parts.documents, '99_next_action.md').map(documentSection),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
};
