import { LineCounter, parseDocument, type Document } from 'yaml';
import { WorkerError } from './worker-error.js';

interface Source {
  readonly file: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

/** A value of a YAML file that knows where it stands. */
export interface Field {
  readonly value: unknown;
  readonly path: readonly (string | number)[];
  readonly source: Source;
}

export type Fields = Readonly<Record<string, Field | undefined>>;

/** @throws WorkerError for text that is not YAML, with the parser's own words and position */
export const parseYaml = (file: string, text: string): Field => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const error = document.errors[0];
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new WorkerError(`${file}:${line}:${col}: ${error.message.split('\n')[0]?.replace(/:$/, '')}`);
  }
  return { value: document.toJS(), path: [], source: { file, document, lines } };
};

/** Position of the value, or of the nearest parent that has one. */
const positionOf = ({ path, source }: Field): string => {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = source.document.getIn(path.slice(0, length), true);
    const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : undefined;
    const start: unknown = Array.isArray(range) ? range[0] : undefined;
    if (typeof start === 'number') {
      const { line, col } = source.lines.linePos(start);
      return `${source.file}:${line}:${col}`;
    }
  }
  return source.file;
};

const nameOf = (path: Field['path']): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${part}`))
    .join('');

/** A mistake in a script: `file:line:column: key: what is wrong`. */
export const wrong = (field: Field, message: string): WorkerError => {
  const name = nameOf(field.path);
  return new WorkerError(`${positionOf(field)}: ${name === '' ? '' : `\`${name}\`: `}${message}`);
};

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The entries of a mapping that may have only these keys. */
export const mapping = (field: Field, keys: readonly string[]): Fields => {
  if (!isMapping(field.value)) throw wrong(field, `expected a mapping with ${keys.join(', ')}`);
  const fields = Object.entries(field.value).map(
    ([key, value]) => [key, { value, path: [...field.path, key], source: field.source }] as const,
  );
  const unknown = fields.find(([key]) => !keys.includes(key));
  if (unknown !== undefined) throw wrong(unknown[1], `unknown key; expected one of ${keys.join(', ')}`);
  return Object.fromEntries(fields);
};

export const required = (fields: Fields, key: string, parent: Field): Field => {
  const field = fields[key];
  if (field === undefined) throw wrong(parent, `\`${key}\` is missing`);
  return field;
};

export const list = <T>(field: Field | undefined, read: (item: Field) => T): readonly T[] => {
  if (field === undefined) return [];
  if (!Array.isArray(field.value)) throw wrong(field, 'expected a list');
  return field.value.map((value: unknown, index) =>
    read({ value, path: [...field.path, index], source: field.source }),
  );
};

export const text = (field: Field): string => {
  if (typeof field.value !== 'string' || field.value === '')
    throw wrong(field, 'expected a text that is not empty');
  return field.value;
};

/** One line: it becomes a title or a summary line. */
export const line = (field: Field, longest = 120): string => {
  const value = text(field).trim();
  if (value === '' || /[\n\r]/.test(value)) throw wrong(field, 'expected one line of text');
  if (value.length > longest) throw wrong(field, `longer than ${longest} characters`);
  return value;
};

export const wholeNumber = (
  field: Field,
  { from, to }: { readonly from: number; readonly to: number },
): number => {
  const { value } = field;
  if (typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to) return value;
  throw wrong(field, `expected a whole number from ${from} to ${to}`);
};

export const oneOf = <T extends string>(field: Field, values: readonly T[]): T => {
  const value = values.find((item) => item === field.value);
  if (value === undefined) throw wrong(field, `expected one of ${values.join(', ')}`);
  return value;
};

/** A path below the tree, with `/`; never `.git`, never upwards. */
export const treePath = (field: Field): string => {
  const value = line(field, 400);
  const parts = value.split('/');
  const isBad = parts.some(
    (part) => part === '' || part === '.' || part === '..' || part.toLowerCase() === '.git',
  );
  if (isBad || value.includes('\\') || value.includes('\0')) {
    throw wrong(field, `\`${value}\` is not a plain path below the tree; write it like \`src/file.js\``);
  }
  return value;
};

/** Program and arguments; the program `node` means the Node that runs the worker. */
export const command = (field: Field): readonly string[] => {
  const argv = list(field, text);
  if (argv.length === 0) throw wrong(field, 'expected a program and its arguments, e.g. [node, --test]');
  return argv;
};
