/** Ticket 320 of the sample repository, and the script of its workers. Path to text. */
export const TICKET_320: Readonly<Record<string, string>> = {
  'tickets/320.md': `---
title: Signals take a custom equality
labels: [enhancement]
acceptance:
  - "signal(value, { equals }) tells nobody when equals(current, next) is true"
  - "without the option a signal behaves exactly as before"
  - "docs/signals.md shows the option"
---

A signal compares with \`Object.is\`. For values that are made anew each time, such as a parsed message or a point, every
\`set\` counts as a change and everything that follows from it is computed again. Let the caller say what "the same" means:

    const position = signal({ x: 0, y: 0 }, { equals: (a, b) => a.x === b.x && a.y === b.y });

Out of scope: \`computed\`, which keeps comparing with \`Object.is\`, and any new equality function.
`,

  'tickets/320.script.yaml': `# What the scripted workers of \`orchestrate demo\` do for ticket 320. They really read, write, run and judge; but
# what they write is written here, since no model is asked. The change of round 1 has a planted defect: its own
# tests pass, and the critic finds it by running a probe on the frozen bytes.
version: 1

plan:
  reads: [src/signal.js, src/computed.js, test/signal.test.js, docs/signals.md]
  paths: [src/signal.js, test/signal-equals.test.js, docs/signals.md]
  files: 3
  lines: 60
  text: |
    # Plan for ticket 320: signals take a custom equality

    ## What is wanted
    1. \`signal(value, { equals })\` stays silent when \`equals(current, next)\` is true.
    2. Without the option nothing changes.
    3. \`docs/signals.md\` shows the option.

    ## How it is today
    \`src/signal.js\`, \`set\`: a change is what differs by \`Object.is\`. \`src/computed.js\` builds on it and passes no option.

    ## The change
    1. \`src/signal.js\`: a second parameter \`{ equals = Object.is } = {}\`, asked in \`set\`.
    2. \`docs/signals.md\`: the option, with an example.

    ## Invariants
    - A signal without options behaves as before: \`test/signal.test.js\`, unchanged.
    - Subscribers are told after the value has changed.

    ## Tests to be written first
    - \`test/signal-equals.test.js\`: an equal value is not a change; fails today, the option is ignored.
    - the same file: a value that differs is told as usual.

    ## Risks
    - \`equals\` gets the wrong pair of values and a test that sets only once does not notice.

    ## Not looked at
    - \`src/shallow-equal.js\`: out of scope.

diff:
  work:
    test:
      edits:
        - write: test/signal-equals.test.js
          text: |
            import assert from 'node:assert/strict';
            import { test } from 'node:test';
            import { signal } from '../src/signal.js';

            const samePlace = (a, b) => a.x === b.x && a.y === b.y;

            test('an equal value is not a change', () => {
              const position = signal({ x: 0, y: 0 }, { equals: samePlace });
              const told = [];
              position.subscribe((value) => told.push(value));
              position.set({ x: 0, y: 0 });
              assert.deepEqual(told, []);
            });

            test('a value that differs is told', () => {
              const position = signal({ x: 0, y: 0 }, { equals: samePlace });
              const told = [];
              position.subscribe((value) => told.push(value));
              position.set({ x: 1, y: 0 });
              assert.deepEqual(told, [{ x: 1, y: 0 }]);
            });
      run: [node, --test, test/signal-equals.test.js]
    change:
      - replace: src/signal.js
        old: "export function signal(initial) {"
        new: "export function signal(initial, { equals = Object.is } = {}) {"
      - replace: src/signal.js
        old: "if (Object.is(value, next)) return;"
        new: "if (equals(initial, next)) return;"
      - replace: docs/signals.md
        old: |
          A value that is the same as the current one, by \`Object.is\`, is not a change: nobody is told.
        new: |
          A value that is the same as the current one is not a change: nobody is told. What is the same is decided by
          \`Object.is\`, or by \`equals\`, which is given the current and the next value:

              signal({ x: 0, y: 0 }, { equals: (a, b) => a.x === b.x && a.y === b.y });
    run: [node, --test]
  fixes:
    - blocker: a signal that goes back to its first value tells nobody
      test:
        edits:
          - replace: test/signal-equals.test.js
            old: |
              const samePlace = (a, b) => a.x === b.x && a.y === b.y;
            new: |
              const samePlace = (a, b) => a.x === b.x && a.y === b.y;

              test('each value is compared with the current one, there and back', () => {
                const count = signal(1);
                const told = [];
                count.subscribe((value) => told.push(value));
                for (const next of [2, 2, 1, 1]) count.set(next);
                assert.deepEqual(told, [2, 1]);
              });
        run: [node, --test, test/signal-equals.test.js]
      change:
        - replace: src/signal.js
          old: "if (equals(initial, next)) return;"
          new: "if (equals(value, next)) return;"
      run: [node, --test]

review:
  probes:
    - claim: a signal that goes back to its first value tells its subscribers
      blocker: a signal that goes back to its first value tells nobody
      pillar: correctness
      path: src/signal.js
      edits:
        - write: probe.js
          text: |
            import { signal } from './src/signal.js';
            const told = [];
            const count = signal(1);
            count.subscribe((value) => told.push(value));
            for (const next of [2, 1]) count.set(next);
            console.log('set to 2 and back to 1: told ' + JSON.stringify(told) + ', expected [2,1]');
            process.exitCode = JSON.stringify(told) === '[2,1]' ? 0 : 1;
      run: [node, probe.js]
      deadEnd: calling \`equals\` with the value that the signal was made with; only the current value will do
    - claim: without options a signal compares by Object.is, as before
      blocker: a signal without options behaves differently than before
      pillar: api-compatibility
      path: src/signal.js
      edits:
        - write: probe.js
          text: |
            import { signal } from './src/signal.js';
            const changes = (from, to, ...options) => {
              let count = 0;
              const value = signal(from, ...options);
              value.subscribe(() => (count += 1));
              value.set(to);
              return count;
            };
            const seen = [changes(NaN, NaN), changes(0, -0), changes(1, 1, undefined), changes(1, 2, {})];
            console.log('NaN to NaN, 0 to -0, undefined options, empty options: ' + seen + ', expected 0,1,0,1');
            process.exitCode = String(seen) === '0,1,0,1' ? 0 : 1;
      run: [node, probe.js]
      dismissed: options that are absent, undefined or empty looked risky; run, they take the default
    - claim: the new tests fail when the option is ignored
      blocker: the new tests pass although the option is ignored
      pillar: tests
      path: test/signal-equals.test.js
      edits:
        - replace: src/signal.js
          old: "{ equals = Object.is } = {}"
          new: "_options, equals = Object.is"
      run: [node, --test, test/signal-equals.test.js]
      expect: fail

notes:
  scars:
    - blocker: a signal that goes back to its first value tells nobody
      name: compare-with-the-current-value
      title: A setter must compare with the current value, and its test must go there and back
      path: src/signal.js
      wound: |
        The critic set a signal to 2 and back to 1, its first value. The subscribers were told about 2 only. It cost a round.
      trap: |
        The parameter \`initial\` was in scope and read well in \`equals(initial, next)\`. The new tests set each signal once, and
        after one step the first value and the current value are the same thing.
      reflex: |
        When a test covers a change of state, let it go there and back, and twice to the same place. When an option replaces
        a comparison, look at both of its operands.
`,
};
