import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readPlan } from '../../orchestrator/gates/plan.js';
import { RESIDENT_BYTES, SUMMARY_LINES, SUMMARY_LINE_CHARACTERS } from '../../orchestrator/model/limits.js';

const FOLDER = 'references';
const names = readdirSync(FOLDER).toSorted();
const text = (name: string): string => readFileSync(`${FOLDER}/${name}`, 'utf8');
const bytes = (name: string): number => readFileSync(`${FOLDER}/${name}`).length;
const KERNEL = '00_kernel.md';

const examples = (name: string): readonly unknown[] =>
  [...text(name).matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) => JSON.parse(json ?? '') as unknown);

const summaryOf = (example: unknown): readonly string[] =>
  (example as { readonly summary: string[] }).summary;

describe('the kernel and the manuals', () => {
  test('are one kernel and a manual for each of the targets 1 to 8', () => {
    expect(names.map((name) => name.slice(0, 3))).toEqual([
      '00_',
      '01_',
      '02_',
      '03_',
      '04_',
      '05_',
      '06_',
      '07_',
      '08_',
    ]);
  });

  test.each(names.filter((name) => name !== KERNEL))(
    '%s fits beside the kernel with room to spare',
    (name) => {
      expect(bytes(KERNEL) + bytes(name)).toBeLessThanOrEqual(RESIDENT_BYTES / 2);
    },
  );

  test.each(names)('%s has no line that could be taken for a trusted line of an assignment', (name) => {
    const lines = text(name).split('\n');
    expect(
      lines.filter((line) =>
        /^(nonce|page|pillar|ticket|target|round|makes|return): |^# Assignment/.test(line),
      ),
    ).toEqual([]);
  });

  test.each([KERNEL, '04_adversarial_review.md'])(
    'the return in %s is valid JSON within its own limits',
    (name) => {
      const [example, ...more] = examples(name);
      expect(more).toEqual([]);
      const summary = summaryOf(example);
      expect(summary.length).toBeLessThanOrEqual(SUMMARY_LINES);
      for (const line of summary)
        expect(Array.from(line).length).toBeLessThanOrEqual(SUMMARY_LINE_CHARACTERS);
    },
  );

  test('the plan in the manual of the archaeologist is a plan that the gate can read', () => {
    const [, plan = ''] = /```markdown\n([\s\S]*?)```/.exec(text('02_archaeology.md')) ?? [];
    expect(readPlan(plan)).toMatchObject({
      paths: ['src/signal.js', 'test/signal*.test.js', 'docs/signals.md'],
      files: 3,
      lines: 60,
    });
  });

  test('the verdict in the manual of the review has every part of the contract', () => {
    const [example] = examples('04_adversarial_review.md');
    const { verdict } = example as { readonly verdict: Readonly<Record<string, unknown>> };
    expect(Object.keys(verdict).toSorted()).toEqual([
      'blockers',
      'deadEnds',
      'dismissed',
      'nonce',
      'pages',
      'pillars',
      'verdict',
    ]);
    expect(Object.keys(verdict['pillars'] as object)).toEqual([
      'correctness',
      'tests',
      'security',
      'performance',
      'api-compatibility',
      'simplicity',
    ]);
  });
});
