import { userInfo } from 'node:os';
import { isoTime } from '../model/clock.js';
import { Problem } from '../model/failure.js';
import type { Pipeline } from '../model/pipeline.js';
import { oneLine } from '../model/text.js';
import { targetState, type RunState } from '../machine/run-state.js';
import { boot } from '../record/boot.js';
import { rebuildCommand } from '../record/next.js';
import { openRecorder, type Recorder } from '../record/recorder.js';
import { sealKey } from '../state/home.js';
import { takeLock } from '../state/lock.js';
import { fromHere } from './from-here.js';
import { printJson } from './io.js';
import { requireNoLiveChild } from './live-children.js';
import { recordedFile } from './boot-run.js';
import { existingRun, flagText, oneTicket, pipelineFor, repositoryOf, type Session } from './session.js';

/** `abandon`: a person gives up one target, or everything that is not done. The record and the tree stay. */
export const abandon = async (session: Session): Promise<number> => {
  const paths = repositoryOf(session);
  const ticket = oneTicket(session);
  const directory = existingRun(session, paths, ticket);
  const key = sealKey(session.home);
  const lock = takeLock(directory.path, ticket, isoTime(session.clock));
  try {
    const booted = boot(directory, key);
    requireNoLiveChild(directory, booted.run);
    const { pipeline } = await pipelineFor(session, paths, recordedFile(booted));
    const wanted = wantedTargets(session, pipeline, booted.run);
    const recorder = openRecorder({ directory, key, booted, pipeline, clock: session.clock });
    const fresh = wanted.filter((name) => targetState(booted.run, name).value !== 'abandoned');
    record(session, recorder, fresh);
    say(session, ticket, { fresh, already: wanted.filter((name) => !fresh.includes(name)) });
    return 0;
  } finally {
    lock.release();
  }
};

const record = (session: Session, recorder: Recorder, names: readonly string[]): void => {
  try {
    for (const target of names)
      recorder.record({ type: 'target.abandoned', target, because: reasonOf(session) });
    recorder.writeNextAction();
  } finally {
    recorder.close();
  }
};

const reasonOf = (session: Session): string => {
  const note = oneLine(flagText(session, 'note') ?? '');
  const by = `given up by person ${session.io.env['USER'] ?? userInfo().username}`;
  return note === '' ? by : `${by}: ${note}`;
};

/** The named target, or all that are not done, whether the pipeline still has them or not. */
const wantedTargets = (session: Session, pipeline: Pipeline, run: RunState): string[] => {
  const name = session.request.target ?? flagText(session, 'target');
  if (name !== undefined) return [requireAbandonable(pipeline, run, name)];
  const names = new Set([...pipeline.targets.map((target) => target.name), ...run.targets.keys()]);
  const open = [...names].filter((candidate) => targetState(run, candidate).value !== 'done');
  if (open.length > 0) return open;
  throw new Problem({
    kind: 'usage',
    message: `every target of ticket \`${run.ticket}\` is done: there is nothing to give up`,
    next: `\`orchestrate clean --ticket ${run.ticket}\` removes its tree`,
  });
};

const requireAbandonable = (pipeline: Pipeline, run: RunState, name: string): string => {
  if (!pipeline.targets.some((target) => target.name === name) && !run.targets.has(name)) {
    throw new Problem({
      kind: 'usage',
      message: `the pipeline has no target \`${name}\``,
      next: `\`orchestrate status --ticket ${run.ticket}\` lists them`,
    });
  }
  if (targetState(run, name).value !== 'done') return name;
  throw new Problem({
    kind: 'usage',
    message: `\`${name}\` is done: what was made cannot be given up`,
    next: `\`${rebuildCommand(run.ticket, name)}\` makes it again`,
  });
};

const say = (
  session: Session,
  ticket: string,
  { fresh, already }: { readonly fresh: readonly string[]; readonly already: readonly string[] },
): void => {
  if (session.request.json) {
    printJson(session.io, { ticket, abandoned: fresh, already });
    return;
  }
  const { stdout } = session.io;
  if (fresh.length > 0) stdout(`abandoned: ${fresh.join(', ')}\n`);
  if (already.length > 0) stdout(`abandoned before: ${already.join(', ')}\n`);
  const next = `\`orchestrate clean --ticket ${ticket}\` removes its tree, \`${rebuildCommand(ticket, 'TARGET')}\` starts again`;
  stdout(`next: ${fromHere(session.request.directories, next)}\n`);
};
