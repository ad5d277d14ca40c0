/**
 * Finished targets as the checkpoint keeps them: what they have in common is left out, so that ten thousand of them are
 * read quickly. `expand(compact(x))` is `x`.
 */
import type { Digest } from '../model/digest.js';
import type { TargetContext } from '../machine/target-context.js';
import type { TargetState } from '../machine/target-machine.js';

/** An input whose digest is the present output of that prerequisite, or the one that is remembered of that file. */
const SAME = 1;

/** The commonest reason. */
const REASON = 'it was never made';

type Row =
  | readonly [name: string, state: TargetState]
  | readonly [name: string, done: Readonly<Record<string, unknown>>];

interface Known {
  readonly targets: ReadonlyMap<string, TargetState>;
  readonly stats: Readonly<Record<string, { readonly digest: Digest }>>;
}

const digestFor = (key: string, { targets, stats }: Known): Digest | undefined =>
  key.startsWith('file:') ? stats[key.slice(5)]?.digest : targets.get(key)?.context.output;

export const compact = (known: Known): Row[] =>
  [...known.targets].map(([name, state]) => {
    if (state.value !== 'done') return [name, state];
    const { summary, reason, inputs, ...others } = state.context;
    // Both are always empty here: `target.done` makes them so.
    const rest: Record<string, unknown> = { ...others };
    delete rest['failures'];
    delete rest['feedback'];
    const same = Object.entries(inputs ?? {}).map(([key, digest]) => [
      key,
      digestFor(key, known) === digest ? SAME : digest,
    ]);
    return [
      name,
      {
        ...rest,
        ...(inputs === undefined ? {} : { inputs: Object.fromEntries(same) as unknown }),
        ...(reason === REASON ? {} : { reason: reason ?? null }),
        ...(summary?.length === 0 ? {} : { summary: summary ?? null }),
      },
    ];
  });

/** The targets again; outputs first, as the inputs of one target are the outputs of others. */
export const expand = (rows: readonly Row[], stats: Known['stats']): Map<string, TargetState> => {
  const targets = new Map<string, TargetState>();
  for (const [name, row] of rows) targets.set(name, 'value' in row ? (row as TargetState) : doneState(row));
  const known = { targets, stats };
  for (const { value, context } of targets.values()) {
    if (value === 'done' && context.inputs !== undefined)
      fillInputs(context.inputs as Record<string, unknown>, known);
  }
  return targets;
};

const doneState = (row: Readonly<Record<string, unknown>>): TargetState => {
  const { reason = REASON, summary = [], ...rest } = row;
  return {
    value: 'done',
    context: {
      ...(rest as unknown as TargetContext),
      failures: 0,
      feedback: [],
      ...(reason === null ? {} : { reason: reason as string }),
      ...(summary === null ? {} : { summary: summary as readonly string[] }),
    },
  };
};

const fillInputs = (inputs: Record<string, unknown>, known: Known): void => {
  for (const key of Object.keys(inputs)) {
    if (inputs[key] === SAME) inputs[key] = digestFor(key, known);
  }
};
