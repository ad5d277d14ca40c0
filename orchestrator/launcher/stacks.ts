import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';

/**
 * Makes stack traces name the source files instead of places in the minified bundle, for `--debug`. Without `main.cjs.map`
 * they stay as they are.
 */
export const mapStacks = (bundle: string): void => {
  const map = readMap(`${bundle}.map`);
  if (map === undefined) return;
  Error.prepareStackTrace = (error, sites) =>
    [String(error), ...sites.map((site) => `    at ${describe(site, bundle, map)}`)].join('\n');
};

const readMap = (path: string): SourceMap | undefined => {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')) as SourceMapPayload);
  } catch {
    return undefined;
  }
};

const describe = (site: NodeJS.CallSite, bundle: string, map: SourceMap): string => {
  const line = site.getLineNumber();
  const column = site.getColumnNumber();
  if (site.getFileName() !== bundle || line === null || column === null) return String(site as unknown);
  // SourceMap counts from 0, call sites count from 1.
  const entry = map.findEntry(line - 1, column - 1);
  if (!('originalSource' in entry)) return String(site as unknown);
  const name = 'name' in entry && typeof entry.name === 'string' ? `${entry.name} ` : '';
  return `${name}(${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1})`;
};
