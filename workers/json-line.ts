/** One line of an agent's output as JSON. Nothing here throws: a program may print whatever it likes. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** Longer lines are tool output or file content; no control event has that size. Characters. */
const LONGEST_LINE = 4_194_304;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The line as a JSON object, or `undefined`: not JSON, cut off, another kind of value, too long. */
export const jsonLine = (line: string): JsonObject | undefined => {
  const text = line.trim();
  if (!text.startsWith('{') || text.length > LONGEST_LINE) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** What lies at `path`: own properties of objects only, `undefined` where there is none. */
export const fieldAt = (value: unknown, ...path: readonly string[]): unknown => {
  let found = value;
  for (const name of path) {
    if (!isObject(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
};

export const objectAt = (value: unknown, ...path: readonly string[]): JsonObject | undefined => {
  const found = fieldAt(value, ...path);
  return isObject(found) ? found : undefined;
};

export const textAt = (value: unknown, ...path: readonly string[]): string | undefined => {
  const found = fieldAt(value, ...path);
  return typeof found === 'string' ? found : undefined;
};

/** A finite number. */
export const numberAt = (value: unknown, ...path: readonly string[]): number | undefined => {
  const found = fieldAt(value, ...path);
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
};

/** Tokens: a whole number of at least 0, else `null` for unknown. */
export const countAt = (value: unknown, ...path: readonly string[]): number | null => {
  const found = numberAt(value, ...path);
  return found !== undefined && Number.isSafeInteger(found) && found >= 0 ? found : null;
};

export const listAt = (value: unknown, ...path: readonly string[]): readonly unknown[] => {
  const found = fieldAt(value, ...path);
  return Array.isArray(found) ? found : [];
};

/** Input tokens without the cached ones, for programs that count those among them. Unknown stays unknown. */
export const withoutCached = (input: number | null, cached: number | null): number | null =>
  input === null ? null : Math.max(0, input - (cached ?? 0));
