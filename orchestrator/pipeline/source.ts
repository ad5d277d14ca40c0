import {
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Alias,
  type Document,
  type Node,
  type Pair,
  type YAMLError,
  type YAMLMap,
} from 'yaml';

import { isTooDeep } from './nesting.js';
import { problemOf, type Path, type PipelineProblem } from './problems.js';

/**
 * Bound on expanded aliases, against "billion laughs". `yaml` multiplies uses by nesting; 10,000 targets that share
 * one anchor are far below it.
 */
const MAX_ALIASES = 100_000;

interface Place {
  readonly line: number;
  readonly column: number;
  /** The whole path exists in this file; otherwise the place is that of the nearest parent. */
  readonly exact: boolean;
}

/** One YAML file: its data, and where in the text each part of it is. */
export interface YamlSource {
  /** As messages name it. */
  readonly file: string;
  readonly value: unknown;
  /** Syntax errors and duplicate keys. */
  readonly problems: readonly PipelineProblem[];
  /** The text could not be understood, so `value` is `undefined` and says nothing about what is missing. */
  readonly broken: boolean;
  readonly locate: (path: Path, at?: 'key' | 'value') => Place;
  /** Keys of the map at the path in the order of the text (objects put keys such as `7` first). */
  readonly keysAt: (path: Path) => readonly string[];
}

type Doc = Document.Parsed;

const keyText = (pair: Pair): string => {
  const value = isScalar(pair.key) ? pair.key.value : pair.key;
  return typeof value === 'symbol' ? (value.description ?? '') : String(value);
};

/** What each alias stands for. `Alias.resolve` walks the whole document for each alias; this walks it once. */
const resolveAliases = (doc: Doc): ReadonlyMap<Alias, Node> => {
  const anchors = new Map<string, Node>();
  const resolved = new Map<Alias, Node>();
  visit(doc, {
    Node: (_, node) => {
      if (isAlias(node)) {
        const target = anchors.get(node.source);
        if (target !== undefined) resolved.set(node, target);
      } else if (node.anchor !== undefined) {
        anchors.set(node.anchor, node);
      }
    },
  });
  return resolved;
};

interface Step {
  readonly node: unknown;
  readonly pair?: Pair;
}

/** Walks the document along paths; indexes are made on the first question, since most files have no problem. */
const createWalker = (doc: Doc) => {
  let aliases: ReadonlyMap<Alias, Node> | undefined;
  const indexes = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();

  const follow = (node: unknown): unknown => {
    if (!isAlias(node)) return node;
    aliases ??= resolveAliases(doc);
    return aliases.get(node);
  };
  const indexOf = (map: YAMLMap): ReadonlyMap<string, Pair> => {
    const known = indexes.get(map);
    if (known !== undefined) return known;
    const index = new Map<string, Pair>(map.items.map((pair) => [keyText(pair), pair]));
    indexes.set(map, index);
    return index;
  };
  const child = (node: unknown, part: string | number): Step | undefined => {
    const parent = follow(node);
    if (isSeq(parent)) {
      const item: unknown = typeof part === 'number' ? parent.items[part] : undefined;
      return item === undefined ? undefined : { node: item };
    }
    if (!isMap(parent)) return undefined;
    const index = indexOf(parent);
    const pair = index.get(String(part));
    if (pair !== undefined) return { node: pair.value, pair };
    const merged = index.get('<<');
    return merged === undefined ? undefined : child(merged.value, part);
  };
  /** The steps that exist, at most as many as the path has parts. */
  const walk = (path: Path): readonly Step[] => {
    const steps: Step[] = [];
    let node: unknown = doc.contents;
    for (const part of path) {
      const step = child(node, part);
      if (step === undefined) return steps;
      steps.push(step);
      node = step.node;
    }
    return steps;
  };
  return { walk, follow };
};

const startOf = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined);

const offsetOf = (step: Step, at: 'key' | 'value'): number | undefined => {
  const key = startOf(step.pair?.key);
  const value = startOf(step.node);
  return at === 'key' ? (key ?? value) : (value ?? key);
};

interface Reading {
  readonly file: string;
  readonly doc: Doc;
  readonly lines: LineCounter;
}

const placeAt = (lines: LineCounter, offset: number): { line: number; column: number } => {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
};

/** More than this is the echo of the first few. */
const MAX_SYNTAX_PROBLEMS = 20;

const syntaxFix = ({ code, message }: YAMLError): string => {
  if (code === 'MULTIPLE_DOCS') return 'remove the line `---` and what follows it';
  if (code === 'TAB_AS_INDENT') return 'indent with spaces';
  return message.includes('flow-map-start')
    ? 'put the text in quotes; without them `{` begins a map'
    : 'correct the YAML here';
};

