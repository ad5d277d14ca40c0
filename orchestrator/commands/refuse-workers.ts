import { Problem } from '../model/failure.js';
import { MARKER, markerOfAncestors } from '../process/process-table.js';
import type { Session } from './session.js';

/**
 * A person's word does not come from an agent: it is never the notary of its own handwriting. A worker can take the marker off
 * itself, so its ancestors are asked too; a sandbox it cannot take off.
 * @param what begins the sentence, e.g. "an approval"
 */
export const refuseWorkers = (session: Session, what: string): void => {
  if (session.io.env[MARKER] === undefined && markerOfAncestors() === undefined) return;
  throw new Problem({
    kind: 'evidence-refused',
    message: `${what} cannot come from inside a worker`,
    next: 'a person answers, from a shell that no worker started',
  });
};
