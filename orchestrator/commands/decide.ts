import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { digestOf, isDigest } from '../model/digest.js';
import { isoTime } from '../model/clock.js';
import { Problem } from '../model/failure.js';
import type { Pipeline, Target } from '../model/pipeline.js';
import { targetState, type RunState } from '../machine/run-state.js';
import type { TargetContext } from '../machine/target-context.js';
import { approvalArtifact, approvalText } from '../effects/approval-text.js';
import { boot } from '../record/boot.js';
import { approveCommand } from '../record/next.js';
import { openRecorder } from '../record/recorder.js';
import { sealKey } from '../state/home.js';
import { takeLock } from '../state/lock.js';
import type { RunDirectory } from '../state/run-dir.js';
import { bytesToApprove } from './approval-prompt.js';
import { fromHere } from './from-here.js';
import { printJson } from './io.js';
import { requireNoExposedWorker } from './live-children.js';
import { refuseWorkers } from './refuse-workers.js';
import { whereFrom } from './where-from.js';
import { recordedFile } from './boot-run.js';
import { existingRun, flagText, oneTicket, pipelineFor, repositoryOf, type Session } from './session.js';

type Answer = 'approved' | 'rejected';

/** `approve` and `reject`: a person's answer, bound to the digest that was shown, once. */
export const decide = async (session: Session, answer: Answer): Promise<number> => {
  refuseWorkers(session, 'an approval');
  const paths = repositoryOf(session);
  const ticket = oneTicket(session);
  const directory = existingRun(session, paths, ticket);
  const note = noteOf(session, answer);
  const key = sealKey(session.home);
  const lock = takeLock(directory.path, ticket, isoTime(session.clock));
  try {
    const booted = boot(directory, key);
    requireNoExposedWorker({ mainRoot: paths.mainRoot, directory, run: booted.run, key });
    const { pipeline } = await pipelineFor(session, paths, recordedFile(booted));
    const target = waitingTarget(session, pipeline, booted.run);
    const { context } = targetState(booted.run, target.name);
    const asked = context.waitingFor?.digest ?? '';
    // What was changed can still be rejected: that has it made again.
    if (answer === 'approved') requireSameBytes(directory, target, booted.run);
    const digest = await confirmedDigest(session, { directory, target, context, asked, answer });
    if (digest !== asked) throw otherBytes(ticket, target, digest, asked);
    const recorder = openRecorder({ directory, key, booted, pipeline, clock: session.clock });
    recorder.record({
      type: 'approval.answered',
      target: target.name,
      digest: asked as `sha256:${string}`,
      answer,
      by: `person ${session.io.env['USER'] ?? userInfo().username}`,
      how: flagText(session, 'digest') === undefined ? 'tty' : 'command',
      from: whereFrom(session.io),
      ...(note === undefined ? {} : { note }),
    });
    recorder.writeNextAction();
    recorder.close();
    printAnswer(session, { ticket, target: target.name, answer, digest: asked });
    return 0;
  } finally {
    lock.release();
  }
};

const noteOf = (session: Session, answer: Answer): string | undefined => {
  const note = flagText(session, 'note')?.trim();
  if (answer === 'rejected' && (note === undefined || note === '')) {
    throw new Problem({
      kind: 'usage',
      message: '`reject` needs `--note TEXT`: it is what the next attempt learns',
      next: 'say why in a sentence',
    });
  }
  return note === '' ? undefined : note;
};

const waitingTarget = (session: Session, pipeline: Pipeline, run: RunState): Target => {
  const waiting = pipeline.targets.filter(({ name }) => targetState(run, name).value === 'waiting');
  const asked = session.request.target ?? flagText(session, 'target');
  if (asked === undefined) {
    const [only, other] = waiting;
    if (only !== undefined && other === undefined) return only;
    const names = waiting.map(({ name }) => name).join(', ');
    throw new Problem({
      kind: 'usage',
      message: names === '' ? 'no target waits for an answer' : `several targets wait: ${names}`,
      next: 'name one with `--target`',
    });
  }
  const target = pipeline.targets.find(({ name }) => name === asked);
  if (target === undefined)
    throw new Problem({
      kind: 'usage',
      message: `the pipeline has no target \`${asked}\``,
      next: `\`orchestrate status --ticket ${run.ticket}\``,
    });
  if (targetState(run, asked).value === 'waiting') return target;
  throw notWaiting(run, target);
};

