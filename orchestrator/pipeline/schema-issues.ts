import type { core } from 'zod';

import { describePath, listNames, type Finding, type Path } from './problems.js';
import {
  budgetShape,
  approvalShape,
  checkShape,
  fileShape,
  limitsShape,
  policyShape,
  sandboxShape,
  targetShape,
  ticketsShape,
  whenShape,
  workerShape,
} from './schema.js';
import type { Suggest } from '../model/suggest.js';

type Issue = core.$ZodIssue;

/** Keys that are known at a place. `*` stands for a name, `#` for a position. */
const KNOWN_KEYS: Readonly<Record<string, readonly string[]>> = {
  '': Object.keys(fileShape),
  tickets: Object.keys(ticketsShape),
  limits: Object.keys(limitsShape),
  'workers.*': Object.keys(workerShape),
  'targets.*': Object.keys(targetShape),
  'targets.*.limits': Object.keys(limitsShape),
  'targets.*.when': Object.keys(whenShape),
  sandbox: Object.keys(sandboxShape),
  'workers.*.sandbox': Object.keys(sandboxShape),
  budget: Object.keys(budgetShape),
  'targets.*.gates.#': ['approval', 'check'],
  'targets.*.gates.#.approval': Object.keys(approvalShape),
  'targets.*.gates.#.approval.policy': Object.keys(policyShape),
  'targets.*.gates.#.check': Object.keys(checkShape),
};

const TYPE_PHRASES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: '`true` or `false`',
  array: 'a list',
  tuple: 'a list that starts with the program',
  object: 'a map of keys and values',
  record: 'a map of names',
};

const placeOf = (path: Path): string =>
  path
    .map((part, at) => {
      if (typeof part === 'number') return '#';
      return at === 1 && (path[0] === 'targets' || path[0] === 'workers') ? '*' : part;
    })
    .join('.');

/** The value at a path of plain data; `undefined` when there is none. */
export const valueAt = (data: unknown, path: Path): unknown => {
  let value: unknown = data;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[part];
  }
  return value;
};

/** A value as a message names it. */
const describeValue = (value: unknown): string => {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a map';
  if (typeof value !== 'string') return `\`${JSON.stringify(value)}\``;
  if (value === '') return 'an empty text';
  const short = value.length > 60 ? `${value.slice(0, 60)}…` : value;
  return /[\u0000-\u001f\u007f-\u009f`]/.test(short) ? JSON.stringify(short) : `\`${short}\``;
};

interface Context {
  readonly data: unknown;
  readonly suggest: Suggest;
}

const unknownKey = (parent: Path, key: string, { suggest }: Context): Finding => {
  const known = KNOWN_KEYS[placeOf(parent)] ?? [];
  const near = suggest(key, known);
  const where = parent.length === 0 ? 'the file' : `\`${describePath(parent)}\``;
  return {
    path: [...parent, key],
    at: 'key',
    message: `unknown key \`${key}\` in ${where}`,
    expected: `one of ${listNames(known.toSorted(), 30)}`,
    fix: near === undefined ? 'remove it' : `did you mean \`${near}\`?`,
  };
};

const badName = (path: Path, issue: core.$ZodIssueInvalidKey): Finding => {
  const key = String(path.at(-1));
  const slug = key
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 64);
  const isVariable = path.at(-2) === 'env';
  return {
    path,
    at: 'key',
    message: `${describeValue(key)} in \`${describePath(path.slice(0, -1))}\` is not a name`,
    expected: issue.issues[0]?.message ?? 'a name',
    fix: isVariable || slug === '' ? 'rename it' : `rename it to \`${slug}\``,
  };
};

const quoteAll = (values: readonly unknown[]): string =>
  values.map((value) => `\`${String(value)}\``).join(', ');

const expectedOf = (issue: Issue): string => {
  if (issue.code === 'invalid_value') {
    return issue.values.length === 1 ? quoteAll(issue.values) : `one of ${quoteAll(issue.values)}`;
  }
  const isDefault = /^(Invalid|Too|Unrecognized)/.test(issue.message);
  if (!isDefault) return issue.message;
  return issue.code === 'invalid_type' ? (TYPE_PHRASES[issue.expected] ?? issue.expected) : 'another value';
};

