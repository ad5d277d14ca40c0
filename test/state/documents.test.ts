import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import type { Verdict } from '../../orchestrator/model/child.js';
import type { Facts } from '../../orchestrator/model/event.js';
import { STATE_TOKENS } from '../../orchestrator/model/limits.js';
import { estimateTokens, oneLine } from '../../orchestrator/model/text.js';
import {
  criticHeader,
  criticRecord,
  governanceDocument,
  planDocument,
  ticketDocument,
  type CriticFacts,
  type PlanFacts,
} from '../../orchestrator/state/documents.js';
import { splitFrontMatter } from '../../orchestrator/state/front-matter.js';
import { digest, pipelineOf, RECEIPT, target } from '../helpers/core.js';
import { ACTS, bland, hostile, hostileLists, ours } from '../helpers/hostile.js';

const AT = '2025-11-30T12:00:00.000Z';
const digestText = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** What each document's front matter must be, and nothing more: progress has no key in 00 to 30. */
const SCHEMAS = {
  governance: z.strictObject({
    document: z.literal('governance'),
    ticket: z.string(),
    epoch: z.int(),
    pipeline: z.string(),
    digest: digestText,
  }),
  ticket: z.strictObject({
    document: z.literal('ticket'),
    ticket: z.string(),
    epoch: z.int(),
    title: z.string(),
    labels: z.array(z.string()),
    branch: z.string(),
    baseBranch: z.string(),
    base: z.string(),
    tree: z.string(),
    remote: z.string(),
    digest: digestText,
  }),
  plan: z.strictObject({
    document: z.literal('plan-approved'),
    ticket: z.string(),
    epoch: z.int(),
    digest: digestText,
    approvedBy: z.string(),
    how: z.string(),
    approvedAt: z.iso.datetime(),
    note: z.string(),
    blastRadius: z.array(z.string()),
  }),
  critic: z.strictObject({ document: z.literal('critic-summary'), ticket: z.string(), epoch: z.int() }),
};

const check = (schema: z.ZodType, text: string): unknown =>
  schema.parse(parse(splitFrontMatter(text)?.head ?? ''));

const TICKET: Facts = {
  ticket: {
    id: '320',
    title: 'Durations',
    labels: ['parser'],
    acceptance: ['1h30m is 5400', 'x'],
    body: 'Why.\n\nMore.',
  },
  ticketDigest: digest('ticket'),
  branch: 'orchestrate/320',
  baseBranch: 'main',
  base: 'b'.repeat(40),
  tree: '/trees/320',
  remoteUrl: 'https://example.org/x.git',
};
const PLAN: PlanFacts = {
  ticket: '320',
  epoch: 1,
  plan: 'Do it.',
  digest: digest('plan'),
  paths: ['src/**'],
  by: 'person ada',
  how: 'tty',
  at: AT,
  note: 'fine',
};
const VERDICT: Verdict = {
  verdict: 'REJECTED',
  nonce: '0',
  blockers: [{ title: 'overflow', path: 'src/a.ts', detail: 'at 2^31' }],
  pillars: { correctness: 'overflow' },
  dismissed: ['style of names'],
  deadEnds: ['a regular expression'],
  pages: [],
};
const ROUND: CriticFacts = {
  round: 1,
  at: AT,
  child: '04-adversarial-review.1',
  outcome: 'REJECTED',
  receipt: RECEIPT,
  verdict: VERDICT,
  detail: [],
};

const PIPELINE = pipelineOf([
  target('ticket'),
  target('plan', ['ticket'], { gates: [{ kind: 'approval', by: 'person' }] }),
  target('diff', ['plan'], {
    gates: [{ kind: 'check', name: 'tests', argv: ['npm', 'test'], timeoutMs: 1 }, { kind: 'blast-radius' }],
  }),
]);
const governance = (): string =>
  governanceDocument({
    ticket: '320',
    epoch: 1,
    pipeline: PIPELINE,
    sources: [{ path: 'targets.yaml', digest: digest('yaml') }],
  });

describe('00', () => {
  test('names laws, airlocks and sources by pointer, and its front matter is what it should be', () => {
    const document = governance();
    expect(check(SCHEMAS.governance, document)).toMatchObject({ ticket: '320', digest: PIPELINE.digest });
    expect(document).toContain(`- targets.yaml ${digest('yaml').slice(0, 19)}`);
    expect(document).toContain('- 1 plan: approval by person');
    expect(document).toContain('- 2 diff: check tests, blast-radius');
    expect(document).toContain('5 review rounds, 4 children at once');
    expect(document).not.toContain('0 ticket');
  });

  test('of very many gated targets the first are named and the rest is counted', () => {
    const many = pipelineOf(
      Array.from({ length: 1_000 }, (_, index) =>
        target(`t-${index}`, [], { gates: [{ kind: 'not-empty' }] }),
      ),
    );
    const document = governanceDocument({ ticket: '1', epoch: 1, pipeline: many, sources: [] });
    expect(document).toContain('- and 976 more gated targets');
    expect(document.length).toBeLessThan(3_000);
  });
});

