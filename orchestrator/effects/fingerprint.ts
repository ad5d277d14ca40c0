/**
 * What decides how git behaves in the user's repository and in the private store, as one digest: taken before a fork and after
 * its wait, in every tier. Branches, the index and objects are not in it: people work meanwhile, and what is made of them is
 * compared where it is used.
 */
import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainmentRecord } from '../model/event.js';
import { digestOf, digestOfValue, type Digest } from '../model/digest.js';
import { storePath } from '../state/run-dir.js';
import type { FailureFacts, TicketRun } from './ticket-run.js';

/** Relative to a git directory. A folder stands for the files in it. */
const ADMINISTRATION = [
  'config',
  'config.worktree',
  'commondir',
  'hooks',
  'info/attributes',
  'info/exclude',
  'info/grafts',
  'info/sparse-checkout',
  'objects/info/alternates',
  'refs/replace',
] as const;

/** Of the user, relative to the home folder. */
const USER = ['.gitconfig', '.config/git/config', '.config/git/attributes', '.config/git/ignore'] as const;

const MOST_FILES = 2_000;

/** Mode and bytes of a file, target of a link, entries of a folder; `undefined` when it is not there. */
const seen = (path: string, left: { files: number }): unknown => {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  left.files -= 1;
  if (left.files < 0) return 'too many files';
  try {
    if (stat.isSymbolicLink()) return { link: readlinkSync(path) };
    if (stat.isFile()) return { mode: stat.mode & 0o777, bytes: digestOf(readFileSync(path)) };
    if (!stat.isDirectory()) return { special: stat.mode };
    return readdirSync(path)
      .toSorted()
      .map((name) => [name, seen(join(path, name), left)]);
  } catch (error) {
    return { unreadable: (error as NodeJS.ErrnoException).code ?? 'unknown' };
  }
};

/** Files of the pipeline count where a worker could have written them: elsewhere an edit is the user's, who may. */
const places = (run: TicketRun, tier: ContainmentRecord['tier']): readonly string[] => {
  const { gitDir, mainRoot } = run.paths;
  const folders = [gitDir, storePath(mainRoot)];
  const home = run.env['HOME'];
  const paths = folders.flatMap((folder) => ADMINISTRATION.map((name) => join(folder, name)));
  const users = home === undefined ? [] : USER.map((name) => join(home, name));
  const sources = tier === 'sandbox' ? [] : run.pipeline.sources.map(({ path }) => path);
  return [...paths, ...users, ...sources];
};

type Seen = Readonly<Record<string, unknown>>;

/** In memory, so that a change can be named; a later process has only the digest. */
const taken = new Map<Digest, Seen>();

export const administrationOf = (run: TicketRun, tier: ContainmentRecord['tier']): Digest => {
  const left = { files: MOST_FILES };
  const found = Object.fromEntries(places(run, tier).map((path) => [path, seen(path, left)]));
  const digest = digestOfValue(found);
  taken.set(digest, found);
  return digest;
};

/**
 * What is wrong when the administration is not what it was at the fork; nothing of the child is believed then.
 * @param before as the start of the child has it in the record
 */
export const changedAdministration = (
  run: TicketRun,
  before: Digest | undefined,
  tier: ContainmentRecord['tier'],
): FailureFacts | undefined => {
  const now = before === undefined ? undefined : administrationOf(run, tier);
  if (before === undefined || now === undefined || now === before) return undefined;
  const [old, current] = [taken.get(before), taken.get(now)];
  const changed = Object.keys(current ?? {})
    .filter((path) => old !== undefined && JSON.stringify(old[path]) !== JSON.stringify(current?.[path]))
    .map((path) => `\`${path}\``);
  const what = changed.length === 0 ? 'its fingerprint differs' : changed.join(', ');
  return {
    kind: 'record-refused',
    message: `the administration of git, or the pipeline, was changed while a child was running: ${what}`,
    next: `nothing of that child was believed. Look at the change and undo it, unless it was yours; then \`orchestrate run --ticket ${run.ticket}\` starts another one`,
    canRetry: false,
  };
};
