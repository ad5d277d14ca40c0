/** The return contract as JSON Schema, for agents whose program makes the model keep to one. What it allows, `return-schema.ts` takes. */
import type { Makes } from '../model/pipeline.js';

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
const list = (items: Schema, description: string): Schema => ({ type: 'array', items, description });
/** Every key required and no other one: the strictest of the providers takes nothing else. */
const object = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

const finding = object({
  title: { ...text, description: 'One line: the wrong behaviour.' },
  path: { ...text, description: 'File, relative to the tree; empty when it is about none.' },
  detail: { ...text, description: 'How to reproduce it, what was seen, what was expected.' },
});

const verdictOf = (pillars: readonly string[]): Schema =>
  object({
    verdict: { type: 'string', enum: ['APPROVED', 'REJECTED'] },
    nonce: { ...text, description: 'The value of the nonce line of the Assignment.' },
    blockers: list(finding, 'Empty for APPROVED, at least one for REJECTED.'),
    pillars: object(
      Object.fromEntries(pillars.map((pillar) => [pillar, { ...text, description: 'A finding, or: none' }])),
    ),
    dismissed: list(text, 'What looked wrong and is right, with the evidence.'),
    deadEnds: list(text, 'Ways to mend a blocker that do not work.'),
    pages: list(text, 'Digests of the pages that were read to the end.'),
  });

/** JSON Schema of what a worker returns, on one line. A review must have a verdict, nothing else may have one. */
export const returnJsonSchema = (makes: Makes, pillars: readonly string[]): string =>
  JSON.stringify(
    object({
      status: { type: 'string', enum: ['done', 'no-change', 'blocked'] },
      summary: list(text, 'At most 15 lines of at most 200 characters: result, evidence, what was not done.'),
      ...(makes === 'review' ? { verdict: verdictOf(pillars) } : {}),
    }),
  );
