import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Makes } from '../../orchestrator/model/pipeline.js';
import { repeatedKeys } from '../../orchestrator/process/json-keys.js';
import { readReturn } from '../../orchestrator/process/return-file.js';
import { temporaryFolder } from '../helpers/child.js';

const PAGE = `sha256:${'a'.repeat(64)}`;
const BLOCKER = { title: 'race', path: 'src/a.ts', detail: 'two writers' };

const verdict = (more: object = {}) => ({
  verdict: 'APPROVED',
  nonce: '0123abcd',
  blockers: [],
  pillars: { correctness: 'none', tests: 'ran them' },
  dismissed: [],
  deadEnds: [],
  pages: [PAGE],
  ...more,
});

const done = (more: object = {}) => ({ status: 'done', summary: ['did it'], ...more });
const review = (more: object = {}) => done({ verdict: verdict(more) });

const read = async (content: string | Uint8Array | object, makes: Makes = 'diff') => {
  const path = join(temporaryFolder(), 'return.json');
  const isBytes = typeof content === 'string' || content instanceof Uint8Array;
  writeFileSync(path, isBytes ? content : JSON.stringify(content));
  return readReturn(path, { makes });
};

const problemsOf = async (...args: Parameters<typeof read>): Promise<string> => {
  const answer = await read(...args);
  if (answer.ok) throw new Error('it was taken');
  return answer.problems.join('\n');
};

test('what a worker returned is taken as it is', async () => {
  const usage = { inputTokens: 5, outputTokens: null, costUsd: 0.25 };
  expect(await read(done({ usage }))).toEqual({
    ok: true,
    value: { status: 'done', summary: ['did it'], usage },
  });
  expect(await read({ status: 'no-change', summary: [] })).toEqual({
    ok: true,
    value: { status: 'no-change', summary: [] },
  });
});

test('a verdict is taken as it is', async () => {
  const rejected = {
    verdict: 'REJECTED',
    blockers: [BLOCKER, { title: 'a', detail: '' }],
    dismissed: ['x'],
    deadEnds: ['y'],
  };
  expect(await read(review(), 'review')).toEqual({ ok: true, value: review() });
  expect(await read(review(rejected), 'review')).toEqual({ ok: true, value: review(rejected) });
});

test('unknown usage is null, never 0', async () => {
  expect(await read(done({ usage: { inputTokens: 7 } }))).toMatchObject({
    value: { usage: { inputTokens: 7, outputTokens: null, costUsd: null } },
  });
});

test('summaries and prose are cut and cleaned, not refused', async () => {
  const summary = Array.from({ length: 40 }, () => `\u001B[31m${'x'.repeat(500)}`);
  const answer = await read(done({ summary }));
  expect(answer).toMatchObject({ value: { summary: Array(15).fill(`${'x'.repeat(199)}…`) } });
  const blockers = [{ title: 'a\u001B[31m\nb', detail: `\u202E${'d'.repeat(9_000)}` }];
  const rejected = await read(review({ verdict: 'REJECTED', blockers }), 'review');
  expect(rejected).toMatchObject({
    value: { verdict: { blockers: [{ title: 'a b', detail: `${'d'.repeat(3_999)}…` }] } },
  });
});

test.each<[string, string | Uint8Array | object, RegExp]>([
  ['no JSON', 'Here is my answer: {"status":"done"}', /not valid JSON/],
  ['nothing', '', /not valid JSON/],
  ['two documents', '{"status":"done","summary":[]}{"status":"done","summary":[]}', /not valid JSON/],
  ['bytes that are not UTF-8', Uint8Array.from([0x22, 0xff, 0x22]), /not valid UTF-8/],
  ['a list', [], /the return/],
  ['null', 'null', /the return/],
  ['an unknown status', { status: 'DONE', summary: [] }, /`status`/],
  ['no summary', { status: 'done' }, /`summary`/],
  ['a summary that is text', { status: 'done', summary: 'x' }, /`summary`/],
  ['a summary line that is not text', done({ summary: ['a', 3] }), /`summary\[1\]`/],
  ['an unknown key', done({ approved: true }), /unknown keys: approved/],
  ['negative tokens', done({ usage: { inputTokens: -1 } }), /`usage\.inputTokens`/],
  ['half a token', done({ usage: { inputTokens: 1.5 } }), /`usage\.inputTokens`/],
  ['a key said twice', '{"status":"done","summary":[],"status":"blocked"}', /says `status` twice/],
  ['a verdict of who may not give one', review(), /only for a target that makes a review/],
])('%s is refused, and the place is named', async (_name, content, problem) => {
  expect(await problemsOf(content)).toMatch(problem);
});

