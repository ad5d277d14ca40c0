import { factOf } from '../machine/run-state.js';
import { boundReceipt } from './evidence.js';
import { doneWith, failedWith, type BuiltinEffect } from './result.js';

/** Target 6: the explicit commit to the frozen URL, then a look at the remote. */
export const push: BuiltinEffect = async (run, target) => {
  const bound = boundReceipt(run, target);
  if ('failure' in bound) return { ok: false, failure: bound.failure };
  const commit = factOf(run.recorder.run, 'commit');
  if (commit === undefined || commit === bound.receipt.base) {
    return doneWith({ pushed: 'nothing' }, ['nothing to push: there is no commit']);
  }
  const pushed = await (await run.workspace()).push(commit, bound.receipt);
  if (!pushed.ok) return failedWith(pushed.failure, pushed.failure.kind === 'git-failed');
  return doneWith(
    { pushed: commit },
    [
      `${commit.slice(0, 12)} is the head of ${factOf(run.recorder.run, 'branch') ?? ''} on ${pushed.value.url}`,
    ],
    {
      facts: { pushed: commit },
    },
  );
};
