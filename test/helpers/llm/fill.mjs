// What a step says that only the prompt knows, such as a nonce: {{REGEX}} in a text is the first group of its first match in what the
// user said, and {"$each":"REGEX"} the list of the first groups of all matches.

const matches = (pattern, text) =>
  [...text.matchAll(new RegExp(pattern, 'gm'))].map((match) => match[1] ?? match[0]);

export const filled = (value, text) => {
  if (typeof value === 'string')
    return value.replaceAll(/\{\{(.+?)\}\}/g, (whole, pattern) => matches(pattern, text)[0] ?? whole);
  if (Array.isArray(value)) return value.map((item) => filled(item, text));
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value.$each === 'string') return matches(value.$each, text);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, text)]));
};

/** A step with {"json": VALUE} answers with that value as its text, or writes it as a file. */
export const asText = ({ json, ...step }) => {
  if (json !== undefined) return { ...step, text: JSON.stringify(json) };
  if (step.write?.json === undefined) return step;
  const { json: value, ...write } = step.write;
  return { ...step, write: { ...write, content: JSON.stringify(value) } };
};
