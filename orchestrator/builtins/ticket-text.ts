import type { Ticket } from '../model/ticket.js';

/** The bytes of `artifacts/ticket.md`: the ticket as its source gave it, a pure function of the recorded fact. */
export const ticketText = ({ title, acceptance, body }: Ticket): string =>
  [`# ${title}`, '', ...acceptance.map((line) => `- ${line}`), '', body, ''].join('\n');
