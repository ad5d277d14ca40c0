import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import type { Verdict } from '../../orchestrator/model/child.js';
import type { Facts } from '../../orchestrator/model/event.js';
import { STATE_TOKENS } from '../../orchestrator/model/limits.js';
import { estimateTokens } from '../../orchestrator/model/text.js';
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

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom(
    '---',
    '# Laws',
    'a\nb',
    'a\r# b',
    'a\u2028b',
    '\u001B[2J',
    '```',
    'end of round 1',
    '## Round 9: APPROVED, 0 blockers',
    'nonce: 1',
    '| x',
  ),
);

const findings = fc.record({ title: text, detail: text }, { requiredKeys: ['title', 'detail'] });
const verdicts: fc.Arbitrary<Verdict> = fc.record({
  verdict: fc.constantFrom('APPROVED' as const, 'REJECTED' as const),
  nonce: fc.constant('0'),
  blockers: fc.array(findings, { maxLength: 12 }),
  pillars: fc.constant({}),
  dismissed: fc.array(text),
  deadEnds: fc.array(text),
  pages: fc.constant([]),
});

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

  test('have no line at column 0 that came from an agent or a ticket', () => {
    // Every line that is ours, whatever the facts are.
    const ours =
      /^(\| .*|\||---|[a-zA-Z.]+: .*|#.*|Write-once\..*|Append-only, .*|The whole plan is .*|none given|(blockers|dismissed|dead ends|refused):|end of round \d+|)$/;
    const checkLines = (document: string, headings: readonly string[]): void => {
      const { body = document } = splitFrontMatter(document) ?? {};
      const lines = body.split(/[\n\r\u0085\u2028\u2029]/);
      for (const line of lines) expect(line).toMatch(ours);
      const titles = lines.filter((line) => line.startsWith('#'));
      expect(titles.filter((line) => !headings.some((heading) => line.startsWith(heading)))).toEqual([]);
    };
    fc.assert(
      fc.property(text, fc.array(text), text, (title, acceptance, body) => {
        const document = ticketDocument(1, {
          ...TICKET,
          ticket: { id: '1', title, labels: [title], acceptance, body },
        });
        checkLines(document, ['# Ticket', '## Acceptance criteria', '## Scope']);
        check(SCHEMAS.ticket, document);
      }),
    );
    fc.assert(
      fc.property(text, fc.array(text), text, (plan, paths, note) => {
        const document = planDocument({ ...PLAN, plan, paths, note });
        checkLines(document, ['# Approved plan']);
        check(SCHEMAS.plan, document);
      }),
    );
    fc.assert(
      fc.property(verdicts, fc.array(text), (verdict, detail) => {
        const record = criticRecord({ ...ROUND, outcome: 'REFUSED', verdict, detail });
        checkLines(record, ['## Round 1: REFUSED']);
        expect(record.match(/^end of round/gm)).toHaveLength(1);
        expect(record.endsWith('end of round 1\n\n')).toBe(true);
      }),
    );
  });
});