test.each<[string, object | string, RegExp]>([
  ['no verdict', done(), /`verdict` is missing/],
  [
    'lower case',
    review({ verdict: 'approved' }),
    /`verdict\.verdict`: must be exactly `APPROVED` or `REJECTED`/,
  ],
  ['a Cyrillic letter that looks like A', review({ verdict: '\u0410PPROVED' }), /`verdict\.verdict`/],
  ['a zero-width character', review({ verdict: 'APPROVED\u200B' }), /`verdict\.verdict`/],
  ['a trailing newline', review({ verdict: 'APPROVED\n' }), /`verdict\.verdict`/],
  ['an approval with blockers', review({ blockers: [BLOCKER] }), /contradiction: `APPROVED` with 1 blockers/],
  [
    'a rejection without blockers',
    review({ verdict: 'REJECTED' }),
    /contradiction: `REJECTED` without blockers/,
  ],
  [
    'an approval by a worker that is blocked',
    { ...review(), status: 'blocked' },
    /contradiction: `APPROVED` with status `blocked`/,
  ],
  [
    'two verdicts',
    JSON.stringify(review({ verdict: 'X' })).replace(
      '"verdict":"X"',
      '"verdict":"REJECTED","verdict":"APPROVED"',
    ),
    /says `verdict` twice/,
  ],
  [
    'two verdicts, one escaped',
    JSON.stringify(review()).replace('"nonce"', '"\\u0076erdict":"APPROVED","nonce"'),
    /says `verdict` twice/,
  ],
  ['a nonce with a control character', review({ nonce: 'abc\u0000' }), /`verdict\.nonce`/],
  ['an empty nonce', review({ nonce: '' }), /`verdict\.nonce`/],
  ['a page that is no digest', review({ pages: ['all'] }), /`verdict\.pages\[0\]`/],
  ['a pillar with a look-alike name', review({ pillars: { cоrrectness: 'none' } }), /`verdict\.pillars/],
  [
    'an empty pillar',
    review({ pillars: { tests: ' \u200B' } }),
    /`verdict\.pillars\.tests`: must not be empty/,
  ],
  [
    'a blocker without title',
    review({ verdict: 'REJECTED', blockers: [{ title: ' ', detail: 'x' }] }),
    /`verdict\.blockers\[0\]\.title`/,
  ],
  [
    'a blocker whose path hides something',
    review({ verdict: 'REJECTED', blockers: [{ ...BLOCKER, path: 'a\u202Eb' }] }),
    /`verdict\.blockers\[0\]\.path`/,
  ],
  ['an unknown key in it', review({ confidence: 1 }), /`verdict` has unknown keys: confidence/],
  ['nothing in it', done({ verdict: {} }), /`verdict\.nonce`/],
])('a review with %s is refused, and the place is named', async (_name, content, problem) => {
  expect(await problemsOf(content, 'review')).toMatch(problem);
});

test("the pillar `__proto__` is nobody's pillar, and does not stand in for another", async () => {
  const text = JSON.stringify(review()).replace('"correctness"', '"__proto__"');
  const answer = await read(text, 'review');
  const pillars = answer.ok ? answer.value.verdict?.pillars : {};
  expect(pillars).not.toHaveProperty('correctness');
});

test('at most ten short and clean problems are told', async () => {
  const text = await problemsOf(done({ summary: Array(50).fill(1), [`\u001B[31m${'k'.repeat(900)}\n`]: 1 }));
  const problems = text.split('\n');
  expect(problems.length).toBeLessThanOrEqual(10);
  for (const problem of problems) expect(problem).toMatch(/^[^\u0000-\u001F]{1,200}$/);
});

test('a file of exactly the largest size is read, one byte more is refused', async () => {
  const text = JSON.stringify(done());
  expect(await read(text.padEnd(262_144))).toMatchObject({ ok: true });
  expect(await problemsOf(text.padEnd(262_145))).toMatch(/262145 bytes/);
});

test('only a regular file at that very path is read', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'out', 'return.json');
  expect(await readReturn(path, { makes: 'diff' })).toMatchObject({ ok: false });
  mkdirSync(join(folder, 'out'));
  expect(await readReturn(path, { makes: 'diff' })).toEqual({
    ok: false,
    problems: ['the worker wrote no return file'],
  });
  writeFileSync(join(folder, 'elsewhere.json'), JSON.stringify(done()));
  symlinkSync(join(folder, 'elsewhere.json'), path);
  expect(await readReturn(path, { makes: 'diff' })).toEqual({
    ok: false,
    problems: ['the return file is a link'],
  });
  execFileSync('mkfifo', [join(folder, 'out', 'pipe.json')]);
  mkdirSync(join(folder, 'out', 'folder.json'));
  for (const name of ['pipe.json', 'folder.json']) {
    const answer = await readReturn(join(folder, 'out', name), { makes: 'diff' });
    expect(answer).toEqual({ ok: false, problems: ['the return file is not a regular file'] });
  }
  renameSync(join(folder, 'elsewhere.json'), join(folder, 'out', 'real.json'));
  expect(await readReturn(join(folder, 'out', 'real.json'), { makes: 'diff' })).toMatchObject({ ok: true });
  renameSync(join(folder, 'out'), join(folder, 'moved'));
  symlinkSync(join(folder, 'moved'), join(folder, 'out'));
  expect(await readReturn(join(folder, 'out', 'real.json'), { makes: 'diff' })).toMatchObject({ ok: false });
});

test('no key of a value that was written by JSON.stringify is said twice, and one that is, is found', () => {
  const key = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '}', ':', 'a'));
  fc.assert(
    fc.property(fc.dictionary(key, fc.jsonValue()), key, (value, extra) => {
      expect(repeatedKeys(JSON.stringify(value))).toEqual([]);
      const name = JSON.stringify(extra);
      expect(repeatedKeys(`[{${name}:1},{${name}:${JSON.stringify(value)},${name}:2}]`)).toEqual([extra]);
    }),
  );
});
