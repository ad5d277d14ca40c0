import { existsSync, readdirSync } from 'node:fs';
import type { ProcessIdentity } from '../model/child.js';
import { Problem } from '../model/failure.js';
import { emptyRun, targetState, type RunState } from '../machine/run-state.js';
import { readClaim } from '../process/child-folder.js';
import { findByArgument } from '../process/process-table.js';
import { liveness } from '../state/identity.js';
import { boot } from '../record/boot.js';
import { runDirectory, ticketsWithRuns, type RunDirectory } from '../state/run-dir.js';

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

/** Children that can reach what the user can. Of a record that cannot be read it is not known which are contained. */
const exposedChildren = (directory: RunDirectory, run: RunState | undefined) => {
  const sandboxed = new Set(
    [...(run?.targets.values() ?? [])].flatMap(({ context }) =>
      context.containment?.tier === 'sandbox' && context.child !== undefined ? [context.child] : [],
    ),
  );
  return liveChildren(directory, run ?? emptyRun(directory.ticket)).filter(
    ({ child }) => !sandboxed.has(child),
  );
};

/** Other tickets of the repository of which something runs; their journals are not read for more than that. */
const otherTickets = (mainRoot: string, { ticket }: RunDirectory): readonly RunDirectory[] =>
  ticketsWithRuns(mainRoot)
    .filter((name) => name !== ticket)
    .map((name) => runDirectory(mainRoot, name))
    .filter((directory) => exposedChildren(directory, undefined).length > 0);

const bootedRun = (directory: RunDirectory, key: Uint8Array): RunState | undefined => {
  try {
    return boot(directory, key).run;
  } catch {
    return undefined;
  }
};

export interface Answering {
  readonly mainRoot: string;
  readonly directory: RunDirectory;
  readonly run: RunState;
  readonly key: Uint8Array;
}

/** The first child of these that can reach what the user can, in words. */
const exposedIn = (
  places: readonly (readonly [RunDirectory, RunState | undefined])[],
): { readonly ticket: string; readonly what: string } | undefined => {
  for (const [where, state] of places) {
    const [first] = exposedChildren(where, state);
    if (first === undefined) continue;
    const { ticket } = where;
    const what = `a worker without a sandbox is alive: \`${first.child}\` of ticket \`${ticket}\` (process ${first.pid})`;
    return { ticket, what };
  }
  return undefined;
};

const elsewhere = ({ mainRoot, directory, key }: Omit<Answering, 'run'>) =>
  otherTickets(mainRoot, directory).map((other) => [other, bootedRun(other, key)] as const);

/** A worker of another ticket that can reach what the user can, in words; `undefined` when there is none. */
export const exposedElsewhere = (of: Omit<Answering, 'run'>): string | undefined =>
  exposedIn(elsewhere(of))?.what;

/**
 * While a worker is alive that can reach what the user can, an answer could be its own; also one of another ticket.
 * @throws `Problem` `evidence-refused` that names it
 */
export const requireNoExposedWorker = ({ run, ...of }: Answering): void => {
  const exposed = exposedIn([[of.directory, run], ...elsewhere(of)]);
  if (exposed === undefined) return;
  const { ticket, what } = exposed;
  throw new Problem({
    kind: 'evidence-refused',
    message: `an answer does not count while ${what}`,
    next: `\`orchestrate stop --ticket ${ticket}\` ends it, or wait until \`orchestrate run --ticket ${ticket}\` has; then answer`,
  });
};
