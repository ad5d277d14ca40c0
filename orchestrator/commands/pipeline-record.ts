/** What the record says about the pipeline: how an epoch is opened with it, and how a change of it is reported. */
import { relative } from 'node:path';
import type { DocumentPointer, PreviousEpoch, RunOpened } from '../model/event.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline } from '../model/pipeline.js';
import { baseMaker } from '../machine/left-behind.js';
import { factOf, recordedPipeline, type RunState } from '../machine/run-state.js';
import type { Recorder } from '../record/recorder.js';
import { changeLine, sourceChanges } from '../record/source-changes.js';
import { governanceDocument } from '../state/documents.js';
import { recordedPath, type Session } from './session.js';

/** Where the pipeline was read, as pointers that a moved checkout or another installation still understands. */
const sourcesOf = (session: Session, paths: RepositoryPaths, pipeline: Pipeline): DocumentPointer[] =>
  pipeline.sources.map(({ path, digest }) => ({
    path: path.startsWith(session.packageRoot)
      ? `builtin:${relative(session.packageRoot, path)}`
      : recordedPath(paths, session.packageRoot, path),
    digest,
  }));

export interface Opening {
  readonly paths: RepositoryPaths;
  readonly ticket: string;
  readonly pipeline: Pipeline;
  readonly epoch: number;
  readonly previous?: PreviousEpoch;
}

/** The first event of an epoch: which pipeline, by digest, and document 00. */
export const openedEvent = (
  session: Session,
  { paths, ticket, pipeline, epoch, previous }: Opening,
): RunOpened => {
  const sources = sourcesOf(session, paths, pipeline);
  return {
    type: 'run.opened',
    ticket,
    epoch,
    ...(previous === undefined ? {} : { previous }),
    pipeline: {
      name: pipeline.name,
      digest: pipeline.digest,
      file: recordedPath(paths, session.packageRoot, pipeline.sources[0]?.path ?? ''),
      sources,
    },
    documents: [{ name: '00_governance.md', text: governanceDocument({ ticket, epoch, pipeline, sources }) }],
  };
};

/**
 * Compares the pipeline with what the record knows. A change is reported file by file and recorded, once: from then on the
 * record knows the new one. What it means for each target is freshness's business: made again, or held by a latch.
 */
export const notePipeline = (
  session: Session,
  paths: RepositoryPaths,
  recorder: Recorder,
  onNote: (text: string) => void,
): void => {
  const { pipeline, run } = recorder;
  const known = recordedPipeline(run);
  if (known === undefined) return;
  const sources = sourcesOf(session, paths, pipeline);
  const changes = sourceChanges(known.sources, sources);
  const isSame = known.digest === pipeline.digest;
  if (!isSame || changes.length > 0) {
    const files = changes.map((change) => changeLine(change)).join(', ');
    onNote(`${meaningOf(isSame, run, changes.length)}${files === '' ? '' : `: ${files}`}`);
    recorder.record({ type: 'pipeline.changed', digest: pipeline.digest, sources });
  }
  noteBase(pipeline, run, onNote);
};

const meaningOf = (isSame: boolean, run: RunState, files: number): string => {
  const since = run.changed === undefined ? `since epoch ${run.epoch} was opened` : 'once more in this epoch';
  if (isSame) return `files of the pipeline changed ${since}, though not what they say to the targets`;
  const consequence = 'what it touches is made again, latched targets are held';
  if (files > 0) return `the pipeline or a manual changed ${since}, ${consequence}`;
  return `the pipeline is read differently ${since}, though no file of it changed; ${consequence}`;
};

/** The base of a ticket is frozen; one that has landed is past caring. */
const noteBase = (pipeline: Pipeline, run: RunState, onNote: (text: string) => void): void => {
  const started = factOf(run, 'baseBranch');
  const { base } = pipeline.settings;
  if (base === undefined || started === undefined || base === started || factOf(run, 'landed') !== undefined)
    return;
  const again = `\`orchestrate run --ticket ${run.ticket} --rebuild ${baseMaker(run) ?? 'ticket'}\``;
  onNote(
    `this ticket started from \`${started}\` and lands there, though the pipeline now says \`base: ${base}\`; ${again} starts again from \`${base}\``,
  );
};
