import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { codeCachePath, discard, firstCachePath, readCodeCache, writeCodeCache } from './code-cache.js';
import { lazyRequire } from './lazy-require.js';

/** Set by .ci/build.mjs: what the code of each bundle hashes to, by its path below dist/. Each file begins with it, in a comment. */
declare const DIGESTS: Readonly<Record<string, string>>;

/** A bundle is a function of what Node gives a CommonJS module: exports, require, module, filename, dirname. */
type Wrapper = (...scope: readonly unknown[]) => void;

/** What each bundle of the program exports for the others: its modules by path, evaluated when they are first asked for. */
interface Group {
  readonly modules: Readonly<Record<string, () => unknown>>;
}

export interface Scripts {
  /** What the main bundle exports. Evaluated once. */
  readonly main: () => unknown;
  /** Keeps what V8 has compiled by now of each bundle, after the first two runs of a command. */
  readonly store: () => void;
}

const MAIN = 'main.cjs';

/** A module in another bundle of the program: `#work/orchestrator/effects/worker.ts`. */
const ELSEWHERE = /^#(\w+)\/(.*)$/;

/**
 * Compiles the bundles of this package from the code cache.
 * @param dist the folder that they lie in
 * @param argv of the command: each command has caches of its own
 */
export const openScripts = (dist: string, argv: readonly string[]): Scripts => {
  const loaded = new Map<string, { exports: unknown }>();
  const modules = new Map<string, unknown>();
  const toStore: { readonly script: Script; readonly cache: string }[] = [];
  const load = (name: string): unknown => {
    const before = loaded.get(name);
    if (before !== undefined) return before.exports;
    const { script, cache } = compile(join(dist, name), name, argv);
    if (cache !== undefined) toStore.push({ script, cache });
    const module = { exports: {} };
    loaded.set(name, module);
    const evaluate = script.runInThisContext() as Wrapper;
    evaluate(module.exports, bundleRequire, module, join(dist, name), dist);
    return module.exports;
  };
  const moduleOf = (id: string, group: string, path: string): unknown => {
    if (!modules.has(id)) modules.set(id, (load(`${group}.cjs`) as Group).modules[path]?.());
    return modules.get(id);
  };
  const bundleRequire = lazyRequire((id) => {
    const [, group, path] = ELSEWHERE.exec(id) ?? [];
    if (group !== undefined && path !== undefined) return moduleOf(id, group, path);
    const vendor = `vendor/${id}.cjs`;
    return Object.hasOwn(DIGESTS, vendor) ? load(vendor) : require(id);
  });
  const store = (): void => {
    for (const { script, cache } of toStore.splice(0)) {
      writeCodeCache(cache, script.createCachedData());
      discard(firstCachePath(cache));
    }
  };
  return { main: () => load(MAIN), store };
};

interface Compiled {
  readonly script: Script;
  /** Where its code is to be kept; `undefined` when it must not be, or is. */
  readonly cache: string | undefined;
}

const compile = (file: string, name: string, argv: readonly string[]): Compiled => {
  // Bundles are ASCII: `latin1` reads them without decoding.
  const source = readFileSync(file, 'latin1');
  const digest = DIGESTS[name] ?? '';
  const isOurs = source.startsWith(`/*${digest}*/`);
  // The parts of the program fit together only as they were built; a package does as it is.
  if (!isOurs && name !== MAIN && !name.includes('/')) throw new Error(replaced(file));
  // A file of another build (an upgrade is going on) runs, but never with or into a cache of this one.
  if (!isOurs) return { script: new Script(source, { filename: file }), cache: undefined };
  const path = codeCachePath(digest, argv);
  const known = readCodeCache(path);
  const cachedData = known ?? readCodeCache(firstCachePath(path));
  const script = new Script(source, { filename: file, ...(cachedData && { cachedData }) });
  const taken = cachedData !== undefined && script.cachedDataRejected === false;
  if (known !== undefined) return { script, cache: taken ? undefined : path };
  return { script, cache: taken ? path : firstCachePath(path) };
};

const replaced = (file: string): string =>
  `${file} is of another version: the program was replaced while it ran; run the command again`;
