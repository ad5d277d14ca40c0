import { EXIT_CODE, Problem } from '../model/failure.js';
import type { Digest } from '../model/digest.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline } from '../model/pipeline.js';
import { oneLine } from '../model/text.js';
import { existingKey } from '../state/home.js';
import { lockHolder } from '../state/lock.js';
import type { RunDirectory } from '../state/run-dir.js';
import { fromHere } from './from-here.js';
import { printJson } from './io.js';
import { painter, table } from './paint.js';
import { existingRun, oneTicket, pipelineFor, repositoryOf, type Session } from './session.js';
import { inboxChecks } from './verify-artifacts.js';
import type { Check } from './verify-check.js';
import { epochChecks, readEpochs, type EpochRecord } from './verify-epoch.js';
import type { Seal } from './verify-evidence.js';
import { gitChecks, type GitEvidence } from './verify-receipts.js';

/** `verify`: everything that the record claims, proved again from its bytes. Offline; starts no worker, leaves the record as it is. */
export const verify = async (session: Session): Promise<number> => {
  const paths = repositoryOf(session);
  const ticket = oneTicket(session);
  const directory = existingRun(session, paths, ticket);
  const holder = lockHolder(directory.path);
  if (holder !== undefined) {
    session.io.stderr(
      `note: process ${holder.pid} runs ticket ${ticket} now; what it is writing may look unfinished\n`,
    );
  }
  const checks = await allChecks(session, paths, directory);
  const isOk = checks.every(({ ok }) => ok !== false);
  if (session.request.json) printJson(session.io, { ticket, ok: isOk, checks });
  else session.io.stdout(asText(session, checks, ticket));
  return isOk ? 0 : EXIT_CODE['evidence-refused'];
};

const allChecks = async (
  session: Session,
  paths: RepositoryPaths,
  directory: RunDirectory,
): Promise<Check[]> => {
  const key = existingKey(session.home);
  const newestFirst = readEpochs(directory, key);
  const [current] = newestFirst;
  if (current === undefined) return [];
  const { run } = current.reading;
  const pipeline = await pipelineOf(session, paths, run.opened?.pipeline.file);
  const rows = newestFirst.map((epoch, position) =>
    epochChecks(epoch, { key, pipeline, earlier: sealsOf(newestFirst.slice(position + 1)) }),
  );
  return [
    ...rows.flat(),
    ...inboxChecks(directory.inbox, directivesOf(newestFirst)),
    ...(await gitChecks(session.io.env, paths, run, gitEvidence(newestFirst))),
  ];
};

/** A pipeline that cannot be read now is no fault of the record. */
const pipelineOf = async (
  session: Session,
  paths: RepositoryPaths,
  recorded: string | undefined,
): Promise<Pipeline | string> => {
  try {
    return (await pipelineFor(session, paths, recorded)).pipeline;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return `the pipeline cannot be loaded (${oneLine(error.failure.message)})`;
  }
};

const oldestFirst = (epochs: readonly EpochRecord[]) =>
  epochs.toReversed().map(({ reading }) => reading.evidence);

const sealsOf = (epochs: readonly EpochRecord[]): ReadonlyMap<string, Seal> =>
  new Map(oldestFirst(epochs).flatMap(({ seals }) => [...seals]));

const directivesOf = (epochs: readonly EpochRecord[]): ReadonlyMap<number, Digest> =>
  new Map(oldestFirst(epochs).flatMap(({ directives }) => directives.map(({ id, digest }) => [id, digest])));

const gitEvidence = (epochs: readonly EpochRecord[]): GitEvidence => {
  const all = oldestFirst(epochs);
  return {
    receipts: new Map(all.flatMap(({ receipts }) => [...receipts])),
    plans: new Set(all.flatMap(({ plans }) => [...plans])),
    commits: all.flatMap(({ commits }) => commits),
  };
};

const wordOf = (ok: Check['ok']): 'ok' | 'failed' | 'not checked' => {
  if (ok === null) return 'not checked';
  return ok ? 'ok' : 'failed';
};

/** Colours of the phases that they are like. */
const PHASE = { ok: 'done', failed: 'failed', 'not checked': 'waiting' } as const;

const asText = (session: Session, checks: readonly Check[], ticket: string): string => {
  const paint = painter(session.io, 'stdout');
  const rows = checks.map(({ name, ok, detail }) => [
    paint.byPhase(PHASE[wordOf(ok)], wordOf(ok)),
    name,
    oneLine(detail, 500),
  ]);
  const bad = checks.filter(({ ok }) => ok === false).length;
  const unknown = checks.filter(({ ok }) => ok === null).length;
  const also = unknown === 0 ? '' : `, ${unknown} could not be made`;
  const next = fromHere(
    session.request.directories,
    `\`orchestrate run --ticket ${ticket} --rebuild TARGET\``,
  );
  const last =
    bad === 0
      ? `the record holds: ${checks.length - unknown} checks${also}`
      : `the record does not hold: ${bad} of ${checks.length} checks failed${also}\nnext: restore what was changed, or make it again with ${next}`;
  return `${table(rows)}\n${last}\n`;
};
