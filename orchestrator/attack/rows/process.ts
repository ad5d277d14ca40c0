/** Processes that outlive their worker, or its patience. */
import { deedsOf, isApproved, judged, type Play, type Row } from '../play.js';
import type { Seen } from '../seen.js';
import { criticOf } from './critic.js';

const leftBehind: Row = {
  id: '16a',
  name: 'process in a session of its own that outlives the builder',
  channel: 'process',
  by: 'diff',
  judge: judged({
    id: '16a',
    by: 'diff',
    harm: (seen) => (isStillThere(seen, '16a') ? 'it was alive when the critic was asked' : undefined),
    refusal: (seen) =>
      wasAsked(seen)
        ? { by: containmentOf(seen), reason: `it was ended with its worker (${leftoversOf(seen)} left over)` }
        : undefined,
  }),
};

/** It is accepted: nothing is wrong with the verdict, only with how long one would wait for it. */
const holding: Row = {
  id: '17',
  name: 'grandchild that keeps the standard output of the critic open',
  channel: 'stdout',
  by: 'review',
  judge: judged({
    id: '17',
    by: 'review',
    harm: (seen) => (waitedFor(seen) ? 'the run waited until it let go' : undefined),
    refusal: (seen) =>
      isApproved(seen) ? { by: 'W wait', reason: 'the end of the critic was taken without it' } : undefined,
  }),
};

/** Whoever is still there when the critic starts says so. */
const wasAsked = ({ events, subject }: Seen): boolean =>
  events.some((event) => event.type === 'child.ended' && event.target === subject.review?.name);

const isStillThere = (seen: Seen, id: string): boolean =>
  deedsOf(seen, id).some((deed) => deed.do === 'late' && deed.outcome === 'done');

const containmentOf = (seen: Seen): string =>
  seen.tierOf(seen.subject.diff) === 'sandbox' ? 'S sandbox (process ids of its own)' : 'W containment';

const leftoversOf = ({ events, subject }: Seen): number =>
  events.flatMap((event) =>
    event.type === 'child.ended' && event.target === subject.diff?.name ? [event.leftovers] : [],
  )[0] ?? 0;

const HELD_MS = 3_000;

const waitedFor = ({ lines, deeds, subject }: Seen): boolean => {
  const ended = lines.find(
    ({ event }) => event.type === 'child.ended' && event.target === subject.review?.name,
  );
  const begun = deeds.find(({ row }) => row === '17');
  return ended !== undefined && begun !== undefined && Date.parse(ended.at) - begun.at >= HELD_MS;
};

const outliving: Play = {
  name: 'outliving',
  needs: ['diff', 'review'],
  rows: [leftBehind, holding],
  cast: (subject) => ({
    diff: [
      {
        after: [{ row: '16a', do: 'leave', hidden: false, late: { do: 'speak', child: criticOf(subject) } }],
      },
    ],
    review: [{ before: [{ row: '17', do: 'leave', hidden: true, late: { do: 'hold', forMs: HELD_MS } }] }],
  }),
};

export const processPlays: readonly Play[] = [outliving];