/** After one unexpected token the parser has lost its place and calls every further token unexpected too. */
const syntaxProblems = ({ file, doc, lines }: Reading): readonly PipelineProblem[] => {
  const errors: readonly YAMLError[] = [...doc.errors, ...doc.warnings].toSorted(
    (a, b) => a.pos[0] - b.pos[0],
  );
  const lost = errors.find(({ code }) => code === 'UNEXPECTED_TOKEN');
  return errors
    .filter((error) => error === lost || error.code !== 'UNEXPECTED_TOKEN')
    .slice(0, MAX_SYNTAX_PROBLEMS)
    .map((error) =>
      problemOf(file, placeAt(lines, error.pos[0]), {
        message: `YAML: ${error.message}`,
        fix: syntaxFix(error),
      }),
    );
};

/** `yaml` finds duplicates by comparing every pair of keys, which takes a second for 10,000 targets. */
const duplicateKeys = ({ file, doc, lines }: Reading): readonly PipelineProblem[] => {
  const problems: PipelineProblem[] = [];
  const check = (map: YAMLMap): void => {
    const first = new Map<string, number>();
    for (const pair of map.items) {
      const text = keyText(pair);
      const offset = startOf(pair.key) ?? 0;
      const before = first.get(text);
      if (before === undefined) first.set(text, offset);
      if (before !== undefined) {
        const message = `key \`${text}\` is there twice, first in line ${placeAt(lines, before).line}`;
        problems.push(
          problemOf(file, placeAt(lines, offset), { message, fix: 'remove or rename one of them' }),
        );
      }
      if (text === '__proto__') {
        const message = 'key `__proto__` is not allowed';
        problems.push(problemOf(file, placeAt(lines, offset), { message, fix: 'remove it' }));
      }
    }
  };
  const open: unknown[] = [doc.contents];
  while (open.length > 0) {
    const node = open.pop();
    if (isMap(node)) check(node);
    if (isMap(node) || isSeq(node))
      for (const item of node.items) open.push(isPair(item) ? item.value : item);
  }
  return problems;
};

const describeError = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const toData = (reading: Reading): { readonly value?: unknown; readonly problem?: PipelineProblem } => {
  try {
    return { value: reading.doc.toJS({ maxAliasCount: MAX_ALIASES }) };
  } catch (error) {
    // The stack ends when a merge key brings in the map that it is in.
    const reason =
      error instanceof RangeError ? 'an alias stands inside what it stands for' : describeError(error);
    const message = `YAML: ${reason}`;
    const place = placeAt(reading.lines, startOf(reading.doc.contents) ?? 0);
    return {
      problem: problemOf(reading.file, place, { message, fix: 'write the values out instead of aliases' }),
    };
  }
};

const unreadable = (file: string, message: string): YamlSource => ({
  file,
  value: undefined,
  problems: [
    problemOf(file, { line: 1, column: 1 }, { message, fix: 'write it flat, as a map of keys and values' }),
  ],
  broken: true,
  locate: () => ({ line: 1, column: 1, exact: false }),
  keysAt: () => [],
});

const parse = (text: string, lines: LineCounter): Doc =>
  parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    stringKeys: true,
    merge: true,
  });

const read = (file: string, text: string): Reading => {
  const lines = new LineCounter();
  return { file, lines, doc: parse(text, lines) };
};

/** Answers where something is. */
const createLocator = ({ doc, lines }: Reading): Pick<YamlSource, 'locate' | 'keysAt'> => {
  const walker = createWalker(doc);
  return {
    locate: (path, at = 'value') => {
      const steps = walker.walk(path);
      const exact = steps.length === path.length;
      const last = steps.at(-1);
      // What is missing has no place of its own: the key of the nearest parent is where to add it.
      const offset = last === undefined ? startOf(doc.contents) : offsetOf(last, exact ? at : 'key');
      return { ...placeAt(lines, offset ?? 0), exact };
    },
    keysAt: (path) => {
      const steps = walker.walk(path);
      if (steps.length !== path.length) return [];
      const node = walker.follow(path.length === 0 ? doc.contents : steps.at(-1)?.node);
      return isMap(node) ? node.items.map(keyText) : [];
    },
  };
};

/** Parses a YAML text. Never throws: what is wrong with it is in `problems`. */
export const readYaml = (file: string, text: string): YamlSource => {
  if (isTooDeep(text)) return unreadable(file, 'the YAML is nested more than 100 levels deep');
  const reading = read(file, text);
  const syntax = syntaxProblems(reading);
  const data = syntax.length > 0 ? {} : toData(reading);
  // The document of 10,000 targets takes 100 MB and is needed only for places. So it is let go, and made again when
  // somebody asks for one: a file with a problem may take twice as long.
  let locator: ReturnType<typeof createLocator> | undefined;
  const located = (): ReturnType<typeof createLocator> => (locator ??= createLocator(read(file, text)));
  return {
    file,
    value: data.value,
    problems: [...syntax, ...duplicateKeys(reading), ...(data.problem === undefined ? [] : [data.problem])],
    broken: syntax.length > 0 || data.problem !== undefined,
    locate: (path, at) => located().locate(path, at),
    keysAt: (path) => located().keysAt(path),
  };
};
