import { Problem } from './failure.js';

/** Source: DESIGN section 1. It becomes a folder and a branch name, so nothing else is let through. */
const TICKET_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Windows device names and what git refuses at the end of a ref component. */
const RESERVED = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;

export const isTicketId = (text: string): boolean =>
  TICKET_ID.test(text) &&
  !text.includes('..') &&
  !text.endsWith('.') &&
  !/\.lock$/i.test(text) &&
  !/^store\.git$/i.test(text) &&
  !RESERVED.test(text);

export const requireTicketId = (text: string): string => {
  if (isTicketId(text)) return text;
  throw new Problem({
    kind: 'usage',
    message: `ticket id ${JSON.stringify(text)} is not allowed`,
    next: 'use 1 to 64 letters, digits, ".", "_" or "-", starting with a letter or digit, e.g. `--ticket 320`',
  });
};

/** A ticket as its source gave it. */
export interface Ticket {
  readonly id: string;
  readonly title: string;
  readonly labels: readonly string[];
  readonly acceptance: readonly string[];
  readonly body: string;
}
