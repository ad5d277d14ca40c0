import { join } from 'node:path';
import { replaceFile } from '../state/files.js';
import { ticketDocument } from '../state/documents.js';
import { copyIgnored } from '../effects/ignored.js';
import { readTicketFile } from './ticket-file.js';
import { ticketText } from './ticket-text.js';
import { doneWith, type BuiltinEffect } from './result.js';

/** Target 1: the ticket, the base commit, the private store, the branch and the worker's tree. */
export const ticket: BuiltinEffect = async (run) => {
  const source = readTicketFile(run.paths.root, run.pipeline.settings.tickets.path, run.ticket);
  const workspace = await run.workspace();
  const { notes, ...found } = await workspace.prepare(source.ticket);
  const copied = found.tree === undefined ? [] : copyIgnored(run, found.tree);
  const facts = { ...found, ticket: source.ticket, ticketDigest: source.digest };
  replaceFile(join(run.recorder.directory.artifacts, 'ticket.md'), ticketText(source.ticket), {
    sync: true,
    mode: 0o444,
  });
  return doneWith(
    { ticket: source.digest, base: found.base },
    [
      source.ticket.title,
      `base ${found.baseBranch ?? '(detached)'} at ${found.base?.slice(0, 12) ?? ''}, branch ${found.branch ?? ''}`,
      ...(copied.length === 0 ? [] : [`copied from your checkout: ${copied.join(', ')}`]),
      ...notes,
    ],
    {
      facts,
      documents: [{ name: '10_ticket.md', text: ticketDocument(run.recorder.run.epoch, facts) }],
    },
  );
};
