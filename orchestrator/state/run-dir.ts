import { join } from 'node:path';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { isTicketId } from '../model/ticket.js';
import { replaceFile, syncFolder } from './files.js';

/** The five documents, in the order in which they are read. */
export const DOCUMENTS = [
  '00_governance.md',
  '10_ticket.md',
  '20_plan_approved.md',
  '30_critic_summary.md',
  '99_next_action.md',
] as const;

export type DocumentName = (typeof DOCUMENTS)[number];

/** Names of everything in a run directory. Nothing is created by naming it. */
export interface RunDirectory {
  readonly ticket: string;
  readonly path: string;
  readonly state: string;
  readonly journal: string;
  readonly checkpoint: string;
  /** See `record/rest`. */
  readonly rest: string;
  readonly inbox: string;
  readonly children: string;
  readonly artifacts: string;
  /** Link to the worker's own clone. */
  readonly tree: string;
  readonly document: (name: DocumentName) => string;
  readonly child: (name: string) => string;
}

export const stateFolder = (mainRoot: string): string => join(mainRoot, '.orchestrate');

export const storePath = (mainRoot: string): string => join(stateFolder(mainRoot), 'store.git');

/** Index of the snapshots of a ticket's tree. A cache: it is made again from the base when it is missing. */
export const indexPath = (mainRoot: string, ticket: string): string =>
  join(storePath(mainRoot), `index-${ticket}`);

export const runDirectory = (mainRoot: string, ticket: string): RunDirectory => {
  const path = join(stateFolder(mainRoot), ticket);
  const state = join(path, 'state');
  const children = join(path, 'children');
  return {
    ticket,
    path,
    state,
    journal: join(path, 'journal.jsonl'),
    checkpoint: join(path, 'checkpoint.json'),
    rest: join(path, 'rest.bin'),
    inbox: join(path, 'inbox'),
    children,
    artifacts: join(path, 'artifacts'),
    tree: join(path, 'tree'),
    document: (name) => join(state, name),
    child: (name) => join(children, name),
  };
};

/**
 * Makes the folders of a run; `.orchestrate` ignores itself, so that the user's `git status` stays as it was.
 * Only the way to the journal has to survive a power cut: what is below can be made again.
 */
export const makeRunDirectory = (mainRoot: string, run: RunDirectory): void => {
  const root = stateFolder(mainRoot);
  const isNew = !existsSync(run.path);
  for (const folder of [run.state, run.inbox, run.children, run.artifacts])
    mkdirSync(folder, { recursive: true });
  const ignore = join(root, '.gitignore');
  if (!existsSync(ignore)) replaceFile(ignore, '*\n', { sync: false });
  if (isNew) syncFolder(root);
};

/** Name of a child's folder: `03-implementation-diff.2`. */
export const childName = (number: number, target: string, generation: number): string =>
  `${String(number).padStart(2, '0')}-${target}.${generation}`;

/** Tickets that have a run directory with a journal, in lexical order. */
export const ticketsWithRuns = (mainRoot: string): string[] => {
  const root = stateFolder(mainRoot);
  if (!existsSync(root)) return [];
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && isTicketId(entry.name))
    .map((entry) => entry.name)
    .filter((name) => existsSync(join(root, name, 'journal.jsonl')))
    .toSorted();
};
