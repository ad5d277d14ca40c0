import type { Builtin, Target } from '../model/pipeline.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { recordStart } from '../effects/fork.js';
import { MOVED, recordFailure, stateOf, type TicketRun } from '../effects/ticket-run.js';
import { commit } from './commit.js';
import { land } from './land.js';
import { push } from './push.js';
import { readInitD } from './read-init-d.js';
import type { BuiltinEffect } from './result.js';
import { ticket } from './ticket.js';

const BUILTIN: Readonly<Record<Builtin, BuiltinEffect>> = {
  'read-init-d': readInitD,
  ticket,
  commit,
  push,
  land,
};

/** Starts a target in process, or does it again where a crash left it started. */
export const runBuiltin = async (run: TicketRun, target: Target, builtin: Builtin): Promise<EffectResult> => {
  if (stateOf(run, target).value !== 'running') {
    if (run.halt.halted()) return { kind: 'halted' };
    recordStart(run, target, { forks: false });
    run.recorder.writeNextAction();
  }
  const result = await BUILTIN[builtin](run, target);
  if (!result.ok) return recordFailure(run, target, result.failure);
  const { attempt } = stateOf(run, target).context;
  const { output, summary, facts, documents } = result;
  run.recorder.record({
    type: 'target.done',
    target: target.name,
    attempt,
    output,
    summary,
    ...(facts === undefined ? {} : { facts }),
    ...(documents === undefined ? {} : { documents }),
  });
  return MOVED;
};
