import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AgentName } from '../../orchestrator/model/pipeline.js';
import { agentWorld, isHere, lastSteps, modelOf, type World } from '../helpers/agents.js';
import type { Rule } from '../helpers/llm-server.mjs';
import { createRig, prepareDemo, type Rig } from '../helpers/rig.js';
import { found } from '../helpers/sandboxes.js';

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signal } from '../src/signal.js';
test('an equal value is not a change', () => {
  const place = signal({ x: 0 }, { equals: (a, b) => a.x === b.x });
  const told = [];
  place.subscribe((value) => told.push(value));
  place.set({ x: 0 });
  assert.deepEqual(told, []);
});
`;

const done = (...summary: string[]) => ({ status: 'done', summary });

const verdict = (word: 'APPROVED' | 'REJECTED', blockers: readonly unknown[]) => ({
  ...done(`${word} by a model that is a script`),
  verdict: {
    verdict: word,
    nonce: '{{^nonce: (\\S+)$}}',
    blockers,
    pillars: Object.fromEntries(
      ['correctness', 'tests', 'security', 'performance', 'api-compatibility', 'simplicity'].map((pillar) => [
        pillar,
        'none',
      ]),
    ),
    dismissed: [],
    deadEnds: [],
    pages: { $each: '^page: (\\S+) ' },
  },
});

/** Who plans, builds, judges and takes notes. */
type Cast = readonly [plan: AgentName, diff: AgentName, review: AgentName, notes: AgentName];

const role = (makes: string, round: number, steps: Rule['steps']): Rule => ({
  match: `\\nround: ${round}\\nmakes: ${makes}\\n`,
  steps,
});

const WRONG = `sed -i 's/export function signal(initial)/export function signal(initial, { equals = Object.is } = {})/; s/if (Object.is(value, next)) return;/if (equals(initial, next)) return;/' src/signal.js`;

/** What the models say: a plan, a failing test, a fix with a defect, a rejection, the fix of that, an approval, a scar. */
const rulesOf = ([plan, diff, review, notes]: Cast, sandbox: string): readonly Rule[] => {
  const heard = sandbox === 'off';
  return [
    role('plan', 1, [
      { shell: 'git log --oneline | head -3; cat src/signal.js' },
      {
        write: {
          path: '{{^out: (.+)$}}/plan.md',
          content:
            '---\npaths: [src/signal.js, "test/**"]\nfiles: 2\nlines: 30\n---\n# Plan\n\nAsk `equals` in `set`.\n',
        },
      },
      ...lastSteps(plan, done('planned: src/signal.js and one test')),
    ]),
    role('diff', 1, [
      { write: { path: '{{^tree: (.+)$}}/test/signal-equals.test.js', content: TEST } },
      { shell: 'node --test test/signal-equals.test.js > /dev/null 2>&1; echo "exit $?"' },
      {
        shell: `${WRONG} && node --test; echo "exit $?"`,
        usage: { input: 300, output: 40, cacheRead: 1_000 },
      },
      ...lastSteps(diff, done('test first: seen to fail, then to pass')),
    ]),
    role('diff', 2, [
      {
        shell: `sed -i 's/if (equals(initial, next)) return;/if (equals(value, next)) return;/' src/signal.js && node --test; echo "exit $?"`,
      },
      ...lastSteps(diff, done('compares with the current value')),
    ]),
    role('review', 1, [
      {
        shell: 'cat "{{^page: \\S+ (.+)$}}"; cp -r . "$TMPDIR/copy" 2>/dev/null; node --test; echo "exit $?"',
      },
      ...lastSteps(
        review,
        verdict('REJECTED', [
          { title: 'compares with the first value', path: 'src/signal.js', detail: 'set twice' },
        ]),
        heard,
      ),
    ]),
    role('review', 2, [
      { shell: 'cat "{{^page: \\S+ (.+)$}}"' },
      ...lastSteps(review, verdict('APPROVED', []), heard),
    ]),
    role('notes', 1, [
      {
        write: {
          path: '{{^out: (.+)$}}/notes/equals.md',
          content: '# equals gets the current value\n\n## Wound\nx\n## Trap\ny\n## Reflex\nz\n',
        },
      },
      ...lastSteps(notes, done('one scar')),
    ]),
  ];
};

const pipeline = (cast: Cast, world: World, sandbox: string): string => {
  const [plan, diff, review, notes] = cast.map(
    (name) => `{ adapter: ${name}, model: ${modelOf(name)}, args: ${world.args(name)} }`,
  );
  return `name: real
