import picomatch from 'picomatch';

/** With `s`, since a newline is a character of a name like any other: `src/**` is all that is below `src/`. */
const OPTIONS = {
  flags: 's',
  dot: true,
  nonegate: true,
  noextglob: true,
  regex: false,
  strictSlashes: true,
} as const;

/** Parentheses are part of a name (`app/(shop)/page.tsx`), never a group of a regular expression. */
const literalParentheses = (glob: string): string =>
  glob.replaceAll(/\\.|[()]/g, (found) => (found.length === 1 ? `\\${found}` : found));

const withoutSlashes = (glob: string): string => {
  let end = glob.length;
  while (end > 0 && glob[end - 1] === '/') end -= 1;
  return glob.slice(0, end);
};

/** Does the path match one of the globs? A glob that names a folder stands for all that is below it, `src/` for nothing else. */
export const pathMatcher = (globs: readonly string[]): ((path: string) => boolean) => {
  const matchers = globs.flatMap((glob) => {
    const trimmed = literalParentheses(withoutSlashes(glob));
    // `/` names no path of a tree.
    if (trimmed === '') return [];
    const below = picomatch(`${trimmed}/**`, OPTIONS);
    return glob.endsWith('/') ? [below] : [picomatch(trimmed, OPTIONS), below];
  });
  return (path) => matchers.some((matches) => matches(path));
};

/** Paths that no glob allows, in order. */
export const outsideOf = (paths: readonly string[], globs: readonly string[]): string[] => {
  const matches = pathMatcher(globs);
  return paths.filter((path) => !matches(path));
};

/**
 * Is every path that `inner` can match also matched by one of `outer`? Conservative: probes `inner` with its wildcards
 * filled in, deep, shallow and with none; what cannot be shown is not contained.
 */
export const isContained = (inner: string, outer: readonly string[]): boolean => {
  const wanted = belowFolder(inner);
  if (wanted === '') return false;
  if (outer.some((glob) => belowFolder(glob) === wanted)) return true;
  if (/[[\]{}()?!\\]/.test(wanted) || wanted.split('/').includes('..')) return false;
  const probes = probesOf(wanted);
  // One glob must match them all: two that share them out say nothing about the names between. Of a glob with `?` or
  // `[…]` a few names say nothing either.
  return outer.some((glob) => !/[?[\]]/.test(glob) && probes.every(pathMatcher([glob])));
};

/** `src/` as `src/**`, which means the same. */
const belowFolder = (glob: string): string => {
  const trimmed = withoutSlashes(glob);
  return trimmed === glob || trimmed === '' ? trimmed : `${trimmed}/**`;
};

/** Names that no sane glob spells out, unlike each other, so that only a wildcard can match them all. */
const probesOf = (glob: string): string[] => {
  const filled = (deep: string, one: string): string => glob.replaceAll('**', deep).replaceAll('*', one);
  const probes = [
    filled('zq~7/0w', 'zq~7'),
    filled('0w~z', '0w~z'),
    filled('.k~q', '.k~q'),
    filled('Y_y', 'Y_y'),
  ];
  // `**` also stands for no folder at all.
  return [...probes, glob.replaceAll('**/', '').replaceAll('**', 'Y_y').replaceAll('*', 'Y_y')];
};
