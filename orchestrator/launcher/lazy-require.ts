/**
 * Modules that take 0.3 to 3 ms to load, measured on Node 20, and give named exports; an up-to-date `run` needs few of them.
 */
const SLOW = new Set([
  'child_process',
  'crypto',
  'fs/promises',
  'http',
  'https',
  'net',
  'os',
  'readline',
  'readline/promises',
  'stream',
  'string_decoder',
  'stream/promises',
  'tty',
  'v8',
  'worker_threads',
  'xstate',
  'zlib',
]);

/**
 * `require` for the bundles. `import { spawn } from 'node:child_process'` becomes `x = require(...)` at their start and
 * `x.spawn` where it is used: so a stand-in that loads the module at the first use makes every such import lazy.
 */
export const lazyRequire =
  (load: (id: string) => unknown) =>
  (id: string): unknown =>
    SLOW.has(id.replace(/^node:/, '')) ? standIn(() => load(id) as object) : load(id);

const standIn = (load: () => object): object =>
  new Proxy(
    {},
    {
      get: (_, key) => Reflect.get(load(), key) as unknown,
      has: (_, key) => Reflect.has(load(), key),
      ownKeys: () => Reflect.ownKeys(load()),
      getOwnPropertyDescriptor: (_, key) => {
        const descriptor = Reflect.getOwnPropertyDescriptor(load(), key);
        // A proxy may not report a property as fixed that its target does not have.
        return descriptor && { ...descriptor, configurable: true };
      },
    },
  );
