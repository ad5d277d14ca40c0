import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { codeCachePath, readCodeCache, writeCodeCache } from './code-cache.js';
import { lazyRequire } from './lazy-require.js';

/** Set by .ci/build.mjs: what the code of each bundle hashes to, by name. Each file begins with it, in a comment. */
declare const DIGESTS: Readonly<Record<string, string>>;

/** A bundle is a function of what Node gives a CommonJS module: exports, require, module, filename, dirname. */
type Wrapper = (...scope: readonly unknown[]) => void;

export interface Scripts {
  /** What the bundle exports: `main`, or a package that has a bundle of its own. Evaluated once. */
  readonly load: (name: string) => unknown;
  /** Keeps what V8 has compiled by now of each bundle that had nothing usable to start from. */
  readonly store: () => void;
}

/**
 * Compiles the bundles of this package from the code cache.
 * @param dist the folder that they lie in
 * @param argv of the command: each command has caches of its own
 */
export const openScripts = (dist: string, argv: readonly string[]): Scripts => {
  const loaded = new Map<string, { exports: unknown }>();
  const uncached: Compiled[] = [];
  const load = (name: string): unknown => {
    const before = loaded.get(name);
    if (before !== undefined) return before.exports;
    const file = join(dist, name === 'main' ? 'main.cjs' : `vendor/${name}.cjs`);
    const compiled = compile(file, name, argv);
    if (!compiled.fromCache) uncached.push(compiled);
    const module = { exports: {} };
    loaded.set(name, module);
    const evaluate = compiled.script.runInThisContext() as Wrapper;
    evaluate(module.exports, bundleRequire, module, file, dist);
    return module.exports;
  };
  const bundleRequire = lazyRequire((id) => (Object.hasOwn(DIGESTS, id) ? load(id) : require(id)));
  const store = (): void => {
    for (const { script, cache } of uncached.splice(0)) {
      if (cache !== undefined) writeCodeCache(cache, script.createCachedData());
    }
  };
  return { load, store };
};

interface Compiled {
  readonly script: Script;
  /** Where its code is kept; `undefined` when it must not be. */
  readonly cache: string | undefined;
  readonly fromCache: boolean;
}

const compile = (file: string, name: string, argv: readonly string[]): Compiled => {
  // Bundles are ASCII: `latin1` reads them without decoding.
  const source = readFileSync(file, 'latin1');
  const digest = DIGESTS[name] ?? '';
  // A file of another build (an upgrade is going on) runs, but never with or into a cache of this one.
  const cache = source.startsWith(`/*${digest}*/`) ? codeCachePath(digest, argv) : undefined;
  const cachedData = cache === undefined ? undefined : readCodeCache(cache);
  const script = new Script(source, {
    filename: file,
    ...(cachedData && { cachedData }),
  });
  return { script, cache, fromCache: cachedData !== undefined && script.cachedDataRejected === false };
};
