import { digestOfValue } from '../model/digest.js';
import type { Builtin, Target } from '../model/pipeline.js';
import { factOf } from '../machine/run-state.js';
import type { Effect, EffectResult, Effects } from '../scheduler/scheduler.js';
import { reattachCommand, recordStart, startCommand } from './fork.js';
import { HALTED, MOVED, recordFailure, stateOf, type TicketRun } from './ticket-run.js';

/** `when:` names labels that this ticket does not have: the target is done at once, with that reason. */
const leftOut = (run: TicketRun, target: Target): EffectResult | undefined => {
  const labels = factOf(run.recorder.run, 'ticket')?.labels ?? [];
  if (target.whenLabels === undefined || target.whenLabels.some((label) => labels.includes(label)))
    return undefined;
  const reason = `left out: the ticket is not labelled ${target.whenLabels.join(' or ')}`;
  if (stateOf(run, target).value !== 'running') recordStart(run, target, { forks: false, reason });
  const { attempt } = stateOf(run, target).context;
  const output = digestOfValue({ leftOut: target.recipeDigest });
  run.recorder.record({ type: 'target.done', target: target.name, attempt, output, summary: [reason] });
  return MOVED;
};

/** Starts a target, by what makes it. Agents and gates are loaded when the first one is needed. */
const start =
  (run: TicketRun): Effect =>
  async (target) => {
    const { recipe } = target;
    const skipped = run.halt.halted() ? undefined : leftOut(run, target);
    if (skipped !== undefined) return skipped;
    switch (recipe.kind) {
      case 'builtin':
        return inProcess(run, target, recipe.builtin);
      case 'command':
        return startCommand(run, target, recipe.argv);
      case 'worker': {
        const spec = run.pipeline.workers[recipe.worker];
        if (spec === undefined) return recordFailure(run, target, noWorker(recipe.worker));
        const { startWorker } = await import('./worker.js');
        return startWorker(run, target, spec);
      }
    }
  };

const inProcess = async (run: TicketRun, target: Target, builtin: Builtin): Promise<EffectResult> => {
  const { runBuiltin } = await import('../builtins/builtin.js');
  return runBuiltin(run, target, builtin);
};

const noWorker = (name: string) =>
  ({ kind: 'internal', message: `worker \`${name}\` is not in the pipeline`, canRetry: false }) as const;

/** After a crash: a child is waited for again, work in process is done again. */
const goOn =
  (run: TicketRun): Effect =>
  async (target) => {
    const skipped = leftOut(run, target);
    if (skipped !== undefined) return skipped;
    if (target.recipe.kind === 'builtin') return inProcess(run, target, target.recipe.builtin);
    if (target.recipe.kind === 'command') return reattachCommand(run, target);
    const { reattachWorker } = await import('./worker.js');
    return reattachWorker(run, target);
  };

/** The table: state → what it waits for. A state that is left out does not compile. */
export const effectsOf = (run: TicketRun): Effects => {
  const startEffect = start(run);
  const again = async (target: Target) => (run.revived.delete(target.name) ? startEffect(target) : HALTED);
  return {
    pending: startEffect,
    running: goOn(run),
    gating: async (target) => (await import('./judge.js')).judge(run, target),
    waiting:
      run.ask === undefined
        ? undefined
        : async (target) => (await import('./gates.js')).askPerson(run, target),
    failed: again,
    paused: again,
    // Up to date by its state, out of date by its inputs: it is made again.
    done: startEffect,
    abandoned: undefined,
  };
};
