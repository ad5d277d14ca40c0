import type { Failure } from '../model/failure.js';
import type { JournalLine, RunEvent } from '../model/event.js';
import type { Pipeline, Target } from '../model/pipeline.js';
import { jsonText, oneLine, visibleLine } from '../model/text.js';
import { targetState } from '../machine/run-state.js';
import { approvalArtifact } from '../effects/approval-text.js';
import { TURNED_OFF } from '../effects/turned-off.js';
import type { TicketRun } from '../effects/ticket-run.js';
import type { RunSummary } from '../record/next.js';
import { approveCommand, rebuildCommand } from '../record/next.js';
import type { SchedulerOutcome } from '../scheduler/scheduler.js';
import { wholeText } from './at-rest.js';
import { failureFromHere, fromHere } from './from-here.js';
import { failureText, noteText } from './io.js';
import { painter, type Painter } from './paint.js';
import type { Session } from './session.js';

/** Told what happens; the lines of the journal are the one vocabulary. */
export interface Reporter {
  readonly opened: (ticket: string, pipeline: Pipeline) => void;
  readonly line: (ticket: string, line: JournalLine) => void;
  /** Where the run is: no cause for concern. */
  readonly progress: (ticket: string, text: string) => void;
  readonly note: (ticket: string, text: string) => void;
  readonly problem: (ticket: string, failure: Failure) => void;
  readonly ended: (run: TicketRun, outcome: SchedulerOutcome, summary: RunSummary) => void;
}

export const reporterFor = (session: Session): Reporter =>
  session.request.json ? jsonReporter(session) : textReporter(session);

/** One JSON event a line on stdout; words for people on stderr. */
const jsonReporter = ({ io, request }: Session): Reporter => {
  const emit = (value: unknown): void => io.stdout(`${jsonText(value)}\n`);
  const warn = exposureWarning((ticket, text) => io.stderr(`${ticket}: ${text}\n`));
  return {
    opened: () => undefined,
    line: (ticket, { seq, at, event }) => {
      emit({ ticket, seq, at, ...event });
      warn(ticket, event);
    },
    progress: (ticket, text) => io.stderr(`${ticket}: ${noteText(text)}\n`),
    note: (ticket, text) => io.stderr(`${ticket}: ${noteText(text)}\n`),
    problem: (ticket, found) => {
      const failure = failureFromHere(request.directories, found);
      emit({ ticket, type: 'run.problem', ...failure });
      io.stderr(`error: ${failureText(failure)}\n`);
    },
    ended: (run, outcome, state) => emit({ ticket: run.ticket, type: 'run.ended', state, ...outcome }),
  };
};

const textReporter = (session: Session): Reporter => {
  const { io, request } = session;
  const paint = painter(io, 'stdout');
  const several = request.tickets.length > 1;
  const pipelines = new Map<string, Map<string, Target>>();
  const labels = new Map<string, Pipeline>();
  const warn = exposureWarning((ticket, text) => io.stderr(`${several ? `${ticket}  ` : ''}${text}\n`));
  const say = (ticket: string, text: string): void => io.stdout(`${several ? `${ticket}  ` : ''}${text}\n`);
  const nameOf = (ticket: string, name: string): string => {
    const target = pipelines.get(ticket)?.get(name);
    return `${String(target?.number ?? '').padStart(2)} ${name.padEnd(20)}`;
  };
  return {
    opened: (ticket, pipeline) => {
      pipelines.set(ticket, new Map(pipeline.targets.map((target) => [target.name, target])));
      labels.set(ticket, pipeline);
    },
    line: (ticket, { event }) => {
      const text = describe(event, {
        paint,
        name: (target) => nameOf(ticket, target),
        worker: (target) => workerLabel(labels.get(ticket), target),
      });
      if (text !== undefined) say(ticket, text);
      warn(ticket, event);
    },
    progress: (ticket, text) => say(ticket, noteText(text)),
    note: (ticket, text) => io.stderr(`${several ? `${ticket}  ` : ''}note: ${noteText(text)}\n`),
    problem: (ticket, failure) =>
      io.stderr(
        `${several ? `${ticket}  ` : ''}error: ${failureText(failureFromHere(request.directories, failure))}\n`,
      ),
    ended: (run, outcome, summary) =>
      say(run.ticket, fromHere(request.directories, lastWords(run, outcome, summary, paint))),
  };
};

/** Said once a ticket, with the first worker that is started without a sandbox although the pipeline does not ask for that. */
const exposureWarning = (tell: (ticket: string, text: string) => void) => {
  const warned = new Set<string>();
  return (ticket: string, event: RunEvent): void => {
    if (event.type !== 'target.started' || event.containment?.tier !== 'same-user') return;
    const why = event.containment.detail;
    if (why === TURNED_OFF || warned.has(ticket)) return;
    warned.add(ticket);
    tell(
      ticket,
      `warning: workers run without a sandbox, as you: ${oneLine(why)}. What they do to the record is found, not prevented (\`orchestrate doctor\`)`,
    );
  };
};

const workerLabel = (pipeline: Pipeline | undefined, name: string): string => {
  const recipe = pipeline?.targets.find((target) => target.name === name)?.recipe;
  if (recipe?.kind !== 'worker') return '';
  const spec = pipeline?.workers[recipe.worker];
  const label = spec?.label ?? (spec?.adapter === 'scripted' ? 'scripted worker, not a model' : undefined);
  return ` ${recipe.worker}${label === undefined ? '' : ` (${oneLine(label, 60)})`}`;
};

