import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../model/failure.js';
import { TAIL_LINES } from '../model/limits.js';
import { logLine, visibleLine } from '../model/text.js';
import { targetState, type RunState } from '../machine/run-state.js';
import { followLog } from '../process/follow.js';
import { readTail } from '../process/tail.js';
import { liveness } from '../state/identity.js';
import type { RunDirectory } from '../state/run-dir.js';
import { printJson } from './io.js';
import { childIdentity } from './status.js';
import { bootRun } from './boot-run.js';
import { existingRun, flagSet, flagText, oneTicket, repositoryOf, type Session } from './session.js';

/** More lines than a person reads at a time are a file, and the file's name is printed. */
const MOST_LINES = 1_000;

const lineCount = (session: Session): number => {
  const text = flagText(session, 'lines');
  const count = text === undefined ? TAIL_LINES : Number(text);
  if (Number.isSafeInteger(count) && count >= 1 && count <= MOST_LINES) return count;
  throw new Problem({
    kind: 'usage',
    message: `\`--lines ${text ?? ''}\` is not a number from 1 to ${MOST_LINES}`,
    next: 'open the log file itself for more',
  });
};

/** The child that was meant: the named target's last one, else the one that runs, else the last that was forked. */
const childOf = (run: RunState, directory: RunDirectory, target: string | undefined): string => {
  const byTarget = (name: string): string | undefined => targetState(run, name).context.child;
  if (target !== undefined) {
    const child = byTarget(target);
    if (child !== undefined) return child;
    throw new Problem({
      kind: 'usage',
      message: `target \`${target}\` has no child's output`,
      next: `\`orchestrate status --ticket ${run.ticket}\` lists the targets; those made in process have no log`,
    });
  }
  const running = [...run.targets.keys()].find(
    (name) => targetState(run, name).value === 'running' && byTarget(name) !== undefined,
  );
  const latest = running === undefined ? latestChild(run) : byTarget(running);
  if (latest !== undefined && existsSync(directory.child(latest))) return latest;
  const known = existsSync(directory.children) ? readdirSync(directory.children).length : 0;
  throw new Problem({
    kind: 'usage',
    message: `no child of ticket \`${run.ticket}\` has written anything (${known} folders)`,
    next: 'run it first',
  });
};

const latestChild = (run: RunState): string | undefined =>
  [...run.targets.values()]
    .filter(({ context }) => context.child !== undefined)
    .toSorted((a, b) => ((a.context.startedAt ?? '') < (b.context.startedAt ?? '') ? -1 : 1))
    .at(-1)?.context.child;

/** `logs`: a bounded read from the end, whatever the size of the file. */
export const logs = async (session: Session): Promise<number> => {
  const count = lineCount(session);
  const paths = repositoryOf(session);
  const directory = existingRun(session, paths, oneTicket(session));
  const { run } = bootRun(session, directory);
  const child = childOf(run, directory, session.request.target);
  const path = join(directory.child(child), flagSet(session, 'stderr') ? 'stderr.log' : 'stdout.log');
  const { lines, resumeAt } = readTail(path, count);
  if (session.request.json) {
    printJson(session.io, { ticket: run.ticket, child, path, lines });
    return 0;
  }
  session.io.stderr(`${child}: the last ${lines.length} lines of ${visibleLine(path)}\n`);
  for (const line of lines) session.io.stdout(`${logLine(line)}\n`);
  if (!flagSet(session, 'follow')) return 0;
  return follow(session, directory, { path, child, from: resumeAt });
};

interface Followed {
  readonly path: string;
  readonly child: string;
  readonly from: number;
}

const follow = async (
  session: Session,
  directory: RunDirectory,
  { path, child, from }: Followed,
): Promise<number> => {
  const stop = new AbortController();
  const unsubscribe = session.io.onSignal(() => stop.abort());
  try {
    for await (const lines of followLog(path, {
      signal: stop.signal,
      from,
      until: () => hasEnded(directory, child),
    })) {
      await session.io.show(lines);
      if (session.io.isClosed()) break;
    }
  } finally {
    unsubscribe();
  }
  return stop.signal.aborted ? 130 : 0;
};

/** Its end is written down, or its reaper is gone and never will: nothing more is coming. */
const hasEnded = (directory: RunDirectory, child: string): boolean => {
  if (existsSync(join(directory.child(child), 'exit.json'))) return true;
  const identity = childIdentity(directory)(child);
  return identity !== undefined && liveness(identity) === 'dead';
};