/** Texts that one of the branches of a union would take. */
const choicesOf = (issue: Issue): readonly string[] => {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  return issue.code === 'invalid_union' ? issue.errors.flat().flatMap(choicesOf) : [];
};

/** Some branch takes a text here: `command: true` was meant as the program of that name. */
const takesText = (issue: Issue): boolean => {
  if (issue.code === 'invalid_type') return issue.expected === 'string' && issue.path.length === 0;
  return issue.code === 'invalid_union' && issue.errors.flat().some(takesText);
};

const fixOf = (issue: Issue, value: unknown, { path, suggest }: { path: Path; suggest: Suggest }): string => {
  const key = path.at(-1);
  const wanted = issue.code === 'invalid_type' ? issue.expected : '';
  if (value === null) return `give \`${describePath(path)}\` a value, or remove it`;
  if (typeof value === 'string') {
    const near = suggest(value, choicesOf(issue));
    if (near !== undefined) return `did you mean \`${near}\`?`;
    if ((wanted === 'array' || wanted === 'tuple') && typeof key === 'string')
      return `write \`${key}: [${value}]\``;
  }
  if (takesText(issue) && (typeof value === 'number' || typeof value === 'boolean')) {
    return `put it in quotes: \`"${value}"\``;
  }
  return `write ${expectedOf(issue)}`;
};

const wrongValue = (path: Path, issue: Issue, { data, suggest }: Context): Finding => {
  const value = valueAt(data, path);
  const name = path.length === 0 ? 'the file' : `\`${describePath(path)}\``;
  const expected = expectedOf(issue);
  if (value === undefined && typeof path.at(-1) === 'number') {
    const list = path.slice(0, -1);
    return {
      path: list,
      message: `\`${describePath(list)}\` is an empty list`,
      expected,
      fix: 'name the program',
    };
  }
  if (value === undefined) {
    return { path, message: `${name} is missing`, expected, fix: `add \`${String(path.at(-1))}\`` };
  }
  return {
    path,
    message: `${name} is ${describeValue(value)}`,
    expected,
    fix: fixOf(issue, value, { path, suggest }),
  };
};

const isAtRoot = (issue: Issue): boolean => issue.path.length === 0;

/** The branch of a union that the value was meant for, when the shape of the value tells. */
const meantBranch = (branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined => {
  const sameShape = branches.filter(
    (issues) => !issues.some((issue) => isAtRoot(issue) && issue.code !== 'unrecognized_keys'),
  );
  if (sameShape.length === 1) return sameShape[0];
  const sameKeys = sameShape.filter((issues) => !issues.some(isAtRoot));
  return sameKeys.length === 1 ? sameKeys[0] : undefined;
};

const unknownChoice = (path: Path, issue: Issue, context: Context): readonly Finding[] => {
  const value = valueAt(context.data, path);
  const known = KNOWN_KEYS[placeOf(path)];
  if (known === undefined || typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [wrongValue(path, issue, context)];
  }
  const strangers = Object.keys(value).filter((key) => !known.includes(key));
  if (strangers.length > 0) return strangers.map((key) => unknownKey(path, key, context));
  return [
    {
      path,
      message: `\`${describePath(path)}\` says more than one thing`,
      expected: expectedOf(issue),
      fix: 'write one list item for each',
    },
  ];
};

const convert = (issue: Issue, base: Path, context: Context): readonly Finding[] => {
  const path = [...base, ...issue.path.filter((part) => typeof part !== 'symbol')];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(path, key, context));
  if (issue.code === 'invalid_key') return [badName(path, issue)];
  if (issue.code !== 'invalid_union') return [wrongValue(path, issue, context)];
  const branch = meantBranch(issue.errors);
  if (branch === undefined) return unknownChoice(path, issue, context);
  return branch.flatMap((inner) => convert(inner, path, context));
};

/** What zod says about a file, in our words: the thing named, what was expected, and what to do. */
export const findingsOf = (issues: readonly Issue[], data: unknown, suggest: Suggest): readonly Finding[] =>
  issues.flatMap((issue) => convert(issue, [], { data, suggest }));
