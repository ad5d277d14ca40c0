import type { LeftBehind } from '../model/event.js';
import { factOf, type RunState } from './run-state.js';

const known = <K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> =>
  value === undefined ? {} : ({ [key]: value } as Record<K, V>);

/** Where git is left now: by this epoch, else by the ones before, as long as they meant the same branch and remote. */
export const leftBehind = (run: RunState): LeftBehind | undefined => {
  const branch = factOf(run, 'branch') ?? run.left?.branch;
  if (branch === undefined) return undefined;
  const before: Partial<LeftBehind> = run.left?.branch === branch ? run.left : {};
  const remoteUrl = factOf(run, 'remoteUrl') ?? before.remoteUrl;
  return {
    branch,
    ...known('remoteUrl', remoteUrl),
    ...known('commit', publishedCommit(run) ?? before.commit),
    ...known('pushed', factOf(run, 'pushed') ?? (before.remoteUrl === remoteUrl ? before.pushed : undefined)),
    ...known('landed', factOf(run, 'landed') ?? before.landed),
  };
};

/** Where nothing was to be committed the fact is the base, and no branch was written. */
const publishedCommit = (run: RunState): string | undefined => {
  const commit = factOf(run, 'commit');
  return commit === factOf(run, 'base') ? undefined : commit;
};

/**
 * Old values under which the ticket's branch may be moved here, the likeliest first; `undefined`: it must not exist, which
 * after a rebuild is as good: who deleted it, after it had landed perhaps, has nothing there that could be lost.
 */
export const expectedHere = (run: RunState): readonly (string | undefined)[] => {
  const commit = leftBehind(run)?.commit;
  return run.left === undefined || commit === undefined ? [commit] : [commit, undefined];
};

/** The same on the remote. What an earlier epoch had committed counts too: its push may have arrived without our knowing. */
export const expectedOnRemote = (run: RunState): readonly (string | undefined)[] => {
  const now = leftBehind(run);
  if (run.left === undefined) return [now?.pushed];
  const before = run.left.branch === now?.branch ? run.left.commit : undefined;
  return [...new Set([now?.pushed, before, undefined])];
};

/** The target that found the base commit, if one did. */
export const baseMaker = (run: RunState): string | undefined =>
  [...run.targets].find(([, { context }]) => context.facts?.base !== undefined)?.[0];
