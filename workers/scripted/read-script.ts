import {
  command,
  line,
  list,
  mapping,
  oneOf,
  parseYaml,
  required,
  text,
  treePath,
  wholeNumber,
  wrong,
  type Field,
  type Fields,
} from './fields.js';
import { readMisbehaviour } from './read-misbehave.js';
import {
  MAKES,
  type DiffScript,
  type Edit,
  type NotesScript,
  type Part,
  type PlanScript,
  type Probe,
  type ReviewScript,
  type Scar,
  type Script,
  type Step,
} from './script.js';

const ROUNDS = { from: 1, to: 1000 };
const optional = <K extends string, T>(key: K, field: Field | undefined, read: (field: Field) => T) =>
  field === undefined ? {} : ({ [key]: read(field) } as { readonly [name in K]: T });

const readEdit = (field: Field): Edit => {
  const fields = mapping(field, ['write', 'text', 'replace', 'old', 'new', 'delete']);
  const keys = Object.keys(fields).toSorted().join(' ');
  const { write, replace } = fields;
  if (write !== undefined && keys === 'text write') {
    return { kind: 'write', path: treePath(write), text: text(required(fields, 'text', field)) };
  }
  if (replace !== undefined && keys === 'new old replace') {
    const replacement = required(fields, 'new', field);
    if (typeof replacement.value !== 'string') throw wrong(replacement, 'expected a text, "" to remove');
    return {
      kind: 'replace',
      path: treePath(replace),
      old: text(required(fields, 'old', field)),
      new: replacement.value,
    };
  }
  if (fields['delete'] !== undefined && keys === 'delete')
    return { kind: 'delete', path: treePath(fields['delete']) };
  throw wrong(field, 'expected `write` with `text`, `replace` with `old` and `new`, or `delete`');
};

const readTest = (field: Field): NonNullable<Step['test']> => {
  const fields = mapping(field, ['edits', 'run']);
  return {
    edits: list(required(fields, 'edits', field), readEdit),
    run: command(required(fields, 'run', field)),
  };
};

const STEP_KEYS = ['test', 'change', 'run'];

const readStepFields = (fields: Fields): Step => ({
  ...optional('test', fields['test'], readTest),
  change: list(fields['change'], readEdit),
  ...optional('run', fields['run'], command),
});

const readStep = (field: Field): Step => readStepFields(mapping(field, STEP_KEYS));

const readFix = (field: Field): DiffScript['fixes'][number] => {
  const fields = mapping(field, ['blocker', ...STEP_KEYS]);
  return { ...readStepFields(fields), blocker: line(required(fields, 'blocker', field)) };
};

const PLAN_KEYS = ['reads', 'paths', 'files', 'lines', 'text'];
const readPlan = (fields: Fields, field: Field): PlanScript => {
  const paths = list(required(fields, 'paths', field), (item) => line(item, 400));
  if (paths.length === 0)
    throw wrong(required(fields, 'paths', field), 'a plan without paths allows no change');
  return {
    reads: list(fields['reads'], treePath),
    paths,
    ...optional('files', fields['files'], (item) => wholeNumber(item, { from: 0, to: 100_000 })),
    ...optional('lines', fields['lines'], (item) => wholeNumber(item, { from: 0, to: 10_000_000 })),
    text: text(required(fields, 'text', field)),
  };
};

const DIFF_KEYS = ['work', 'fixes'];
const readDiff = (fields: Fields, field: Field): DiffScript => {
  if (fields['work'] === undefined && fields['fixes'] === undefined)
    throw wrong(field, '`work` or `fixes` is missing');
  return { ...optional('work', fields['work'], readStep), fixes: list(fields['fixes'], readFix) };
};