interface Words {
  readonly paint: Painter;
  readonly name: (target: string) => string;
  readonly worker: (target: string) => string;
}

const detail = (lines: readonly string[]): string =>
  lines[0] === undefined ? '' : `  ${oneLine(lines[0], 110)}`;

type Describe = {
  readonly [Type in RunEvent['type']]?: (
    event: Extract<RunEvent, { readonly type: Type }>,
    words: Words,
  ) => string | undefined;
};

/** What a person is told of an event; of the others nothing. */
const DESCRIBE: Describe = {
  'target.started': ({ target, attempt, reason, agent }, { paint, name, worker }) => {
    const again = attempt > 1 ? `, attempt ${attempt}` : '';
    const taken =
      agent === undefined ? '' : `\n    ${name(target)}  ${agent.name}: ${oneLine(agent.why, 200)}`;
    return `${paint.byPhase('running', '▸')} ${name(target)} started${worker(target)}${again}: ${oneLine(reason, 100)}${taken}`;
  },
  'child.ended': ({ target, summary }, { name }) =>
    summary.length === 0 ? undefined : `    ${name(target)}${detail(summary)}`,
  'gate.answered': (event, words) => gateLine(event, words),
  'approval.answered': ({ target, answer, by }, { paint, name }) =>
    `${paint.byPhase('done', '✓')} ${name(target)} ${answer} by ${oneLine(by)}`,
  // What a worker said was printed when it ended.
  'target.done': ({ target, summary }, { paint, name, worker }) =>
    `${paint.byPhase('done', '✓')} ${name(target)} done${worker(target) === '' ? detail(summary) : ''}`,
  'target.failed': ({ target, retry, message }, { paint, name }) =>
    `${paint.byPhase('failed', '✗')} ${name(target)} ${retry ? 'tried again' : 'failed'}: ${oneLine(message, 160)}`,
  'target.invalidated': ({ target, because }, { paint, name }) =>
    `${paint.byPhase('waiting', '↺')} ${name(target)} is made again: ${oneLine(because, 120)}`,
  'target.paused': ({ target, until, message }, { paint, name }) =>
    `${paint.byPhase('paused', '‖')} ${name(target)} paused until ${oneLine(until ?? 'unknown', 40)}: ${oneLine(message)}`,
  'directive.read': ({ id, text }) => `  directive ${id} read: ${oneLine(text)}`,
};

const describe = (event: RunEvent, words: Words): string | undefined =>
  (DESCRIBE[event.type] as ((of: RunEvent, words: Words) => string | undefined) | undefined)?.(event, words);

const gateLine = (
  event: Extract<RunEvent, { readonly type: 'gate.answered' }>,
  { paint, name }: Words,
): string => {
  const marks = {
    passed: paint.byPhase('done', '✓'),
    refused: paint.byPhase('failed', '✗'),
    awaiting: paint.byPhase('waiting', '?'),
  };
  // The digest of a check's output is for the record, not for the eye.
  const seen = event.kind.startsWith('check ') && event.outcome === 'passed' ? [] : event.detail;
  return `  ${marks[event.outcome]} ${name(event.target)} gate ${oneLine(event.kind, 70)}: ${event.outcome}${detail(seen)}`;
};

const whatToRead = (run: TicketRun, target: Target): string => {
  const artifact = approvalArtifact(target);
  if (artifact !== undefined) return `read ${run.recorder.directory.artifacts}/${artifact}`;
  const files = target.outputs.map((path) => `\`${visibleLine(path)}\``).join(', ');
  return `look at ${files === '' ? 'its output' : files} (\`orchestrate logs --ticket ${run.ticket} ${target.name}\`)`;
};

const lastWords = (
  run: TicketRun,
  outcome: SchedulerOutcome,
  summary: RunSummary,
  paint: Painter,
): string => {
  const { ticket } = run;
  if (outcome.upToDate === outcome.wanted) return wholeText(outcome.wanted, outcome.made);
  const waiting = run.pipeline.targets.find(
    ({ name }) => targetState(run.recorder.run, name).value === 'waiting',
  );
  if (waiting !== undefined) {
    const digest = targetState(run.recorder.run, waiting.name).context.waitingFor?.digest ?? '';
    return [
      `${paint.byState('waiting')} for a person: ${whatToRead(run, waiting)}, then`,
      `  ${approveCommand(ticket, waiting.name, digest)}`,
      `  orchestrate reject --ticket ${ticket} --target ${waiting.name} --digest ${digest} --note "WHY"`,
      `and go on with \`orchestrate run --ticket ${ticket}\``,
    ].join('\n');
  }
  const count = `${outcome.upToDate} of ${outcome.wanted} targets are up to date`;
  const givenUp = run.pipeline.targets.find(
    ({ name }) => targetState(run.recorder.run, name).value === 'abandoned',
  );
  if (summary === 'abandoned' && givenUp !== undefined) {
    const { reason } = targetState(run.recorder.run, givenUp.name).context;
    return [
      `${paint.byState('abandoned')}: ${count}; ${givenUp.name} was ${oneLine(reason ?? 'given up')}`,
      `start again with \`${rebuildCommand(ticket, givenUp.name)}\``,
    ].join('\n');
  }
  return `${paint.byState(summary)}: ${count}; \`orchestrate run --ticket ${ticket}\` resumes`;
};
