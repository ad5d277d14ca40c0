/** The return contract of a worker. Loaded only when a return file is read: zod is heavy. */
import * as z from 'zod';
import type { Makes } from '../model/pipeline.js';
import type { Verdict, WorkerReturn } from '../model/child.js';
import type { Digest } from '../model/digest.js';
import { isDigest } from '../model/digest.js';
import { cleanText, cutTo, oneLine } from '../model/text.js';
import { cutSummary } from './summary.js';

/** Most problems that are told; an agent can make any number. */
const MOST_PROBLEMS = 10;
/** Characters of one finding's text and entries of one list. */
const PROSE_CHARACTERS = 4_000;
const MOST_ENTRIES = 200;
/** Pages of a diff; 46,080 bytes each. */
const MOST_PAGES = 10_000;

/** Text for people and prompts: cleaned and cut, never a reason to refuse. */
const prose = z.string().transform((text) => cutTo(cleanText(text).trim(), PROSE_CHARACTERS));
const title = z
  .string()
  .transform((text) => oneLine(text))
  .refine((text) => text !== '', 'must not be empty');
/** A control field is plain ASCII without blanks: nothing in it can look like something else. */
const control = (longest: number) =>
  z
    .string()
    .max(longest)
    .regex(/^[\u0021-\u007E]+$/, 'may only have visible ASCII characters');

const count = z.number().int().nonnegative().nullable().default(null);

const usage = z.strictObject({
  inputTokens: count,
  outputTokens: count,
  costUsd: z.number().nonnegative().nullable().default(null),
});

const finding = z.strictObject({
  title,
  path: z
    .string()
    .max(4_096)
    .regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u, 'may not have control or invisible characters')
    .nullish(),
  detail: prose,
});

const verdict = z.strictObject({
  verdict: z.enum(
    ['APPROVED', 'REJECTED'],
    'must be exactly `APPROVED` or `REJECTED`, in plain ASCII letters',
  ),
  nonce: control(256),
  blockers: z.array(finding).max(MOST_ENTRIES),
  pillars: z.record(
    control(128),
    prose.refine((text) => text !== '', 'must not be empty: write a finding or `none`'),
  ),
  dismissed: z.array(prose).max(MOST_ENTRIES),
  deadEnds: z.array(prose).max(MOST_ENTRIES),
  pages: z
    .array(
      z.custom<Digest>(
        (value) => typeof value === 'string' && isDigest(value),
        'must be `sha256:` and 64 hex digits',
      ),
    )
    .max(MOST_PAGES),
});

const workerReturn = z.strictObject({
  status: z.enum(['done', 'no-change', 'blocked']),
  summary: z.array(z.string()),
  usage: usage.optional(),
  verdict: verdict.optional(),
});

type Parsed = z.infer<typeof workerReturn>;

export type Checked =
  | { readonly ok: true; readonly value: WorkerReturn }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Checks a parsed return file. */
export const checkReturn = (value: unknown, makes: Makes): Checked => {
  const parsed = workerReturn.safeParse(value);
  const problems = parsed.success ? contradictions(parsed.data, makes) : parsed.error.issues.map(describe);
  if (!parsed.success || problems.length > 0)
    return { ok: false, problems: problems.slice(0, MOST_PROBLEMS) };
  return { ok: true, value: toReturn(parsed.data) };
};

const pathOf = (path: readonly PropertyKey[]): string => {
  let text = '';
  for (const part of path)
    text += typeof part === 'number' ? `[${part}]` : `${text === '' ? '' : '.'}${String(part)}`;
  return text === '' ? 'the return' : `\`${text}\``;
};

const describe = (issue: z.core.$ZodIssue): string => {
  if (issue.code === 'unrecognized_keys')
    return oneLine(`${pathOf(issue.path)} has unknown keys: ${issue.keys.join(', ')}`);
  if (issue.code === 'invalid_key')
    return oneLine(`${pathOf(issue.path)} is a name with characters that are not plain ASCII`);
  return oneLine(`${pathOf(issue.path)}: ${issue.message}`);
};

/** What is well-formed and cannot be true. EVIDENCE row 8: any contradiction is not an approval. */
const contradictions = (value: Parsed, makes: Makes): readonly string[] => {
  const { verdict: given, status } = value;
  if (makes !== 'review')
    return given === undefined ? [] : ['`verdict` is only for a target that makes a review'];
  if (given === undefined) return ['`verdict` is missing: a review must have one'];
  const problems: string[] = [];
  const blockers = given.blockers.length;
  if (given.verdict === 'APPROVED' && blockers > 0)
    problems.push(`contradiction: \`APPROVED\` with ${blockers} blockers`);
  if (given.verdict === 'REJECTED' && blockers === 0)
    problems.push('contradiction: `REJECTED` without blockers');
  if (given.verdict === 'APPROVED' && status === 'blocked')
    problems.push('contradiction: `APPROVED` with status `blocked`');
  return problems;
};

const toReturn = (value: Parsed): WorkerReturn => ({
  status: value.status,
  summary: cutSummary(value.summary),
  ...(value.usage === undefined ? {} : { usage: value.usage }),
  ...(value.verdict === undefined ? {} : { verdict: toVerdict(value.verdict) }),
});

const toVerdict = (value: NonNullable<Parsed['verdict']>): Verdict => ({
  ...value,
  blockers: value.blockers.map(({ title: name, path, detail }) =>
    path === undefined || path === null || path === ''
      ? { title: name, detail }
      : { title: name, path, detail },
  ),
});
