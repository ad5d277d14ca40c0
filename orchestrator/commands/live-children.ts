import { existsSync, readdirSync } from 'node:fs';
import type { ProcessIdentity } from '../model/child.js';
import { Problem } from '../model/failure.js';
import { targetState, type RunState } from '../machine/run-state.js';
import { readClaim } from '../process/child-folder.js';
import { findByArgument } from '../process/process-table.js';
import { liveness } from '../state/identity.js';
import type { RunDirectory } from '../state/run-dir.js';

/** The process of a child's folder, while it may be alive. */
const processOf = (directory: RunDirectory, child: string): ProcessIdentity | undefined => {
  const claim = readClaim(directory.child(child));
  if (claim.kind === 'void') return undefined;
  if (claim.kind === 'claimed') return liveness(claim.identity) === 'dead' ? undefined : claim.identity;
  // Its reaper is on its way, or ended before it had written who it is.
  return findByArgument(directory.child(child));
};

/**
 * Children of the run whose process is still there, or cannot be shown to be gone. A folder without a claim counts only
 * when the record has its child running: looking for it means looking at every process.
 */
export const liveChildren = (
  directory: RunDirectory,
  run: RunState,
): { readonly child: string; readonly pid: number }[] => {
  const running = new Set(
    [...run.targets.keys()]
      .map((name) => targetState(run, name))
      .flatMap(({ value, context }) => (value === 'running' ? [context.child] : [])),
  );
  const folders = existsSync(directory.children) ? readdirSync(directory.children).toSorted() : [];
  return folders
    .filter((child) => running.has(child) || readClaim(directory.child(child)).kind === 'claimed')
    .flatMap((child) => {
      const found = processOf(directory, child);
      return found === undefined ? [] : [{ child, pid: found.pid }];
    });
};

/** @throws `Problem` that names every child that is alive */
export const requireNoLiveChild = (directory: RunDirectory, run: RunState): void => {
  const alive = liveChildren(directory, run);
  if (alive.length === 0) return;
  const names = alive.map(({ child, pid }) => `\`${child}\` (process ${pid})`).join(', ');
  throw new Problem({
    kind: 'busy',
    message: `${alive.length === 1 ? 'a child' : 'children'} of ticket \`${run.ticket}\` may still be alive: ${names}`,
    next: `\`orchestrate stop --ticket ${run.ticket}\` ends it, \`orchestrate run --ticket ${run.ticket}\` waits for it again`,
  });
};
