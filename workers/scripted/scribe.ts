import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Assignment } from './assignment.js';
import type { Returned } from './returned.js';
import type { NotesScript, Scar } from './script.js';

const scarText = ({ ticket }: Assignment, scar: Scar): string =>
  [
    `# ${scar.title}`,
    '',
    `Ticket ${ticket}. \`${scar.path}\`. The critic's blocker: ${scar.blocker}`,
    '',
    '## Wound',
    '',
    scar.wound,
    '',
    '## Trap',
    '',
    scar.trap,
    '',
    '## Reflex',
    '',
    scar.reflex,
    '',
  ].join('\n');

/** Writes a scar for each blocker that the record of the run quotes; what did not happen leaves none. */
export const recordScars = (assignment: Assignment, { scars }: NotesScript): Returned => {
  const happened = scars.filter(({ blocker }) => assignment.quoted.some((line) => line.includes(blocker)));
  if (happened.length === 0) {
    return {
      status: 'no-change',
      summary: ['no scar: none of the blockers that the script knows happened in this run'],
    };
  }
  const folder = join(assignment.out, 'notes');
  mkdirSync(folder, { recursive: true });
  for (const scar of happened) writeFileSync(join(folder, `${scar.name}.md`), scarText(assignment, scar));
  return {
    status: 'done',
    summary: [
      `${happened.length} scars written, of ${scars.length} that the script knows`,
      ...happened.map(({ title }) => `scar: ${title}`),
    ],
  };
};