describe('10', () => {
  test('has ticket, branch, base, tree, criteria and scope', () => {
    const document = ticketDocument(2, TICKET);
    expect(check(SCHEMAS.ticket, document)).toEqual({
      document: 'ticket',
      ticket: '320',
      epoch: 2,
      title: 'Durations',
      labels: ['parser'],
      branch: 'orchestrate/320',
      baseBranch: 'main',
      base: 'b'.repeat(40),
      tree: '/trees/320',
      remote: 'https://example.org/x.git',
      digest: digest('ticket'),
    });
    expect(document).toContain('## Acceptance criteria\n| - 1h30m is 5400\n| - x\n');
    expect(document).toContain('## Scope\n| Why.\n|\n| More.\n');
  });

  test('a long body is cut, in lines and in their length, with a pointer to the whole', () => {
    const body = Array.from({ length: 100 }, () => 'x'.repeat(1_000)).join('\n');
    const document = ticketDocument(1, {
      ...TICKET,
      ticket: { id: '1', title: 't', labels: [], acceptance: [], body },
    });
    expect(document).toContain('| (80 more lines: artifacts/ticket.md)');
    expect(document).toContain('## Acceptance criteria\nnone given');
    expect(estimateTokens(Buffer.byteLength(document))).toBeLessThan(1_500);
  });
});

describe('20', () => {
  test('says who approved which bytes, how and when, and the blast radius', () => {
    expect(check(SCHEMAS.plan, planDocument(PLAN))).toEqual({
      document: 'plan-approved',
      ticket: '320',
      epoch: 1,
      digest: digest('plan'),
      approvedBy: 'person ada',
      how: 'tty',
      approvedAt: AT,
      note: 'fine',
      blastRadius: ['src/**'],
    });
    expect(planDocument(PLAN)).toContain('| Do it.');
  });
});

describe('30', () => {
  test('a record has verdict, blockers, dismissed findings, dead ends and the receipt', () => {
    expect(check(SCHEMAS.critic, criticHeader('320', 1))).toMatchObject({ ticket: '320' });
    expect(criticRecord(ROUND)).toBe(
      [
        '## Round 1: REJECTED, 1 blockers',
        `at: ${AT}, child: 04-adversarial-review.1`,
        `receipt: tree ${RECEIPT.tree} on base ${RECEIPT.base}`,
        `branch.diff: ${RECEIPT.diff} (2 files, +5 -1)`,
        'blockers:',
        '| - src/a.ts: overflow',
        'dismissed:',
        '| - style of names',
        'dead ends:',
        '| - a regular expression',
        'end of round 1',
        '',
        '',
      ].join('\n'),
    );
  });

  test('a refused verdict is recorded with its reasons, also without a receipt', () => {
    const record = criticRecord({ round: 2, at: AT, outcome: 'REFUSED', detail: ['stale: other bytes'] });
    expect(record).toContain('## Round 2: REFUSED, the verdict does not count');
    expect(record).toContain('receipt: unbindable');
    expect(record).toContain('refused:\n| - stale: other bytes');
  });

  test('what does not fit is counted, never dropped in silence', () => {
    const blockers = Array.from({ length: 12 }, (_, index) => ({ title: `b${index}`, detail: '' }));
    expect(criticRecord({ ...ROUND, verdict: { ...VERDICT, blockers } })).toContain(
      '| - and 4 more in the journal',
    );
  });
});

describe('all documents', () => {
  test('are pure: the same facts give the same bytes', () => {
    expect(governance()).toBe(governance());
    expect(ticketDocument(1, TICKET)).toBe(ticketDocument(1, structuredClone(TICKET)));
    expect(planDocument(PLAN)).toBe(planDocument(structuredClone(PLAN)));
    expect(criticRecord(ROUND)).toBe(criticRecord(structuredClone(ROUND)));
  });

  test('of a whole ticket with five rounds stay small enough to be read at one sitting', () => {
    const rounds = [1, 2, 3, 4, 5].map((round) => criticRecord({ ...ROUND, round }));
    const all = [
      governance(),
      ticketDocument(1, TICKET),
      planDocument(PLAN),
      criticHeader('320', 1),
      ...rounds,
    ].join('');
    // What is left is for 99.
    expect(estimateTokens(Buffer.byteLength(all))).toBeLessThan(STATE_TOKENS - 500);
  });
});

