import { factOf } from '../machine/run-state.js';
import { isoTime } from '../model/clock.js';
import { oneLine } from '../model/text.js';
import { stateOf } from '../effects/ticket-run.js';
import { boundReceipt } from './evidence.js';
import { doneWith, failedWith, type BuiltinEffect } from './result.js';

/** Target 7: the base branch of the remote contains exactly the reviewed commit, by fast-forward or by a clean merge. */
export const land: BuiltinEffect = async (run, target) => {
  const bound = boundReceipt(run, target);
  if ('failure' in bound) return { ok: false, failure: bound.failure };
  const commit = factOf(run.recorder.run, 'pushed');
  if (commit === undefined) return doneWith({ landed: 'nothing' }, ['nothing to land: nothing was pushed']);
  const branch = factOf(run.recorder.run, 'branch') ?? '';
  const landed = await (
    await run.workspace()
  ).land({
    commit,
    receipt: bound.receipt,
    message: `Merge ${oneLine(branch)}\n\nTicket: ${run.ticket}\n`,
    date: stateOf(run, target).context.startedAt ?? isoTime(run.clock),
  });
  if (!landed.ok) return failedWith(landed.failure, landed.failure.kind === 'git-failed');
  return doneWith({ landed: landed.value.landed }, [landed.value.how], {
    facts: { landed: landed.value.landed },
  });
};
