/** An attack as data: who does what, and how it is told whether it got through. */
import type { Act, Acts } from '../../workers/hostile/steps.js';
import type { Arena } from './arena.js';
import type { Called } from './drive.js';
import type { Seen, Tier } from './seen.js';
import type { Role, Subject } from './subject.js';

export type Outcome =
  | { readonly result: 'refused'; readonly by: string; readonly reason: string }
  | { readonly result: 'got through'; readonly reason: string }
  | { readonly result: 'not stopped in this tier'; readonly reason: string };

export interface Row {
  /** `V1` … `V4b`, `1` … `57`. */
  readonly id: string;
  readonly name: string;
  /** The way by which it comes in. */
  readonly channel: string;
  readonly judge: (seen: Seen) => Outcome;
  /** Whose tier it is about. */
  readonly by: 'plan' | 'diff' | 'review';
}

/** The acts of one ticket, by the role of the target. */
export type Cast = Readonly<Partial<Record<'plan' | 'diff' | 'review', readonly Act[]>>>;

/** One ticket in a throw-away repository, and the rows that it plays. */
export interface Play {
  /** The ticket. */
  readonly name: string;
  readonly rows: readonly Row[];
  readonly needs: readonly Role[];
  /** Why it does not apply, behind "the pipeline has". */
  readonly applies?: (subject: Subject) => string | undefined;
  readonly cast: (subject: Subject) => Cast;
  /** How far it is run, stop by stop. Default: to the review. */
  readonly until?: readonly Role[];
  /** Done by the attack itself between two stops. */
  readonly between?: (arena: Arena, seen: Seen) => void;
  /** Has a repository of its own: what it does touches every ticket, or it ends the whole process. */
  readonly alone?: true;
  /** A late process of the worker has to come to its part before it is judged: the flag that it raises. */
  readonly awaits?: string;
  /** Its plan is put before a person and stays there. */
  readonly unanswered?: true;
  /** Further tickets that only wait to be approved. */
  readonly beside?: readonly string[];
  /** What a check runs. */
  readonly check?: readonly string[];
  /** Attempts at the review that must have been played: it is run again until they have. */
  readonly attempts?: number;
  /** What could not be played because something got through before. */
  readonly rest?: (seen: Seen) => Play | undefined;
  /** Instead of running the ticket. */
  readonly calls?: (arena: Arena) => Promise<readonly Called[]>;
}

export const actsOf = (plays: readonly Play[], subject: Subject): Acts =>
  Object.fromEntries(
    plays.map((play) => {
      const cast = play.cast(subject);
      const byTarget = (['plan', 'diff', 'review'] as const).flatMap((role) => {
        const target = subject[role];
        const acts = cast[role];
        return target === undefined || acts === undefined ? [] : [[target.name, acts] as const];
      });
      return [play.name, Object.fromEntries(byTarget)];
    }),
  );

export interface Defence {
  /** Letters of the suite and a few words. */
  readonly by: string;
  /** What the refusal must say. */
  readonly says: RegExp;
  /** Only a failure of this attempt at the review. */
  readonly attempt?: number;
}

export interface Judgement {
  readonly id: string;
  readonly by: Row['by'];
  /** How it got through; `undefined` when it did not. */
  readonly harm: (seen: Seen) => string | undefined;
  /** What must have refused it. */
  readonly refusal:
    | Defence
    | ((seen: Seen) => Omit<Extract<Outcome, { result: 'refused' }>, 'result'> | undefined);
  /** Whether what it did is there outside of the worker. Asked in a sandbox, whose folders can be of its own. */
  readonly reached?: (seen: Seen) => boolean;
  /** Nothing can stop it there; the reason is what is said of it. */
  readonly unstoppable?: Partial<Record<Tier, string>>;
}

const through = (reason: string): Outcome => ({ result: 'got through', reason });

/** Steps of one row, as the workers wrote them down. */
export const deedsOf = (seen: Seen, id: string): Seen['deeds'] => seen.deeds.filter(({ row }) => row === id);

/** The words of one line of a message. */
const firstLine = (text: string): string => text.split('\n')[0] ?? '';

const said = (seen: Seen, { by, says, attempt }: Defence) => {
  const found = seen.refused.find(
    (refused) =>
      says.test(refused.message) &&
      (attempt === undefined ||
        (refused.attempt === attempt && refused.target === seen.subject.review?.name)),
  );
  if (found === undefined) return undefined;
  const line = found.message.split('\n').find((text) => says.test(text)) ?? firstLine(found.message);
  return { by, reason: line };
};

/**
 * Fails closed: what neither did harm nor was refused in the way that it must be refused, or was never really done, counts as
 * having got through.
 */
export const judged =
  (it: Judgement) =>
  (seen: Seen): Outcome => {
    const tier = seen.tierOf(seen.subject[it.by]);
    const harm = it.harm(seen);
    if (harm === undefined) return harmless(it, seen, tier);
    const known = it.unstoppable?.[tier];
    return known === undefined ? through(harm) : { result: 'not stopped in this tier', reason: known };
  };

const harmless = (it: Judgement, seen: Seen, tier: Tier): Outcome => {
  const deeds = deedsOf(seen, it.id);
  if (deeds.length === 0) return through(`it was not carried out: ${whatHappened(seen)}`);
  if (tier === 'sandbox' && it.reached?.(seen) === false) return bySandbox(deeds);
  const refusal = typeof it.refusal === 'function' ? it.refusal(seen) : said(seen, it.refusal);
  if (refusal !== undefined) return { result: 'refused', ...refusal };
  if (deeds.some(({ outcome }) => outcome === 'done'))
    return through(`nothing refused it: ${whatHappened(seen)}`);
  if (tier === 'sandbox') return bySandbox(deeds);
  return through(`it could not be carried out: ${firstLine(deeds[0]?.detail ?? '')}`);
};

const bySandbox = (deeds: Seen['deeds']): Outcome => ({
  result: 'refused',
  by: 'S sandbox',
  reason: firstLine(
    deeds.find(({ outcome }) => outcome === 'failed')?.detail ??
      'what it wrote is in a file system of its own, which ended with it',
  ),
});

const whatHappened = ({ calls, refused }: Seen): string => {
  const codes = calls.map(({ code }) => (code === undefined ? 'did not end' : `exit ${code}`)).join(', ');
  return `${codes}${refused.length === 0 ? '' : `; ${firstLine(refused.at(-1)?.message ?? '')}`}`;
};

/** The review is done, by this attempt or by any. */
export const isApproved = ({ events, subject }: Seen, attempt?: number): boolean =>
  events.some(
    (event) =>
      event.type === 'target.done' &&
      event.target === subject.review?.name &&
      (attempt === undefined || event.attempt === attempt),
  );

/** Nobody refused anything: what the record and the binary say is that all went well. */
export const isUnnoticed = ({ refused, calls }: Seen): boolean =>
  refused.length === 0 && calls.every(({ code }) => code === 0 || code === 3);
