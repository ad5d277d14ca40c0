import { oneLine } from '../model/text.js';
import { factOf } from '../machine/run-state.js';
import { isoTime } from '../model/clock.js';
import { stateOf, type TicketRun } from '../effects/ticket-run.js';
import { currentEvidence } from './evidence.js';
import { doneWith, failedWith, type BuiltinEffect } from './result.js';

/** Target 5: one commit of exactly the reviewed tree object. The worker's index and branch are not asked. */
export const commit: BuiltinEffect = async (run, target) => {
  const evidence = await currentEvidence(run, target);
  if ('failure' in evidence) return { ok: false, failure: evidence.failure };
  const { receipt } = evidence;
  if (receipt.files === 0) {
    return doneWith({ base: receipt.base }, ['nothing to commit: the reviewed tree is the base'], {
      facts: { commit: receipt.base },
    });
  }
  const made = await (
    await run.workspace()
  ).commit({
    receipt,
    message: messageOf(run),
    // The time at which the target was first started: a commit that is made again after a crash has the same id.
    date: stateOf(run, target).context.startedAt ?? isoTime(run.clock),
  });
  if (!made.ok) return failedWith(made.failure);
  return doneWith(
    { commit: made.value.commit },
    [
      `${made.value.commit.slice(0, 12)} on ${made.value.branch}, tree ${receipt.tree.slice(0, 12)} as reviewed`,
    ],
    { facts: { commit: made.value.commit } },
  );
};

const messageOf = (run: TicketRun): string => {
  const ticket = factOf(run.recorder.run, 'ticket');
  const title = oneLine(ticket?.title ?? run.ticket, 68);
  const criteria = (ticket?.acceptance ?? []).map((line) => `- ${line}`).join('\n');
  return `${title}\n\n${criteria === '' ? '' : `${criteria}\n\n`}Ticket: ${run.ticket}\n`;
};
