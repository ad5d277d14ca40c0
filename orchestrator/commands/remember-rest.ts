import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline, Target } from '../model/pipeline.js';
import { isGlob } from '../effects/target-files.js';
import type { TicketRun } from '../effects/ticket-run.js';
import { pipelineSalt } from '../pipeline/load.js';
import { peekPipelineFile } from '../record/peek.js';
import { lookAtFile, writeRest, type Look } from '../record/rest.js';
import { sealKey } from '../state/home.js';
import type { OpenTicket } from './open-ticket.js';
import { pipelineRequest, type Loaded, type Session } from './session.js';

/** Remembers that a ticket is at rest, where that can be told by looking at files. */
export const rememberRest = (
  session: Session,
  paths: RepositoryPaths,
  { pipeline, warnings }: Loaded,
  { run, record }: OpenTicket,
): void => {
  if (warnings.length > 0 || !isPlain(run)) return;
  const files = filesOf(run, pipeline);
  if (files === undefined) return;
  const request = pipelineRequest(session, paths, peekPipelineFile(run.recorder.directory.journal));
  const rest = { salt: pipelineSalt(request), targets: pipeline.targets.length, record, files };
  writeRest(run.recorder.directory, sealKey(session.home), rest, session.clock.now());
};

/** Commands on files of the checkout only: what agents, trees, people and git have to say is not in the look of a file. */
const isPlain = ({ pipeline, recorder }: TicketRun): boolean =>
  Object.keys(recorder.run.facts).length === 0 &&
  pipeline.settings.sandbox.mode !== 'required' &&
  pipeline.targets.every(isPlainTarget);

const isPlainTarget = (target: Target): boolean =>
  target.recipe.kind === 'command' &&
  target.makes === 'files' &&
  target.gates.length === 0 &&
  target.whenLabels === undefined &&
  !target.latch &&
  !target.inputs.some(isGlob);

/** As they looked when they were judged; `undefined` when that is not remembered of one of them. */
const filesOf = (
  { paths, recorder }: TicketRun,
  { sources, targets }: Pipeline,
): ReadonlyMap<string, Look> | undefined => {
  const files = new Map<string, Look>();
  for (const { path, bytes, mtimeMs } of sources) {
    const look = lookAtFile(path);
    if (look.size !== bytes || look.mtimeMs !== mtimeMs) return undefined;
    files.set(path, look);
  }
  for (const path of targets.flatMap(({ inputs, outputs }) => [...inputs, ...outputs])) {
    const look = recorder.run.stats[path];
    if (look === undefined) return undefined;
    files.set(`${paths.mainRoot}/${path}`, look);
  }
  return files;
};