extends: builtin
sandbox: ${sandbox}
workers:
  archaeologist: ${plan}
  builder: ${diff}
  critic: ${review}
  scribe: ${notes}
targets:
  approved-plan:
    gates: [{ approval: { policy: { paths: ["src/**", "test/**"], maxFiles: 5, maxLines: 100 } } }]
  implementation-diff:
    gates: [not-empty, blast-radius, { check: { name: tests, run: node --test, timeout: 1m } }]
`;
};

const ship = async (rig: Rig, cast: Cast, sandbox: string) => {
  const world = await agentWorld(rig, cast, rulesOf(cast, sandbox));
  await prepareDemo(rig);
  rig.write({ 'targets.yaml': pipeline(cast, world, sandbox) });
  const ended = await rig.run(['run', '--ticket', '320'], { env: world.env });
  return { world, ended };
};

/** Each of the slow ones in each role; they are for `npm run test:agents`. */
const OTHERS: readonly Cast[] =
  process.env['ORCHESTRATE_TEST_AGENTS_ALL'] === '1'
    ? [
        ['gemini', 'opencode', 'qwen', 'copilot'],
        ['qwen', 'copilot', 'gemini', 'opencode'],
        ['copilot', 'gemini', 'opencode', 'qwen'],
        ['opencode', 'qwen', 'copilot', 'gemini'],
      ]
    : [];
const ALWAYS: Cast = ['claude', 'claude', 'codex', 'pi'];
const CASTS = [ALWAYS, ...OTHERS].filter((cast) => cast.every(isHere));
const TIERS = found.kind === 'bubblewrap' ? ['required', 'off'] : ['off'];

test.each(CASTS.flatMap((cast) => TIERS.map((sandbox) => ({ cast, sandbox }))))(
  '$cast.0, $cast.1, $cast.2 and $cast.3 ship a ticket of the sample repository with sandbox: $sandbox',
  async ({ cast, sandbox }) => {
    const rig = createRig();
    const { world, ended } = await ship(rig, cast, sandbox);
    expect(ended.code, `${ended.stdout}${ended.stderr}`).toBe(0);
    const remote = (...args: string[]) => rig.gitIn(join(rig.repo, '.git/origin.git'), ...args);
    expect(remote('show', 'main:src/signal.js')).toContain('if (equals(value, next)) return;');
    expect(remote('show', 'main:test/signal-equals.test.js')).toContain('an equal value is not a change');
    const record = rig.read('.orchestrate/320/state/30_critic_summary.md');
    expect(record.match(/^## Round \d: \w+/gm)).toEqual(['## Round 1: REJECTED', '## Round 2: APPROVED']);
    // The test failed first, and what the model was told is what really happened.
    const results = world.llm.log.flatMap(
      (entry) => (entry['lastResults'] as readonly string[] | undefined) ?? [],
    );
    expect(results.some((text) => text.includes('exit 1'))).toBe(true);
    const builders = rig
      .events()
      .filter(({ type, target }) => type === 'child.ended' && target === 'implementation-diff');
    const usage = (builders[0]?.['usage'] ?? {}) as Readonly<Record<string, unknown>>;
    // Copilot counts nothing in what it prints, and only claude knows a price of its model here.
    expect(typeof usage['cacheReadTokens']).toBe(cast[1] === 'copilot' ? 'object' : 'number');
    expect(typeof usage['costUsd']).toBe(cast[1] === 'claude' ? 'number' : 'object');
    // Nothing of a session is left, and nothing was written to the user's folders.
    expect(rig.has('.orchestrate/320/children/03-implementation-diff.1/agent')).toBe(false);
    expect(rig.processes()).toEqual([]);
  },
  300_000,
);
