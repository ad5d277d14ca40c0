import { isObject, jsonLine, listAt, objectAt, type JsonObject } from './json-line.js';

/** Keywords that every provider of strict structured output takes; the parent checks the value by its own schema anyway. */
const KEPT = ['type', 'description', 'enum', 'const', '$ref'] as const;
/** These narrow a value in ways that are not taken; without them the schema would say something else. */
const NOT_SAID = ['allOf', 'not', 'if', 'patternProperties', 'prefixItems'] as const;

/**
 * A JSON Schema in the form that strict structured output asks for: objects have all their keys required and no others, so a key that
 * may be absent becomes one that may be `null` (`withoutNulls` takes those out again).
 * @returns `undefined` for one that cannot be said so, e.g. an object with any keys
 */
export const strictSchema = (schema: string): string | undefined => {
  const found = strict(jsonLine(schema));
  return found === undefined ? undefined : JSON.stringify(found);
};

const strict = (schema: unknown): JsonObject | undefined => {
  if (!isObject(schema) || NOT_SAID.some((key) => key in schema)) return undefined;
  const inner = innerOf(schema);
  if (inner === undefined) return undefined;
  return {
    ...Object.fromEntries(KEPT.flatMap((key) => (key in schema ? [[key, schema[key]]] : []))),
    ...inner,
  };
};

const innerOf = (schema: JsonObject): JsonObject | undefined => {
  const choices = schema['anyOf'] ?? schema['oneOf'];
  const definitions = objectAt(schema, '$defs');
  return allOf([
    schema['type'] === 'object' ? objectOf(schema) : {},
    schema['type'] === 'array' ? named('items', strict(schema['items'])) : {},
    Array.isArray(choices) ? named('anyOf', everyOne(choices.map(strict))) : {},
    definitions === undefined ? {} : named('$defs', eachOf(definitions, strict)),
  ]);
};

const objectOf = (schema: JsonObject): JsonObject | undefined => {
  const properties = objectAt(schema, 'properties');
  if (properties === undefined || isObject(schema['additionalProperties'])) return undefined;
  const required = new Set(listAt(schema, 'required'));
  const inner = eachOf(properties, (property, name) =>
    required.has(name) ? strict(property) : nullable(strict(property)),
  );
  return inner === undefined
    ? undefined
    : { properties: inner, required: Object.keys(inner), additionalProperties: false };
};

const nullable = (schema: JsonObject | undefined): JsonObject | undefined =>
  schema === undefined ? undefined : { anyOf: [schema, { type: 'null' }] };

const named = (name: string, value: unknown): JsonObject | undefined =>
  value === undefined ? undefined : { [name]: value };

const everyOne = <Item>(items: readonly (Item | undefined)[]): readonly Item[] | undefined => {
  const known = items.filter((item) => item !== undefined);
  return known.length === items.length ? known : undefined;
};

const allOf = (parts: readonly (JsonObject | undefined)[]): JsonObject | undefined => {
  const known = everyOne(parts);
  return known === undefined ? undefined : Object.assign({}, ...known);
};

const eachOf = (
  object: JsonObject,
  change: (value: unknown, name: string) => JsonObject | undefined,
): JsonObject | undefined => {
  const names = Object.keys(object);
  const values = everyOne(names.map((name) => change(object[name], name)));
  return values === undefined
    ? undefined
    : Object.fromEntries(names.map((name, index) => [name, values[index]]));
};

/** The value without the keys that are `null`, at every depth. */
export const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => (inner === null ? [] : [[name, withoutNulls(inner)]])),
  );
};
