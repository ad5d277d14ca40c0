import type { Builtin, Target } from '../model/pipeline.js';
import type { Effect, EffectResult, Effects } from '../scheduler/scheduler.js';
import { reattachCommand, startCommand } from './fork.js';
import { HALTED, recordFailure, type TicketRun } from './ticket-run.js';

/** Starts a target, by what makes it. Agents and gates are loaded when the first one is needed. */
const start =
  (run: TicketRun): Effect =>
  async (target) => {
    const { recipe } = target;
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
    waiting: run.ask === undefined ? undefined : async (target) => (await import('./gates.js')).askPerson(run, target),
    failed: again,
    paused: again,
    // Up to date by its state, out of date by its inputs: it is made again.
    done: startEffect,
    abandoned: undefined,
  };
};
