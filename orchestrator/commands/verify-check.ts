/** One row of `verify`. `ok` is `null` where nothing could be told: unknown is never yes. */
export interface Check {
  readonly name: string;
  readonly ok: boolean | null;
  readonly detail: string;
}

export const held = (name: string, detail: string): Check => ({ name, ok: true, detail });

export const failed = (name: string, detail: string): Check => ({ name, ok: false, detail });

export const untold = (name: string, detail: string): Check => ({ name, ok: null, detail });

/** Every problem as a row of its own, or one row that says what holds. */
export const eachProblem = (name: string, problems: readonly string[], holds: string): Check[] =>
  problems.length === 0 ? [held(name, holds)] : problems.map((problem) => failed(name, problem));

export const BROKEN_JOURNAL = 'the journal could not be read to its end';
