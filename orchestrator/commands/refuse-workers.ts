import { Problem } from '../model/failure.js';
import type { Session } from './session.js';

/**
 * A person's word does not come from an agent: it is never the notary of its own handwriting. The marker can be taken off;
 * the sandbox of a worker cannot.
 * @param what begins the sentence, e.g. "an approval"
 */
export const refuseWorkers = (session: Session, what: string): void => {
  if (session.io.env['ORCHESTRATE_CHILD'] === undefined) return;
  throw new Problem({
    kind: 'evidence-refused',
    message: `${what} cannot come from inside a worker`,
    next: 'a person answers, from a shell that no worker started',
  });
};