describe('foreign text is data', () => {
  const RUNS = { numRuns: 120 };
  const head = (document: string): unknown => parse(splitFrontMatter(document)?.head ?? '');
  const body = (document: string): string[] => ours(splitFrontMatter(document)?.body ?? document);

  test('00: names of gates and files stay on their lines', () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, (name, gate, path) => {
        const write = (texts: readonly string[]): string =>
          governanceDocument({
            ticket: '1',
            epoch: 1,
            pipeline: pipelineOf(
              [
                target('a', [], {
                  gates: [{ kind: 'check', name: texts[1] ?? '', argv: ['x'], timeoutMs: 1 }],
                }),
              ],
              { name: texts[0] ?? '' },
            ),
            sources: [{ path: texts[2] ?? '', digest: digest('x') }],
          });
        const document = write([name, gate, path]);
        expect(head(document)).toMatchObject({ document: 'governance', pipeline: name });
        expect(body(document)).toEqual(body(write(['x', 'x', 'x'])));
        expect(document).not.toMatch(ACTS);
      }),
      RUNS,
    );
  });

  test('10: its front matter is what was put in, whatever ticket, branch and folder are called', () => {
    const facts = fc.record({
      ticket: fc.record({
        id: fc.constant('1'),
        title: hostile,
        labels: hostileLists,
        acceptance: hostileLists,
        body: hostile,
      }),
      branch: hostile,
      baseBranch: hostile,
      tree: hostile,
      remoteUrl: hostile,
    });
    fc.assert(
      fc.property(facts, (given) => {
        const document = ticketDocument(1, given);
        expect(head(document)).toEqual({
          document: 'ticket',
          ticket: '1',
          epoch: 1,
          title: oneLine(given.ticket.title),
          labels: given.ticket.labels,
          branch: given.branch,
          baseBranch: given.baseBranch,
          tree: given.tree,
          remote: given.remoteUrl,
        });
        expect(body(document)).toEqual(body(ticketDocument(1, bland(given))));
        expect(document).not.toMatch(ACTS);
      }),
      RUNS,
    );
  });

  test('20: the same of the plan, who approved it, and the note', () => {
    const facts = fc.record({ plan: hostile, paths: hostileLists, by: hostile, how: hostile, note: hostile });
    fc.assert(
      fc.property(facts, (given) => {
        const write = (texts: typeof given): string =>
          planDocument({
            ...texts,
            ticket: '1',
            epoch: 1,
            digest: digest('plan'),
            at: '2026-01-01T00:00:00.000Z',
          });
        const document = write(given);
        expect(head(document)).toMatchObject({
          digest: digest('plan'),
          approvedBy: given.by,
          blastRadius: given.paths,
          note: oneLine(given.note),
        });
        expect(body(document)).toEqual(body(write(bland(given))));
        expect(document).not.toMatch(ACTS);
      }),
      RUNS,
    );
  });

  test('30: a record is one record, whatever the critic says', () => {
    const verdict = fc.record({
      blockers: fc.array(fc.record({ title: hostile, path: hostile, detail: hostile }), { maxLength: 3 }),
      dismissed: hostileLists,
      deadEnds: hostileLists,
      detail: hostileLists,
    });
    const facts = fc.record({
      verdict,
      outcome: fc.constantFrom('APPROVED' as const, 'REJECTED' as const, 'REFUSED' as const),
    });
    fc.assert(
      fc.property(fc.array(facts, { maxLength: 3 }), (rounds) => {
        const records = rounds.map(({ verdict: { detail, ...said }, outcome }, index) =>
          criticRecord({
            round: index + 1,
            at: '2026-01-01T00:00:00.000Z',
            outcome,
            receipt: RECEIPT,
            verdict: { verdict: 'REJECTED', nonce: '0', pillars: {}, pages: [], ...said },
            detail,
          }),
        );
        const document = criticHeader('1', 1) + records.join('');
        const headings = ours(document).filter((line) => line.startsWith('## '));
        expect(headings.map((line) => line.replace(/,.*/, ''))).toEqual(
          rounds.map(({ outcome }, index) => `## Round ${index + 1}: ${outcome}`),
        );
        expect(ours(document).filter((line) => line.startsWith('end of'))).toHaveLength(rounds.length);
        expect(document).not.toMatch(ACTS);
      }),
      RUNS,
    );
  });
});
