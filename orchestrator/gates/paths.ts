import picomatch from 'picomatch';

const OPTIONS = { dot: true, nonegate: true, noextglob: true, strictSlashes: true } as const;

/** Does the path match one of the globs? A glob that names a folder (`src` or `src/`) stands for all that is below it. */
export const pathMatcher = (globs: readonly string[]): ((path: string) => boolean) => {
  const matchers = globs.flatMap((glob) => {
    const trimmed = glob.replace(/\/+$/, '');
    return [picomatch(trimmed, OPTIONS), picomatch(`${trimmed}/**`, OPTIONS)];
  });
  return (path) => matchers.some((matches) => matches(path));
};

/** Paths that no glob allows, in order. */
export const outsideOf = (paths: readonly string[], globs: readonly string[]): string[] => {
  const matches = pathMatcher(globs);
  return paths.filter((path) => !matches(path));
};

/**
 * Is every path that `inner` can match also matched by `outer`? Conservative: probes `inner` with its wildcards filled
 * in, deep and shallow; what cannot be shown is not contained.
 */
export const isContained = (inner: string, outer: readonly string[]): boolean => {
  const matches = pathMatcher(outer);
  const trimmed = inner.replace(/\/+$/, '');
  if (outer.some((glob) => glob.replace(/\/+$/, '') === trimmed)) return true;
  if (/[[\]{}()?]/.test(trimmed)) return false;
  const probe = (deep: string, one: string): string => trimmed.replaceAll('**', deep).replaceAll('*', one);
  // Names that no sane glob spells out, unlike each other, so that only a wildcard can match them all.
  const probes = [probe('zq~7/0w', 'zq~7'), probe('0w~z', '0w~z'), probe('.k~q', '.k~q'), probe('Y_y', 'Y_y')];
  return probes.every((path) => matches(path));
};
