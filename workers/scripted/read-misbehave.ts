import { constants } from 'node:os';
import { mapping, oneOf, required, text, wholeNumber, wrong, type Field, type Fields } from './fields.js';
import { MAKES, ODDITIES, type MisbehaveAction, type Misbehaviour } from './script.js';

const FROM_ONE = { from: 1, to: 100_000 };

type ActionReader = (field: Field, fields: Fields, parent: Field) => MisbehaveAction;

const signalOf = (field: Field): NodeJS.Signals => {
  const name = text(field);
  if (!(name in constants.signals)) throw wrong(field, 'expected the name of a signal, e.g. SIGKILL');
  return name as NodeJS.Signals;
};

const ACTIONS: Readonly<Record<MisbehaveAction['kind'], ActionReader>> = {
  exit: (field) => ({ kind: 'exit', code: wholeNumber(field, { from: 0, to: 255 }) }),
  signal: (field) => ({ kind: 'signal', signal: signalOf(field) }),
  print: (field) => ({ kind: 'print', bytes: wholeNumber(field, { from: 1, to: 2 ** 33 }) }),
  write: (field, fields, parent) => ({
    kind: 'write',
    path: text(field),
    text: text(required(fields, 'text', parent)),
  }),
  return: (field) => ({ kind: 'return', text: text(field) }),
  do: (field) => ({ kind: 'do', what: oneOf(field, ODDITIES) }),
};

/** One entry of `misbehave:`: which run it concerns, and exactly one action. */
export const readMisbehaviour = (field: Field): Misbehaviour => {
  const fields = mapping(field, ['makes', 'round', 'attempt', 'text', ...Object.keys(ACTIONS)]);
  const actions = Object.entries(ACTIONS).flatMap(([key, read]) => {
    const value = fields[key];
    return value === undefined ? [] : [read(value, fields, field)];
  });
  const [action] = actions;
  if (action === undefined || actions.length > 1) {
    throw wrong(field, `expected exactly one of ${Object.keys(ACTIONS).join(', ')}`);
  }
  if (fields['text'] !== undefined && action.kind !== 'write')
    throw wrong(fields['text'], 'goes with `write` only');
  const { round, attempt } = fields;
  return {
    makes: oneOf(required(fields, 'makes', field), MAKES),
    ...(round === undefined ? {} : { round: wholeNumber(round, FROM_ONE) }),
    ...(attempt === undefined ? {} : { attempt: wholeNumber(attempt, FROM_ONE) }),
    action,
  };
};
