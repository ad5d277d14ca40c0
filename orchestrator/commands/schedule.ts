import { targetState } from '../machine/run-state.js';
import { effectsOf } from '../effects/table.js';
import type { TicketRun } from '../effects/ticket-run.js';
import { freshnessOf, type Freshness } from '../scheduler/freshness.js';
import { runScheduler, type SchedulerOutcome } from '../scheduler/scheduler.js';
import type { Reporter } from './reporter.js';
import { flagSet, flagText, type Session } from './session.js';
import { sleepUntil } from './sleep-until.js';

/** With `--wait`, a provider's limit is slept through, by the wall clock, until it resets or a signal comes. */
export const scheduleWaiting = async (
  session: Session,
  run: TicketRun,
  reporter: Reporter,
): Promise<SchedulerOutcome> => {
  for (;;) {
    const outcome = await schedule(session, run, reporter);
    const until = flagSet(session, 'wait') ? pausedUntil(run) : undefined;
    if (until === undefined || run.abort.signal.aborted) return outcome;
    reporter.note(run.ticket, `paused until ${new Date(until).toISOString()}; waiting`);
    await sleepUntil(until, session.clock, run.abort.signal);
    if (run.abort.signal.aborted) return outcome;
    run.halt.resume('paused');
    for (const [name, { value }] of run.recorder.run.targets) if (value === 'paused') run.revived.add(name);
  }
};

/** The earliest reset among the paused targets; `undefined` when nothing is paused or no reset is known. */
const pausedUntil = (run: TicketRun): number | undefined => {
  const times = [...run.recorder.run.targets.values()]
    .filter(({ value, context }) => value === 'paused' && context.until !== undefined)
    .map(({ context }) => Date.parse(context.until ?? ''));
  return times.length === 0 ? undefined : Math.min(...times);
};

const schedule = (session: Session, run: TicketRun, reporter: Reporter): Promise<SchedulerOutcome> => {
  const { run: state } = run.recorder;
  const until = flagText(session, 'until');
  return runScheduler({
    pipeline: run.pipeline,
    valueOf: (name) => targetState(state, name).value,
    freshness: (target) => {
      const judged = freshnessOf(target, state, run.files, session.clock.now());
      // A person at the terminal can be asked at once.
      const canAsk = run.ask !== undefined && targetState(state, target.name).value === 'waiting';
      return canAsk ? { kind: 'stale', reason: 'it waits for a person, who is asked' } : judged;
    },
    effects: effectsOf(run),
    halted: run.halt.halted,
    onJudged: (target, freshness) => {
      const reason = reasonOf(freshness);
      if (reason !== undefined) run.reasons.set(target.name, reason);
      if (freshness.kind === 'held')
        reporter.note(
          run.ticket,
          `${target.name} is held${target.latch ? ' by its latch' : ''}: ${freshness.reason}`,
        );
    },
    ...(until === undefined ? {} : { until }),
  });
};

const reasonOf = (freshness: Freshness): string | undefined =>
  freshness.kind === 'stale' ? freshness.reason : undefined;
