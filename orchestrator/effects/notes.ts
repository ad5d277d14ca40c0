import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cleanText, oneLine } from '../model/text.js';
import { factOf } from '../machine/run-state.js';
import { stateFolder, ticketsWithRuns } from '../state/run-dir.js';
import type { TicketRun } from './ticket-run.js';

/** The index of notes: a worker reads a note only when it needs it. */
export const knownNotes = (artifacts: string): { readonly path: string; readonly title: string }[] =>
  notesIn(join(artifacts, 'notes')).map(({ path, text }) => ({ path, title: titleOf(text) }));

interface Note {
  readonly path: string;
  readonly text: string;
}

const notesIn = (folder: string): Note[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.md') && !name.startsWith('.'))
        .toSorted()
        .map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), 'utf8') }))
    : [];

const titleOf = (text: string): string => oneLine(text.split('\n')[0]?.replace(/^#+\s*/, '') ?? '', 120);

/** Scars that a prompt carries. */
const SCARS = 3;
const SCAR_CHARACTERS = 1_200;

const wordsOf = (text: string): Set<string> =>
  new Set(
    cleanText(text)
      .toLowerCase()
      .split(/[^a-z0-9_]+/)
      .filter((word) => word.length > 3),
  );

/**
 * Scars (wound, trap, reflex) of other tickets that have most words in common with this one: its title, labels, criteria
 * and body. Counted, not judged: no model is asked.
 */
export const matchingScars = (run: TicketRun): string[] => {
  const ticket = factOf(run.recorder.run, 'ticket');
  if (ticket === undefined) return [];
  const wanted = wordsOf([ticket.title, ...ticket.labels, ...ticket.acceptance, ticket.body].join(' '));
  const scored = ticketsWithRuns(run.paths.mainRoot)
    .filter((other) => other !== run.ticket)
    .flatMap((other) =>
      notesIn(join(stateFolder(run.paths.mainRoot), other, 'artifacts', 'notes')).map(({ text }) => ({
        text: `ticket ${other}: ${text.slice(0, SCAR_CHARACTERS)}`,
        common: [...wordsOf(text)].filter((word) => wanted.has(word)).length,
      })),
    );
  return scored
    .filter(({ common }) => common > 1)
    .toSorted((a, b) => b.common - a.common)
    .slice(0, SCARS)
    .map(({ text }) => text);
};
