import { readdirSync, watch } from 'node:fs';
import { isoTime } from '../model/clock.js';
import type { ProcessIdentity } from '../model/child.js';
import { Problem } from '../model/failure.js';
import { liveness, readProcessStat } from '../state/identity.js';
import { boot } from '../record/boot.js';
import { openRecorder } from '../record/recorder.js';
import { reattach } from '../process/reattach.js';
import type { StopReport } from '../process/stop.js';
import { sealKey } from '../state/home.js';
import { lockHolder, takeLock } from '../state/lock.js';
import type { RunDirectory } from '../state/run-dir.js';
import { printJson } from './io.js';
import { childIdentity } from './status.js';
import { recordedFile } from './boot-run.js';
import { existingRun, oneTicket, pipelineFor, repositoryOf, type Session } from './session.js';

/** How long the holder may take to end its children: their grace and some more. */
const HOLDER_MS = 15_000;

/**
 * `stop`: asks the process that runs the ticket to end (TERM), waits until it is gone, then looks for every child of the
 * run itself and ends what is left. Success is said only of what was seen.
 */
export const stop = async (session: Session): Promise<number> => {
  const paths = repositoryOf(session);
  const ticket = oneTicket(session);
  const directory = existingRun(session, paths, ticket);
  const holder = lockHolder(directory.path);
  const holderEnd = holder === undefined ? 'none' : await endHolder(directory, holder);
  if (holderEnd === 'alive') throw stillThere(ticket, holder);
  const report = await endChildren(session, directory);
  await recordStop(session, directory, report);
  const left = [...report.left, ...aliveChildren(directory)];
  if (session.request.json) {
    printJson(session.io, { ticket, holder: holder?.pid ?? null, ended: report.ended, left });
  } else if (left.length > 0) {
    session.io.stderr(
      `error: ${left.length} processes of ticket ${ticket} are still there: ${left.map(({ pid }) => pid).join(', ')}\n`,
    );
  } else {
    const ended = holder === undefined ? 'no process was running it' : `process ${holder.pid} has ended`;
    session.io.stdout(`ticket ${ticket} is stopped: ${ended}; no child of it is left\n`);
  }
  return left.length > 0 ? 1 : 0;
};

const stillThere = (ticket: string, holder: ProcessIdentity | undefined): Problem =>
  new Problem({
    kind: 'target-failed',
    message: `process ${holder?.pid ?? 0} runs ticket \`${ticket}\` and did not end when asked (is it suspended?)`,
    next: `\`kill -CONT ${holder?.pid ?? 0}\` wakes a suspended one; then stop again`,
  });

/** TERM by identity, then its end by events: the folder's change when it releases the lock, and a timer that looks again. */
const endHolder = async (directory: RunDirectory, holder: ProcessIdentity): Promise<'gone' | 'alive'> => {
  if (liveness(holder) !== 'alive') return 'gone';
  process.kill(holder.pid, 'SIGTERM');
  // A suspended one gets the signal when it is woken, and not before.
  if (readProcessStat(holder.pid)?.state === 'T') return 'alive';
  const deadline = performance.now() + HOLDER_MS;
  while (liveness(holder) === 'alive') {
    if (performance.now() > deadline) return 'alive';
    await changeOf(directory.path, 200);
  }
  return 'gone';
};

const changeOf = (folder: string, most: number): Promise<void> =>
  new Promise((resolve) => {
    const watcher = watch(folder, done);
    const timer = setTimeout(done, most);
    function done(): void {
      clearTimeout(timer);
      watcher.close();
      resolve();
    }
  });

const childNames = (directory: RunDirectory): string[] => readdirSync(directory.children).toSorted();

const aliveChildren = (directory: RunDirectory): ProcessIdentity[] => {
  const identity = childIdentity(directory);
  return childNames(directory)
    .map(identity)
    .filter((child) => child !== undefined)
    .filter((child) => liveness(child) === 'alive');
};

/** Every child whose process is still the one that its reaper wrote down. Nothing is found by name. */
const endChildren = async (session: Session, directory: RunDirectory): Promise<StopReport> => {
  const identity = childIdentity(directory);
  const alive = childNames(directory).filter((name) => {
    const child = identity(name);
    return child !== undefined && liveness(child) === 'alive';
  });
  const reports = await Promise.all(
    alive.map(async (name) => {
      const found = reattach(directory.child(name));
      return found.kind === 'child'
        ? found.handle.stop(`stop by ${session.io.env['USER'] ?? 'a person'}`)
        : { ended: 0, left: [] };
    }),
  );
  return {
    ended: alive.length + reports.reduce((sum, { ended }) => sum + ended, 0),
    left: reports.flatMap(({ left }) => left),
  };
};

/** Writes down that a person stopped it; the next `run` takes the ends of the children from their own records. */
const recordStop = async (session: Session, directory: RunDirectory, report: StopReport): Promise<void> => {
  const key = sealKey(session.home);
  const lock = takeLock(directory.path, directory.ticket, isoTime(session.clock));
  try {
    const booted = boot(directory, key);
    const { pipeline } = await pipelineFor(session, repositoryOf(session), recordedFile(booted));
    const recorder = openRecorder({ directory, key, booted, pipeline, clock: session.clock });
    recorder.record({
      type: 'run.stopped',
      by: `person ${session.io.env['USER'] ?? 'unknown'}`,
      left: report.left.length,
    });
    recorder.writeNextAction();
    recorder.close();
  } finally {
    lock.release();
  }
};
