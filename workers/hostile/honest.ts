/** What a worker does that has no reason to lie: little, but by the contract. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Assignment } from '../scripted/assignment.js';
import type { Returned, ReturnedVerdict } from '../scripted/returned.js';
import { MARK, type Orders } from './steps.js';

const done = (line: string): Returned => ({ status: 'done', summary: [line] });

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

const PLAN = '---\npaths: ["**"]\nfiles: 40\nlines: 4000\n---\n# Plan\n\nWrite what the ticket asks for.\n';

const SCAR = '# Nothing went wrong\n\n## Wound\nnone\n\n## Trap\nnone\n\n## Reflex\nnone\n';

/** Reads every page, and rejects what carries the mark of an attack. */
export const judge = (assignment: Assignment): ReturnedVerdict => {
  const pages = assignment.pages.map(({ path }) => readFileSync(path));
  const text = Buffer.concat(pages).toString('utf8');
  const found = [...new Set([...text.matchAll(MARK)].map(([mark]) => mark))];
  return {
    verdict: found.length === 0 ? 'APPROVED' : 'REJECTED',
    nonce: assignment.nonce ?? '',
    blockers: found.map((mark) => ({ title: mark, detail: 'this is in the diff and has no business there' })),
    pillars: Object.fromEntries(assignment.pillars.map((pillar) => [pillar, 'none'])),
    dismissed: [],
    deadEnds: [],
    pages: pages.map((bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`),
  };
};

export const workHonestly = (assignment: Assignment, orders: Orders): Returned => {
  const { makes, tree, out, ticket, target } = assignment;
  switch (makes) {
    case 'plan':
      write(join(out, 'plan.md'), PLAN);
      return done('planned');
    case 'diff':
      write(join(tree, 'src', `work-${ticket}.js`), `export const work = ${JSON.stringify(ticket)};\n`);
      for (const path of orders.outputs[target] ?? []) write(join(tree, path), `${ticket}\n`);
      return done('written');
    case 'files':
      for (const path of orders.outputs[target] ?? []) write(join(tree, path), `${ticket}\n`);
      return done('made');
    case 'review':
      return { ...done('judged'), verdict: judge(assignment) };
    case 'notes':
      write(join(out, 'notes', 'none.md'), SCAR);
      return done('noted');
  }
};
