import { Problem } from '../model/failure.js';
import { requireTicketId } from '../model/ticket.js';
import { sayAtRest, ticketsAtRest } from './at-rest.js';
import { flagText, repositoryOf, type Session } from './session.js';

const ticketsOf = (session: Session): string[] => {
  const ids = [...new Set(session.request.tickets.map(requireTicketId))];
  if (ids.length > 0) return ids;
  throw new Problem({
    kind: 'usage',
    message: 'no ticket was named',
    next: '`orchestrate run --ticket 320`',
  });
};

/** `undefined` when the pipelines say it. */
const askedJobs = (session: Session): number | undefined => {
  const text = flagText(session, 'jobs');
  if (text === undefined) return undefined;
  const jobs = Number(text);
  if (Number.isSafeInteger(jobs) && jobs >= 1 && jobs <= 1_024) return jobs;
  throw new Problem({
    kind: 'usage',
    message: `\`--jobs ${text}\` is not a number from 1 to 1024`,
    next: '`--jobs 2`',
  });
};

/** `run`. Where nothing is to be done, what could do it is not even loaded. */
export const run = async (session: Session): Promise<number> => {
  const tickets = ticketsOf(session);
  const paths = repositoryOf(session);
  const jobs = askedJobs(session);
  const resting = ticketsAtRest(session, paths, tickets);
  if (resting !== undefined) return sayAtRest(session, resting);
  const { runTickets } = await import('./run-tickets.js');
  return runTickets(session, { tickets, paths, jobs });
};
