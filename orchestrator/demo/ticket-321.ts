/** Ticket 321 of the sample repository, and the script of its workers. Path to text. */
export const TICKET_321: Readonly<Record<string, string>> = {
  'tickets/321.md': `---
title: Deep equality for lists, objects, maps and sets
labels: [enhancement]
acceptance:
  - "deepEqual(a, b) looks into lists, plain objects and maps, at any depth"
  - "sets are equal when they have the same members"
  - "other objects, such as dates, are equal only to themselves"
  - "docs/equality.md describes it"
---

\`shallowEqual\` stops at the first level. Messages that were parsed twice are never equal by it, although every leaf is the
same. Add \`deepEqual\` in a file of its own, so that who does not need it does not load it.

Out of scope: values that contain themselves, and any change of \`shallowEqual\`.
`,

  'tickets/321.script.yaml': `# What the scripted workers of \`orchestrate demo\` do for ticket 321; see 320.script.yaml.
version: 1

plan:
  reads: [src/shallow-equal.js, test/shallow-equal.test.js, docs/equality.md]
  paths: [src/deep-equal.js, test/deep-equal.test.js, docs/equality.md]
  files: 3
  lines: 80
  text: |
    # Plan for ticket 321: deep equality

    ## What is wanted
    1. \`deepEqual\` looks into lists, plain objects and maps, at any depth.
    2. Sets are equal when they have the same members.
    3. Other objects are equal only to themselves.
    4. \`docs/equality.md\` describes it.

    ## How it is today
    \`src/shallow-equal.js\` compares one level with \`Object.is\`. Nothing else in \`src/\` compares structures.

    ## The change
    1. \`src/deep-equal.js\`: new, one exported function, a helper for each kind of container.
    2. \`docs/equality.md\`: a section.

    ## Invariants
    - \`shallowEqual\` and its tests stay as they are.
    - \`deepEqual(a, b)\` and \`deepEqual(b, a)\` always agree.

    ## Tests to be written first
    - \`test/deep-equal.test.js\`: nested structures, maps in another order, sets, dates; fails today, there is no such file.

    ## Risks
    - Walking only one of the two sides.

    ## Not looked at
    - \`src/signal.js\`: does not use it.

diff:
  work:
    test:
      edits:
        - write: test/deep-equal.test.js
          text: |
            import assert from 'node:assert/strict';
            import { test } from 'node:test';
            import { deepEqual } from '../src/deep-equal.js';

            test('nested lists and objects are looked into', () => {
              assert.equal(deepEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), true);
              assert.equal(deepEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }), false);
            });

            test('maps are equal in any order, and looked into', () => {
              const one = new Map([['a', [1]], ['b', [2]]]);
              assert.equal(deepEqual(one, new Map([['b', [2]], ['a', [1]]])), true);
              assert.equal(deepEqual(one, new Map([['a', [1]], ['b', [3]]])), false);
            });

            test('sets are equal when they have the same members', () => {
              assert.equal(deepEqual(new Set([1, 2]), new Set([2, 1])), true);
              assert.equal(deepEqual(new Set([1, 2]), new Set([1, 3])), false);
            });

            test('other objects are equal only to themselves', () => {
              const now = new Date(0);
              assert.equal(deepEqual(now, now), true);
              assert.equal(deepEqual(now, new Date(0)), false);
            });
      run: [node, --test, test/deep-equal.test.js]
    change:
      - write: src/deep-equal.js
        text: |
          /** True when both values have the same structure and the same leaves, at any depth. */
          export function deepEqual(a, b) {
            if (Object.is(a, b)) return true;
            const kind = kindOf(a);
            return kind !== undefined && kind === kindOf(b) && COMPARE[kind](a, b);
          }

          function kindOf(value) {
            if (Array.isArray(value)) return 'list';
            if (value instanceof Map) return 'map';
            if (value instanceof Set) return 'set';
            return isPlain(value) ? 'object' : undefined;
          }

          function isPlain(value) {
            if (typeof value !== 'object' || value === null) return false;
            const prototype = Object.getPrototypeOf(value);
            return prototype === Object.prototype || prototype === null;
          }

          function sameFields(a, b) {
            return Object.keys(a).every((key) => Object.hasOwn(b, key) && deepEqual(a[key], b[key]));
          }

          function sameEntries(a, b) {
            return a.size === b.size && [...a].every(([key, value]) => b.has(key) && deepEqual(value, b.get(key)));
          }

          function sameMembers(a, b) {
            return a.size === b.size && [...a].every((member) => b.has(member));
          }

          const COMPARE = { list: sameFields, object: sameFields, map: sameEntries, set: sameMembers };
      - replace: docs/equality.md
        old: |
          \`shallowEqual(a, b)\` is true for two lists, or two plain objects, whose entries are the same by \`Object.is\`.
        new: |
          \`shallowEqual(a, b)\` is true for two lists, or two plain objects, whose entries are the same by \`Object.is\`.

          \`deepEqual(a, b)\` looks into lists, plain objects and maps at any depth. Sets are equal when they have the same members;
          other objects, such as dates, are equal only to themselves. Values that contain themselves are not supported.
    run: [node, --test]
  fixes:
    - blocker: a list is equal to a longer list that begins with it
      test:
        edits:
          - replace: test/deep-equal.test.js
            old: |
              import { deepEqual } from '../src/deep-equal.js';
            new: |
              import { deepEqual } from '../src/deep-equal.js';

              test('one more entry is a difference, from either side', () => {
                for (const [less, more] of [[[1], [1, 2]], [{ a: 1 }, { a: 1, b: 2 }]]) {
                  assert.equal(deepEqual(less, more), false);
                  assert.equal(deepEqual(more, less), false);
                }
              });
        run: [node, --test, test/deep-equal.test.js]
      change:
        - replace: src/deep-equal.js
          old: "return Object.keys(a).every((key) => Object.hasOwn(b, key) && deepEqual(a[key], b[key]));"
          new: |-
            const keys = Object.keys(a);
              if (keys.length !== Object.keys(b).length) return false;
              return keys.every((key) => Object.hasOwn(b, key) && deepEqual(a[key], b[key]));
      run: [node, --test]

review:
  probes:
    - claim: a list differs from a longer list that begins with it, from either side
      blocker: a list is equal to a longer list that begins with it
      pillar: correctness
      path: src/deep-equal.js
      edits:
        - write: probe.js
          text: |
            import { deepEqual } from './src/deep-equal.js';
            const seen = [deepEqual([1], [1, 2]), deepEqual([1, 2], [1])];
            console.log('[1] against [1,2], and the other way round: ' + seen + ', expected false,false');
            process.exitCode = String(seen) === 'false,false' ? 0 : 1;
      run: [node, probe.js]
      deadEnd: comparing a second time with the sides exchanged; it doubles the work at every level
    - claim: a long list is compared without running out of stack
      blocker: a long list runs out of stack
      pillar: performance
      path: src/deep-equal.js
      edits:
        - write: probe.js
          text: |
            import { deepEqual } from './src/deep-equal.js';
            const list = () => Array.from({ length: 100000 }, (_, index) => ({ index }));
            const isEqual = deepEqual(list(), list());
            console.log('two lists of 100,000 objects: ' + isEqual + ', expected true');
            process.exitCode = isEqual ? 0 : 1;
      run: [node, probe.js]
      dismissed: recursion looked risky for long lists; run with 100,000 entries, it is as deep as the data and no deeper
    - claim: the new tests fail when maps are not looked into
      blocker: the new tests pass although maps are not looked into
      pillar: tests
      path: test/deep-equal.test.js
      edits:
        - replace: src/deep-equal.js
          old: "b.has(key) && deepEqual(value, b.get(key))"
          new: "b.has(key)"
      run: [node, --test, test/deep-equal.test.js]
      expect: fail

notes:
  scars:
    - blocker: a list is equal to a longer list that begins with it
      name: equality-walks-both-sides
      title: A comparison of two containers must count both sides before it walks one
      path: src/deep-equal.js
      wound: |
        \`deepEqual([1], [1, 2])\` was true. The critic tried a pair in both directions and got two answers. It cost a round.
      trap: |
        Every test compared containers of the same size, and for those walking the keys of one side is enough.
      reflex: |
        When a relation should be symmetric, test each pair from either side. Compare the sizes first.
`,
};
