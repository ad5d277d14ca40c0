/** The files of the sample repository before any ticket: a small library without dependencies. Path to text. */
export const LIBRARY: Readonly<Record<string, string>> = {
  '.gitignore': `node_modules/
coverage/
`,

  'package.json': `{
  "name": "pebble-signals",
  "version": "0.3.0",
  "description": "Values that tell when they change",
  "private": true,
  "license": "MIT",
  "type": "module",
  "engines": { "node": ">=20" },
  "exports": { "./*": "./src/*.js" },
  "scripts": { "test": "node --test" }
}
`,

  'README.md': `# pebble-signals

Values that tell when they change, in three small files and without dependencies.

    import { signal } from 'pebble-signals/signal';

    const price = signal(10);
    price.subscribe((value) => console.log(value));
    price.set(12); // prints 12

- \`signal(initial)\`: a value that tells its subscribers, see docs/signals.md
- \`computed(sources, compute)\`: a value that follows from others
- \`shallowEqual(a, b)\`: see docs/equality.md

Tests: \`node --test\`.

---

This is the sample repository of \`orchestrate demo\`. Two tickets wait in \`tickets/\`; their work is performed by scripted
workers (\`tickets/*.script.yaml\`), which follow a script and ask no model. The remote \`origin\` is a bare repository in
\`.git/origin.git\`, so this folder is all there is.

    orchestrate run --ticket 320        # stops where the plan needs a person, and prints the command
    orchestrate run --ticket 320 --ticket 321 --jobs 2
    orchestrate status
`,

  'docs/signals.md': `# Signals

\`signal(initial)\` gives \`{ get, set, subscribe }\`.

- \`get()\`: the current value.
- \`set(next)\`: changes the value and then tells the subscribers, in the order in which they came.
- \`subscribe(listener)\`: gives a function that ends the subscription.

A value that is the same as the current one, by \`Object.is\`, is not a change: nobody is told.
`,

  'docs/equality.md': `# Equality

\`shallowEqual(a, b)\` is true for two lists, or two plain objects, whose entries are the same by \`Object.is\`.
`,

  'src/signal.js': `/**
 * A value that tells its subscribers when it changes.
 * A subscriber is told after the value has changed, never before.
 */
export function signal(initial) {
  let value = initial;
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(value, next)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
`,

  'src/computed.js': `import { signal } from './signal.js';

/** A value that follows from other signals; it can be read and watched, but not set. */
export function computed(sources, compute) {
  const current = () => compute(...sources.map((source) => source.get()));
  const result = signal(current());
  for (const source of sources) source.subscribe(() => result.set(current()));
  return { get: result.get, subscribe: result.subscribe };
}
`,

  'src/shallow-equal.js': `/** True for two lists, or two plain objects, whose entries are the same by Object.is. */
export function shallowEqual(a, b) {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) !== Array.isArray(b) || !isContainer(a) || !isContainer(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && Object.is(a[key], b[key]))
  );
}

function isContainer(value) {
  return Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]';
}
`,

  'test/signal.test.js': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signal } from '../src/signal.js';

test('a change is told to every subscriber, after it has happened', () => {
  const count = signal(1);
  const told = [];
  count.subscribe((value) => told.push(['first', value, count.get()]));
  count.subscribe((value) => told.push(['second', value, count.get()]));
  count.set(2);
  assert.deepEqual(told, [
    ['first', 2, 2],
    ['second', 2, 2],
  ]);
});

test('the same value is not a change', () => {
  const count = signal(1);
  const told = [];
  count.subscribe((value) => told.push(value));
  count.set(1);
  assert.deepEqual(told, []);
});

test('an ended subscription is told nothing', () => {
  const count = signal(1);
  const told = [];
  const end = count.subscribe((value) => told.push(value));
  end();
  count.set(2);
  assert.deepEqual(told, []);
});
`,

  'test/computed.test.js': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computed } from '../src/computed.js';
import { signal } from '../src/signal.js';

test('a computed value follows its sources', () => {
  const price = signal(10);
  const count = signal(2);
  const total = computed([price, count], (each, many) => each * many);
  count.set(3);
  assert.equal(total.get(), 30);
});

test('a computed value that stays the same tells nobody', () => {
  const count = signal(2);
  const isEven = computed([count], (value) => value % 2 === 0);
  const told = [];
  isEven.subscribe((value) => told.push(value));
  count.set(4);
  assert.deepEqual(told, []);
});
`,

  'test/shallow-equal.test.js': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shallowEqual } from '../src/shallow-equal.js';

test('lists and objects with the same entries are equal', () => {
  assert.equal(shallowEqual([1, 'a'], [1, 'a']), true);
  assert.equal(shallowEqual({ a: 1, b: 2 }, { b: 2, a: 1 }), true);
});

test('another entry, one more or one less is a difference', () => {
  assert.equal(shallowEqual([1, 2], [1, 3]), false);
  assert.equal(shallowEqual({ a: 1 }, { a: 1, b: 2 }), false);
  assert.equal(shallowEqual({ a: 1, b: 2 }, { a: 1 }), false);
});

test('what is inside an entry is not looked at', () => {
  assert.equal(shallowEqual([[1]], [[1]]), false);
});
`,
};