const notWaiting = (run: RunState, target: Target): Problem => {
  const { value, context } = targetState(run, target.name);
  if (context.approval !== undefined) {
    return new Problem({
      kind: 'evidence-refused',
      message: `\`${target.name}\` has been answered (${context.approval.by}, ${context.approval.digest}); an answer counts once`,
      next: `\`orchestrate status --ticket ${run.ticket}\` shows where the run is`,
    });
  }
  return new Problem({
    kind: 'usage',
    message: `\`${target.name}\` does not wait for an answer: it is ${value}`,
    next: `\`orchestrate run --ticket ${run.ticket}\` goes on until it asks`,
  });
};

/** The bytes on the disk must still be the sealed ones: nobody approves what he cannot read. */
const requireSameBytes = (directory: RunDirectory, target: Target, run: RunState): void => {
  const name = approvalArtifact(target);
  if (name === undefined) return;
  const path = `${directory.artifacts}/${name}`;
  const { context } = targetState(run, target.name);
  const sealed = context.artifacts?.find((artifact) => artifact.path === name)?.digest;
  if (sealed === undefined) return;
  if (existsSync(path) && digestOf(approvalText(directory, target, context)) === sealed) return;
  throw new Problem({
    kind: 'evidence-refused',
    message: `\`artifacts/${name}\` is not what was sealed: it cannot be approved`,
    where: path,
    next: `\`orchestrate reject --ticket ${run.ticket} --target ${target.name} --note "…"\` has it made again`,
  });
};

interface Shown {
  readonly directory: RunDirectory;
  readonly target: Target;
  readonly context: TargetContext;
  readonly asked: string;
  readonly answer: Answer;
}

/** The digest that the person names; at a terminal the bytes are shown and the person is asked. */
const confirmedDigest = async (
  session: Session,
  { directory, target, context, asked, answer }: Shown,
): Promise<string> => {
  const { io } = session;
  const given = flagText(session, 'digest');
  if (given !== undefined) {
    if (isDigest(given)) return given;
    throw new Problem({
      kind: 'usage',
      message: `\`${given}\` is not a digest`,
      next: 'a digest is `sha256:` and 64 hexadecimal digits, as `status` prints it',
    });
  }
  if (!io.stdinIsTty || !io.stderrIsTty) {
    throw new Problem({
      kind: 'usage',
      message: '`--digest` is needed when no person is at a terminal',
      next: approveCommand(directory.ticket, target.name, asked),
    });
  }
  io.stderr(
    `\`${target.name}\`, ${asked}:\n\n${bytesToApprove(io, approvalText(directory, target, context))}\n\n`,
  );
  const word = answer === 'approved' ? 'approve' : 'reject';
  const typed = (await io.ask(`type "${word}" to record your answer for exactly these bytes: `))?.trim();
  if (typed === word) return asked;
  throw new Problem({
    kind: 'approval-needed',
    message: 'no answer was recorded',
    next: `run the same command again`,
  });
};

const otherBytes = (ticket: string, target: Target, digest: string, asked: string): Problem =>
  new Problem({
    kind: 'evidence-refused',
    message: `${digest} is not what \`${target.name}\` asks about now (${asked}): an answer counts for the bytes that were shown, and for no others`,
    next: `look at them (\`orchestrate status --ticket ${ticket}\`), then answer with the digest that is shown`,
  });

const printAnswer = (
  session: Session,
  facts: {
    readonly ticket: string;
    readonly target: string;
    readonly answer: Answer;
    readonly digest: string;
  },
): void => {
  if (session.request.json) {
    printJson(session.io, facts);
    return;
  }
  session.io.stdout(
    `${facts.target} ${facts.answer}: ${facts.digest}\nnext: ${fromHere(session.request.directories, `orchestrate run --ticket ${facts.ticket}`)}\n`,
  );
};
