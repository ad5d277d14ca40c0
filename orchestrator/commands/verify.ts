import { EXIT_CODE, Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline } from '../model/pipeline.js';
import { oneLine } from '../model/text.js';
import { readDocuments, type StateDocument } from '../record/boot.js';
import { existingKey } from '../state/home.js';
import { journalBytes } from '../state/journal.js';
import { lockHolder } from '../state/lock.js';
import type { RunDirectory } from '../state/run-dir.js';
import { printJson } from './io.js';
import { painter, table } from './paint.js';
import { existingRun, oneTicket, pipelineFor, repositoryOf, type Session } from './session.js';
import { artifactChecks, inboxChecks } from './verify-artifacts.js';
import { BROKEN_JOURNAL, eachProblem, failed, held, untold, type Check } from './verify-check.js';
import { checkpointChecks, documentChecks, nextActionCheck, storedCheckpoint } from './verify-documents.js';
import { readWholeJournal, type JournalReading } from './verify-journal.js';
import { gitChecks } from './verify-receipts.js';

/** `verify`: everything that the record claims, proved again from its bytes. Offline; starts no worker, writes nothing. */
export const verify = async (session: Session): Promise<number> => {
  const paths = repositoryOf(session);
  const ticket = oneTicket(session);
  const directory = existingRun(session, paths, ticket);
  const holder = lockHolder(directory.path);
  if (holder !== undefined) {
    session.io.stderr(`note: process ${holder.pid} runs ticket ${ticket} now; what it is writing may look unfinished\n`);
  }
  const checks = await allChecks(session, paths, directory);
  const isOk = checks.every(({ ok }) => ok !== false);
  if (session.request.json) printJson(session.io, { ticket, ok: isOk, checks });
  else session.io.stdout(asText(session, checks));
  return isOk ? 0 : EXIT_CODE['evidence-refused'];
};

const allChecks = async (session: Session, paths: RepositoryPaths, directory: RunDirectory): Promise<Check[]> => {
  const key = existingKey(session.home);
  const stored = storedCheckpoint(directory.checkpoint);
  const { bytes, documents } = steadyRecord(directory);
  const markSeq = typeof stored === 'object' ? stored.head.seq : undefined;
  const reading = readWholeJournal({ directory, bytes, key, markSeq });
  const pipeline = await pipelineOf(session, paths, reading);
  const nextAction = documents.find(({ name }) => name === '99_next_action.md');
  return [
    chainCheck(reading, bytes),
    sealCheck(reading, key),
    ...documentChecks(directory, reading, documents),
    nextActionCheck(reading, { document: nextAction, key, pipeline }),
    ...checkpointChecks(directory, reading, { stored, key, bytes }),
    ...artifactChecks(directory, reading, typeof pipeline === 'string' ? undefined : pipeline),
    ...inboxChecks(directory, reading),
    ...answerChecks(reading),
    ...(await gitChecks(session.io.env, paths, reading.run, reading.evidence)),
  ];
};

/** A run may be going on: the journal and the documents of one moment. */
const steadyRecord = (directory: RunDirectory): { readonly bytes: Buffer; readonly documents: readonly StateDocument[] } => {
  for (let tries = 0; ; tries += 1) {
    const bytes = journalBytes(directory.journal);
    const documents = readDocuments(directory.state);
    if (tries === 5 || journalBytes(directory.journal).length === bytes.length) return { bytes, documents };
  }
};

/** A pipeline that cannot be read now is no fault of the record. */
const pipelineOf = async (session: Session, paths: RepositoryPaths, { run }: JournalReading): Promise<Pipeline | string> => {
  try {
    return (await pipelineFor(session, paths, run.opened?.pipeline.file)).pipeline;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return `the pipeline cannot be loaded (${error.failure.message.split('\n')[0] ?? ''})`;
  }
};

const chainCheck = ({ head, torn, broken }: JournalReading, bytes: Buffer): Check => {
  const name = 'journal chain';
  if (broken !== undefined) return failed(name, `${broken}; the ${head.seq} lines before it hold`);
  if (bytes.length === 0) return failed(name, 'the journal is empty');
  const tail = torn === 0 ? '' : `, then ${torn} bytes of a line that a crash left unfinished`;
  return held(name, `${head.seq} lines, each follows from the one before it${tail}`);
};

const LISTED_LINES = 10;

const sealCheck = ({ head, unsealed }: JournalReading, key: Uint8Array | undefined): Check => {
  const name = 'journal seals';
  if (key === undefined) return untold(name, 'could not be checked: the seal key is not here');
  if (unsealed.length === 0) return held(name, `${head.seq} lines carry your seal`);
  const listed = unsealed.slice(0, LISTED_LINES).join(', ');
  const more = unsealed.length > LISTED_LINES ? ` and ${unsealed.length - LISTED_LINES} more` : '';
  return failed(name, `not made with your key: line ${listed}${more}. Somebody else made them, on this machine or on another`);
};

/** Gates, approvals and verdicts against the digests that they were asked about. */
const answerChecks = ({ evidence, broken }: JournalReading): Check[] => {
  const { counts, problems } = evidence;
  const rest = broken === undefined ? '' : `; ${BROKEN_JOURNAL}`;
  const rows = (name: string, count: number, found: readonly string[], holds: string): Check[] =>
    count + found.length === 0 ? [] : eachProblem(name, found, `${count} ${holds}${rest}`);
  return [
    ...rows('gates', counts.gates, problems.gates, 'answers, each bound to bytes that had been sealed'),
    ...rows('approvals', counts.approvals, problems.approvals, 'answers, each for the digest that was asked'),
    ...rows('verdicts', counts.verdicts, problems.verdicts, 'approvals by a critic, each for the receipt that it was given'),
  ];
};

const wordOf = (ok: Check['ok']): string => {
  if (ok === null) return 'not checked';
  return ok ? 'ok' : 'failed';
};

const asText = (session: Session, checks: readonly Check[]): string => {
  const paint = painter(session.io, 'stdout');
  const phase = { ok: 'done', failed: 'failed', 'not checked': 'waiting' } as const;
  const rows = checks.map(({ name, ok, detail }) => {
    const word = wordOf(ok);
    return [paint.byPhase(phase[word as keyof typeof phase], word), name, oneLine(detail, 500)];
  });
  const bad = checks.filter(({ ok }) => ok === false).length;
  const unknown = checks.filter(({ ok }) => ok === null).length;
  const also = unknown === 0 ? '' : `, ${unknown} could not be made`;
  const last =
    bad === 0
      ? `the record holds: ${checks.length - unknown} checks${also}`
      : `the record does not hold: ${bad} of ${checks.length} checks failed${also}\nnext: restore what was changed, or start over with \`orchestrate run --rebuild TARGET\``;
  return `${table(rows)}\n${last}\n`;
};
