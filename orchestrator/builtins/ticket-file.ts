import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { isNode, LineCounter, parseDocument } from 'yaml';
import { digestOf, type Digest } from '../model/digest.js';
import { Problem } from '../model/failure.js';
import { cleanText, oneLine } from '../model/text.js';
import type { Ticket } from '../model/ticket.js';
import { splitFrontMatter } from '../state/front-matter.js';

export interface TicketFile {
  readonly ticket: Ticket;
  readonly digest: Digest;
  /** Relative to the repository's root. */
  readonly path: string;
}

/** A ticket is read into a prompt in one piece. */
const TICKET_BYTES = 46_080;

const invalid = (where: string, message: string, next: string): Problem =>
  new Problem({ kind: 'ticket-invalid', message, where, next });

export const ticketPath = (pattern: string, id: string): string => pattern.replaceAll('{ticket}', id);

/**
 * Reads `tickets/320.md`: front matter with title, labels, acceptance criteria; then the body. Nothing is created.
 * @throws `Problem` `ticket-invalid` for a missing, empty, malformed or oversized file, or one outside the repository
 */
export const readTicketFile = (root: string, pattern: string, id: string): TicketFile => {
  const path = ticketPath(pattern, id);
  const text = readInside(root, path, id);
  const split = splitFrontMatter(text);
  if (split === undefined) {
    throw invalid(`${path}:1:1`, 'a ticket file begins with front matter between two lines `---`', EXAMPLE);
  }
  const head = parseHead(split.head, path);
  const ticket: Ticket = {
    id,
    title: titleOf(head),
    labels: listOf(head, 'labels'),
    acceptance: listOf(head, 'acceptance'),
    body: cleanText(split.body).trim(),
  };
  if (ticket.body === '' && ticket.acceptance.length === 0) {
    throw invalid(path, 'the ticket says nothing: it has neither a body nor acceptance criteria', EXAMPLE);
  }
  return { ticket, digest: digestOf(text), path };
};

const EXAMPLE =
  'write for example:\n    ---\n    title: Accept durations such as 1h30m\n    labels: [parser]\n    acceptance: ["parse(\'1h30m\') is 5400"]\n    ---\n    What is wanted and why.';

const readInside = (root: string, path: string, id: string): string => {
  const real = realPath(join(root, path));
  if (real === undefined) {
    throw invalid(
      path,
      `ticket \`${id}\` is not known: there is no such file`,
      `write \`${path}\`, or name another ticket`,
    );
  }
  if (!real.startsWith(realpathSync(root) + sep)) {
    throw invalid(
      path,
      'the ticket file leads out of the repository',
      'put the file itself there, not a link',
    );
  }
  const text = readText(real, path);
  if (text.trim() === '') throw invalid(path, 'the ticket file is empty', EXAMPLE);
  return text;
};

/** `undefined` when nothing is there, also because a folder of the path is a file or a link leads nowhere. */
const realPath = (full: string): string | undefined => {
  try {
    return realpathSync(full);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
};

const readText = (real: string, path: string): string => {
  if (!lstatSync(real).isFile()) throw invalid(path, 'it is not a regular file', 'put a Markdown file there');
  const bytes = readFileSync(real);
  if (bytes.length > TICKET_BYTES) {
    throw invalid(
      path,
      `the ticket is ${bytes.length} bytes long; at most ${TICKET_BYTES} fit into a prompt`,
      'shorten it and point to files for the rest',
    );
  }
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes))
    throw invalid(path, 'the ticket is not UTF-8 text', 'save it as UTF-8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
};

/** The front matter's values, and where each of them stands. */
interface Head {
  readonly values: Readonly<Record<string, unknown>>;
  /** `file:line:column` of a key's value; of the front matter's first line when there is no such key. */
  readonly where: (key: string) => string;
}

const parseHead = (head: string, path: string): Head => {
  const counter = new LineCounter();
  const document = parseDocument(head, { lineCounter: counter });
  // The front matter starts on the file's second line.
  const at = (offset: number): string => {
    const { line, col } = counter.linePos(offset);
    return `${path}:${line + 1}:${col}`;
  };
  const error = document.errors[0];
  if (error !== undefined) throw notYaml(at(error.pos[0]), error);
  const value = valueOf(document, path);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`${path}:2:1`, 'the front matter must be a mapping with a `title:`', EXAMPLE);
  }
  return {
    values: value as Readonly<Record<string, unknown>>,
    where: (key) => {
      const node: unknown = document.get(key, true);
      return isNode(node) && node.range ? at(node.range[0]) : `${path}:2:1`;
    },
  };
};

const notYaml = (where: string, error: Error): Problem =>
  invalid(where, `the front matter is not YAML: ${oneLine(error.message.split('\n')[0] ?? '')}`, EXAMPLE);

/** Aliases can make a small text a huge value; yaml refuses that with an exception. */
const valueOf = (document: ReturnType<typeof parseDocument>, path: string): unknown => {
  try {
    return document.toJS({ maxAliasCount: 10 });
  } catch (error) {
    throw notYaml(`${path}:2:1`, error as Error);
  }
};

const titleOf = ({ values, where }: Head): string => {
  const title = values['title'];
  if (typeof title !== 'string' && typeof title !== 'number')
    throw invalid(where('title'), 'the front matter has no `title:`', EXAMPLE);
  const text = oneLine(String(title));
  if (text === '') throw invalid(where('title'), 'the `title:` is empty', EXAMPLE);
  return text;
};

const listOf = ({ values, where }: Head, name: string): string[] => {
  const value = values[name] ?? [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (!list.every((item) => typeof item === 'string' || typeof item === 'number')) {
    throw invalid(where(name), `\`${name}:\` must be a list of texts`, EXAMPLE);
  }
  return list.map((item) => oneLine(String(item), 500));
};
