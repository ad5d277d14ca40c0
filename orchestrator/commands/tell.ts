import { Problem } from '../model/failure.js';
import { writeDirective } from '../state/inbox.js';
import { printJson } from './io.js';
import { refuseWorkers } from './refuse-workers.js';
import { existingRun, oneTicket, repositoryOf, type Session } from './session.js';

/** A directive travels whole in a prompt. */
const DIRECTIVE_BYTES = 8_192;

/** `tell`: durable when it returns; needs no lock, so it works while a worker runs. */
export const tell = (session: Session): number => {
  refuseWorkers(session, 'a directive');
  const paths = repositoryOf(session);
  const ticket = oneTicket(session);
  const text = (session.request.text ?? '').trim();
  if (text === '')
    throw new Problem({
      kind: 'usage',
      message: 'there is nothing to tell',
      next: `orchestrate tell --ticket ${ticket} "what the next worker must know"`,
    });
  if (Buffer.byteLength(text) > DIRECTIVE_BYTES) {
    throw new Problem({
      kind: 'usage',
      message: `a directive has at most ${DIRECTIVE_BYTES} bytes`,
      next: 'put the long text into a file of the repository and name it',
    });
  }
  const directory = existingRun(session, paths, ticket);
  const { id, path, digest } = writeDirective(directory.inbox, `${text}\n`);
  if (session.request.json) printJson(session.io, { ticket, id, path, digest });
  else session.io.stdout(`directive ${id} is on disk; the next worker of ticket ${ticket} gets it\n`);
  return 0;
};
