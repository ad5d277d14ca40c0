import { existsSync, readFileSync } from 'node:fs';
import type { JournalLine, RunEvent } from '../model/event.js';

export const linesOf = (journal: string): readonly JournalLine[] =>
  (existsSync(journal) ? readFileSync(journal, 'utf8').split('\n') : []).flatMap((line) => {
    try {
      return [JSON.parse(line) as JournalLine];
    } catch {
      // Torn, or an attack wrote it.
      return [];
    }
  });

/** Events of a journal as they stand there: whether they hold is asked of the binary. */
export const eventsOf = (journal: string): readonly RunEvent[] => linesOf(journal).map(({ event }) => event);
