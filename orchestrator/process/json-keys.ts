/** Strings, and the punctuation that says where keys are. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

interface Level {
  /** Keys of an object; `undefined` for a list. */
  readonly keys: Set<string> | undefined;
}

/**
 * Keys that occur twice in one object of a JSON text. `JSON.parse` keeps the last of them silently, so that one text could show two
 * verdicts to two readers.
 * @param text valid JSON
 */
export const repeatedKeys = (text: string): readonly string[] => {
  const levels: Level[] = [];
  const repeated = new Set<string>();
  let string: string | undefined;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') levels.push({ keys: token === '{' ? new Set() : undefined });
    if (token === '}' || token === ']') levels.pop();
    if (token === ':' && string !== undefined)
      addKey(levels.at(-1)?.keys, String(JSON.parse(string)), repeated);
    string = token.startsWith('"') ? token : undefined;
  }
  return [...repeated];
};

const addKey = (keys: Set<string> | undefined, key: string, repeated: Set<string>): void => {
  if (keys?.has(key) === true) repeated.add(key);
  keys?.add(key);
};
