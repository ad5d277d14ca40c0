/** What is left of one ticket when its runs have ended: all that a row is judged by. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runForText } from '../git/git.js';
import type { ContainmentRecord, JournalLine, Receipt, RunEvent } from '../model/event.js';
import type { Target } from '../model/pipeline.js';
import { runDirectory } from '../state/run-dir.js';
import { LOG_FILE, type Deeds } from '../../workers/hostile/steps.js';
import type { Arena } from './arena.js';
import type { Called } from './drive.js';
import type { Ground } from './ground.js';
import { linesOf } from './journal-events.js';
import type { Subject } from './subject.js';

export type Tier = ContainmentRecord['tier'];

/** Something that went wrong, as the record or the binary says it. */
export interface Refused {
  readonly kind: string;
  readonly message: string;
  /** Of the journal; absent for what was only printed. */
  readonly target?: string;
  readonly attempt?: number;
}

export interface Seen {
  readonly arena: Arena;
  readonly subject: Subject;
  readonly ticket: string;
  readonly lines: readonly JournalLine[];
  readonly events: readonly RunEvent[];
  readonly calls: readonly Called[];
  readonly refused: readonly Refused[];
  /** What the workers really did. */
  readonly deeds: readonly Deeds[];
  /** `artifacts/branch.diff`. */
  readonly diff: string;
  /** What the last diff was sealed with. */
  readonly sealed: Receipt | undefined;
  /** Tree of the commit that the ticket's branch is at; `undefined` without one. */
  readonly committed: string | undefined;
  /** The remote has the ticket's branch. */
  readonly pushed: boolean;
  readonly tierOf: (target: Target | undefined) => Tier;
}

/** The logs of all children of a ticket, those that were forged included. */
const deedsIn = (children: string): readonly Deeds[] =>
  (existsSync(children) ? readdirSync(children) : []).flatMap((name) => {
    const path = join(children, name, 'out', LOG_FILE);
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as Deeds);
  });

const refusalsIn = (events: readonly RunEvent[], calls: readonly Called[]): readonly Refused[] => [
  ...events.flatMap((event): Refused[] =>
    event.type === 'target.failed'
      ? [{ kind: event.kind, message: event.message, target: event.target, attempt: event.attempt }]
      : [],
  ),
  ...calls.flatMap(({ failure }): Refused[] =>
    failure === undefined ? [] : [{ kind: failure.kind, message: failure.message }],
  ),
];

const textAt = (path: string): string => (existsSync(path) ? readFileSync(path, 'latin1') : '');

/** A ref as it lies there: nothing packs them in a throw-away repository. */
const refAt = (gitDir: string, ref: string): string | undefined => {
  const text = textAt(join(gitDir, ref)).trim();
  return text === '' ? undefined : text;
};

const treeOf = async ({ git }: Ground, gitDir: string, commit: string): Promise<string | undefined> => {
  const answer = await runForText(git, { args: ['rev-parse', `${commit}^{tree}`], gitDir });
  return answer.ok ? answer.value : undefined;
};

export const lookAt = async (
  ground: Ground,
  arena: Arena,
  ticket: string,
  calls: readonly Called[],
): Promise<Seen> => {
  const { subject } = ground;
  const directory = runDirectory(arena.repo, ticket);
  const lines = linesOf(directory.journal);
  const events = lines.map(({ event }) => event);
  const branch = `refs/heads/${subject.pipeline.settings.branch.replaceAll('{ticket}', ticket)}`;
  const gitDir = join(arena.repo, '.git');
  const commit = refAt(gitDir, branch);
  const tiers = new Map(
    events.flatMap((event) =>
      event.type === 'target.started' && event.containment !== undefined
        ? [[event.target, event.containment.tier] as const]
        : [],
    ),
  );
  return {
    arena,
    subject,
    ticket,
    lines,
    events,
    calls,
    refused: refusalsIn(events, calls),
    deeds: deedsIn(directory.children),
    diff: textAt(join(directory.artifacts, 'branch.diff')),
    sealed: events.flatMap((event) => (event.type === 'work.sealed' ? (event.receipt ?? []) : [])).at(-1),
    committed: commit === undefined ? undefined : await treeOf(ground, gitDir, commit),
    pushed: refAt(arena.remote, branch) !== undefined,
    tierOf: (target) => tiers.get(target?.name ?? '') ?? 'same-user',
  };
};
