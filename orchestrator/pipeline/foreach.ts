import { listNames, type Finding } from './problems.js';
import { NAME, type RawTarget } from './schema.js';

const replaceEach = (value: unknown, item: string): unknown => {
  if (typeof value === 'string') return value.replaceAll('{each}', item);
  if (Array.isArray(value)) return value.map((part) => replaceEach(part, item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, replaceEach(part, item)]));
};

/** A target as it is in the file, or one item of a `foreach`. */
export interface Expanded {
  readonly name: string;
  readonly origin: string;
  readonly raw: RawTarget;
  readonly number?: number;
}

const expandOne = (origin: string, raw: RawTarget, pillars: readonly string[]): readonly Expanded[] => {
  const { foreach, number, ...rest } = raw;
  if (foreach === undefined)
    return [{ name: origin, origin, raw: rest, ...(number === undefined ? {} : { number }) }];
  const items = foreach === 'pillars' ? pillars : foreach;
  return items.map((item, at) => ({
    name: `${origin}-${item}`,
    origin,
    // The value has the shape that it had: only texts inside it changed.
    raw: replaceEach(rest, item) as RawTarget,
    ...(number === undefined ? {} : { number: number + at }),
  }));
};

/** Numbers of targets that name none: 0, 1, 2 … in the order of the files, leaving out those that are taken. */
export const numberAll = (expanded: readonly Expanded[]): readonly number[] => {
  const taken = new Set(expanded.map(({ number }) => number));
  let next = 0;
  return expanded.map(({ number }) => {
    if (number !== undefined) return number;
    while (taken.has(next)) next += 1;
    next += 1;
    return next - 1;
  });
};

const nameFindings = (expanded: readonly Expanded[], origins: ReadonlySet<string>): readonly Finding[] => {
  const findings: Finding[] = [];
  const owner = new Map<string, string>();
  for (const { name, origin } of expanded) {
    const path = ['targets', origin, 'foreach'];
    const other = owner.get(name) ?? (origins.has(name) ? name : undefined);
    if (name === origin) continue;
    if (!NAME.test(name)) {
      const message = `\`foreach\` of \`${origin}\` makes the name ${JSON.stringify(name)}`;
      findings.push({
        path,
        message,
        expected: 'items of lower-case letters, digits and `-`',
        fix: 'rename the item',
      });
    } else if (other !== undefined) {
      const message = `\`foreach\` of \`${origin}\` makes a second \`${name}\``;
      findings.push({ path, message, fix: `rename \`${other}\`, or the item` });
    }
    owner.set(name, origin);
  }
  return findings;
};

/** A `foreach` over nothing makes nothing, and what needs it can never be made. */
const emptyFindings = (
  targets: ReadonlyMap<string, RawTarget>,
  groups: ReadonlyMap<string, readonly string[]>,
): readonly Finding[] => {
  const users = new Map<string, string[]>();
  for (const [name, items] of groups) if (items.length === 0) users.set(name, []);
  if (users.size === 0) return [];
  for (const [user, raw] of targets) for (const need of raw.needs ?? []) users.get(need)?.push(user);
  return [...users].map(([name, waiting]) => {
    const so = waiting.length === 0 ? '' : `, so ${listNames(waiting, 3)} can never be made`;
    const message = `\`foreach\` of \`${name}\` has no items${so}`;
    return { path: ['targets', name, 'foreach'], message, fix: 'give it an item, or remove the target' };
  });
};

export interface Expansion {
  readonly expanded: readonly Expanded[];
  /** Names that a `foreach` stands for, by its own name. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  readonly findings: readonly Finding[];
}

/** Every `foreach` as one target an item, named NAME-ITEM, with `{each}` replaced in all of its texts. */
export const expandTargets = (
  targets: ReadonlyMap<string, RawTarget>,
  pillars: readonly string[],
): Expansion => {
  const expanded = [...targets].flatMap(([name, raw]) => expandOne(name, raw, pillars));
  const groups = new Map<string, string[]>();
  for (const [name, raw] of targets) if (raw.foreach !== undefined) groups.set(name, []);
  for (const { name, origin } of expanded) groups.get(origin)?.push(name);
  const names = new Set(targets.keys());
  return {
    expanded,
    groups,
    findings: [...nameFindings(expanded, names), ...emptyFindings(targets, groups)],
  };
};