const readProbe = (field: Field): Probe => {
  const fields = mapping(field, [
    'claim',
    'blocker',
    'pillar',
    'path',
    'edits',
    'run',
    'expect',
    'dismissed',
    'deadEnd',
  ]);
  return {
    claim: line(required(fields, 'claim', field)),
    blocker: line(required(fields, 'blocker', field)),
    pillar: line(required(fields, 'pillar', field)),
    ...optional('path', fields['path'], treePath),
    edits: list(fields['edits'], readEdit),
    run: command(required(fields, 'run', field)),
    expect: fields['expect'] === undefined ? 'pass' : oneOf(fields['expect'], ['pass', 'fail'] as const),
    ...optional('dismissed', fields['dismissed'], (item) => line(item, 200)),
    ...optional('deadEnd', fields['deadEnd'], (item) => line(item, 200)),
  };
};

const readReview = (fields: Fields, field: Field): ReviewScript => ({
  probes: list(required(fields, 'probes', field), readProbe),
});

const readScar = (field: Field): Scar => {
  const fields = mapping(field, ['blocker', 'name', 'title', 'path', 'wound', 'trap', 'reflex']);
  const name = required(fields, 'name', field);
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(line(name)))
    throw wrong(name, 'expected a file name such as `first-value`');
  return {
    blocker: line(required(fields, 'blocker', field)),
    name: line(name),
    title: line(required(fields, 'title', field)),
    path: treePath(required(fields, 'path', field)),
    wound: text(required(fields, 'wound', field)).trim(),
    trap: text(required(fields, 'trap', field)).trim(),
    reflex: text(required(fields, 'reflex', field)).trim(),
  };
};

const readNotes = (fields: Fields): NotesScript => ({ scars: list(fields['scars'], readScar) });

type ReadWork<T> = (fields: Fields, field: Field) => T;

const readPart = <T>(field: Field, keys: readonly string[], readWork: ReadWork<T>): Part<T> => {
  const fields = mapping(field, ['round', 'status', 'because', ...keys]);
  const round = optional('round', fields['round'], (item) => wholeNumber(item, ROUNDS));
  const { status, because } = fields;
  if (status === undefined && because === undefined) return { ...round, work: readWork(fields, field) };
  const extra = keys.map((key) => fields[key]).find((item) => item !== undefined);
  if (extra !== undefined) throw wrong(extra, 'does not go together with `status`');
  return {
    ...round,
    answer: {
      status: oneOf(required(fields, 'status', field), ['no-change', 'blocked'] as const),
      because: line(required(fields, 'because', field), 200),
    },
  };
};

const readParts = <T>(
  field: Field | undefined,
  keys: readonly string[],
  readWork: ReadWork<T>,
): readonly Part<T>[] => {
  if (field === undefined) return [];
  const read = (item: Field): Part<T> => readPart(item, keys, readWork);
  const parts = Array.isArray(field.value) ? list(field, read) : [read(field)];
  const rounds = parts.map(({ round }) => round);
  const twice = rounds.findIndex((round, index) => rounds.indexOf(round) !== index);
  if (twice !== -1)
    throw wrong(
      field,
      `two entries for ${rounds[twice] === undefined ? 'every round' : `round ${rounds[twice]}`}`,
    );
  return parts;
};

/**
 * @param file how messages name it, relative to the tree
 * @throws WorkerError for the first mistake: unknown key, wrong type, missing part, with `file:line:column`
 */
export const readScript = (file: string, source: string): Script => {
  const root = parseYaml(file, source);
  const fields = mapping(root, ['version', ...MAKES, 'misbehave']);
  wholeNumber(required(fields, 'version', root), { from: 1, to: 1 });
  return {
    plan: readParts(fields['plan'], PLAN_KEYS, readPlan),
    diff: readParts(fields['diff'], DIFF_KEYS, readDiff),
    files: readParts(fields['files'], DIFF_KEYS, readDiff),
    review: readParts(fields['review'], ['probes'], readReview),
    notes: readParts(fields['notes'], ['scars'], readNotes),
    misbehave: list(fields['misbehave'], readMisbehaviour),
  };
};
