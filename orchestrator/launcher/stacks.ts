import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { dirname } from 'node:path';

/**
 * Makes stack traces name the source files instead of places in the minified bundles, for `--debug`. Where a bundle in `dist` has no
 * `.map` beside it they stay as they are.
 */
export const mapStacks = (dist: string): void => {
  const maps = new Map<string, SourceMap | undefined>();
  const mapOf = (bundle: string): SourceMap | undefined => {
    if (!maps.has(bundle)) maps.set(bundle, dirname(bundle) === dist ? readMap(`${bundle}.map`) : undefined);
    return maps.get(bundle);
  };
  Error.prepareStackTrace = (error, sites) =>
    [String(error), ...sites.map((site) => `    at ${describe(site, mapOf)}`)].join('\n');
};

const readMap = (path: string): SourceMap | undefined => {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')) as SourceMapPayload);
  } catch {
    return undefined;
  }
};

const describe = (site: NodeJS.CallSite, mapOf: (bundle: string) => SourceMap | undefined): string => {
  const line = site.getLineNumber();
  const column = site.getColumnNumber();
  const map = mapOf(site.getFileName() ?? '');
  if (map === undefined || line === null || column === null) return String(site as unknown);
  // SourceMap counts from 0, call sites count from 1.
  const entry = map.findEntry(line - 1, column - 1);
  if (!('originalSource' in entry)) return String(site as unknown);
  const name = 'name' in entry && typeof entry.name === 'string' ? `${entry.name} ` : '';
  return `${name}(${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1})`;
};
