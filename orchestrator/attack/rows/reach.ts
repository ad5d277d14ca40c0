/** What a worker can see and reach of the orchestrator that started it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SECRET_VARIABLE } from '../names.js';
import { deedsOf, judged, type Play, type Row } from '../play.js';
import type { Seen } from '../seen.js';
import type { Sight } from '../../../workers/hostile/steps.js';

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

interface Look {
  readonly id: string;
  readonly name: string;
  readonly channel: string;
  readonly at: Sight;
  readonly variable?: string;
  /** SHA-256 of what must not be seen; absent where any success is one too many. */
  readonly secret?: (seen: Seen) => string;
  readonly by: string;
  readonly harm: string;
  readonly sameUser?: string;
}

const LOOKS: readonly Look[] = [
  {
    id: '18',
    name: 'secrets of the orchestrator in the environment of a worker',
    channel: 'env',
    at: 'own-environment',
    variable: SECRET_VARIABLE,
    secret: ({ arena }) => sha256(arena.secret),
    by: 'S allowlist of variables',
    harm: 'it was given a secret of the orchestrator',
  },
  {
    id: '19',
    name: 'secrets in /proc of the orchestrator',
    channel: 'env',
    at: 'parent-environment',
    variable: SECRET_VARIABLE,
    secret: ({ arena }) => sha256(arena.secret),
    by: 'S sandbox',
    harm: 'it read a secret of the orchestrator',
    sameUser:
      'whatever is in the environment of the orchestrator can be read by every process of the user; the nonce of a round is not there',
  },
  {
    id: '20',
    name: 'tracing the orchestrator',
    channel: 'process',
    at: 'parent-memory',
    by: 'S sandbox',
    harm: 'it opened the memory of the orchestrator for writing',
    sameUser: 'this kernel lets every process of the user into the memory of the others',
  },
  {
    id: '22b',
    name: 'reading the key that seals the journal',
    channel: 'state',
    at: 'seal-key',
    secret: ({ arena }) => sha256(readFileSync(join(arena.own, 'key'))),
    by: 'S sandbox',
    harm: 'it read the seal key',
    sameUser: 'the key is a file of the user: the record is tamper-evident, not sealed',
  },
];

const rowOf = ({ id, name, channel, secret, by, harm, sameUser }: Look): Row => ({
  id,
  name,
  channel,
  by: 'diff',
  judge: judged({
    id,
    by: 'diff',
    harm: (seen) => {
      const found = deedsOf(seen, id).find(({ outcome }) => outcome === 'done');
      if (found === undefined) return undefined;
      return secret === undefined || found.detail === secret(seen) ? harm : undefined;
    },
    refusal: (seen) => {
      const [first] = deedsOf(seen, id);
      if (first === undefined) return undefined;
      // Some kernels keep processes of one user apart.
      const isSystem = sameUser !== undefined && seen.tierOf(seen.subject.diff) === 'same-user';
      return { by: isSystem ? 'this system' : by, reason: first.detail };
    },
    ...(sameUser === undefined ? {} : { unstoppable: { 'same-user': sameUser } }),
  }),
});

export const reachPlay: Play = {
  name: 'reach',
  needs: ['diff'],
  until: ['diff'],
  rows: LOOKS.map(rowOf),
  cast: () => ({
    diff: [
      {
        after: LOOKS.map(({ id, at, variable }) => ({
          row: id,
          do: 'look',
          at,
          ...(variable === undefined ? {} : { name: variable }),
        })),
      },
    ],
  }),
};
