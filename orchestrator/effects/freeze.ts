import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Receipt } from '../model/event.js';
import type { Page } from '../git/pages.js';
import type { Target } from '../model/pipeline.js';
import { targetState } from '../machine/run-state.js';
import { receiptState } from '../gates/verdict.js';
import { childMarker } from '../model/child.js';
import { processesMarked } from '../process/process-table.js';
import { checkoutsFolder } from '../state/home.js';
import type { RunDirectory } from '../state/run-dir.js';
import type { FailureFacts, TicketRun } from './ticket-run.js';

/** What a critic is given: bytes that nobody can change any more. */
export interface Frozen {
  readonly receipt: Receipt;
  /** Read-only checkout of the tree object. */
  readonly checkout: string;
  readonly diff: string;
  /** List of ignored files that are in no diff, where there are some. */
  readonly ignored?: string;
  readonly pages: readonly Page[];
}

export const ignoredList = ({ artifacts }: RunDirectory): string => join(artifacts, 'ignored.txt');

/** The nearest target of a diff that this one stands on. */
const reviewedTarget = (run: TicketRun, target: Target): Target | undefined => {
  const byName = new Map(run.pipeline.targets.map((candidate) => [candidate.name, candidate]));
  const queue = [...target.needs];
  const seen = new Set(queue);
  for (let head = 0; head < queue.length; head += 1) {
    const name = queue[head] ?? '';
    const candidate = byName.get(name);
    if (candidate?.makes === 'diff') return candidate;
    for (const need of candidate?.needs ?? []) {
      if (!seen.has(need)) queue.push(need);
      seen.add(need);
    }
  }
  return undefined;
};

/** The receipt of the diff that is reviewed. */
export const reviewedReceipt = (run: TicketRun, target: Target): Receipt | undefined => {
  const reviewed = reviewedTarget(run, target);
  return reviewed === undefined ? undefined : targetState(run.recorder.run, reviewed.name).context.receipt;
};

/** No critic is asked while something of the builder runs: it was looked for and ended, so what is there could not be. */
const stillBuilding = (run: TicketRun, target: Target): FailureFacts | undefined => {
  const reviewed = reviewedTarget(run, target);
  const [alive] =
    reviewed === undefined ? [] : processesMarked(childMarker(run.paths.mainRoot, run.ticket, reviewed.name));
  if (alive === undefined) return undefined;
  return {
    kind: 'evidence-refused',
    message: `a process of \`${reviewed?.name ?? ''}\` is still there and could not be ended: ${alive.pid}`,
    next: `end it, then \`orchestrate run --ticket ${run.ticket}\` goes on`,
    canRetry: false,
  };
};

/** In a folder of the ticket's own: with one name for both, ticket `320` and ticket `320-a` could meet. */
export const frozenFolder = (run: TicketRun, name: string): string =>
  join(checkoutsFolder(run.home, run.paths.mainRoot), run.ticket, name);

/**
 * Takes the sealed tree, proves that the work still is that tree, and lays it out for the critic: a read-only checkout,
 * and the diff in pages of at most 46,080 bytes.
 */
export const freezeReview = async (
  run: TicketRun,
  target: Target,
  folder: string,
): Promise<Frozen | { readonly failure: FailureFacts }> => {
  const receipt = reviewedReceipt(run, target);
  if (receipt === undefined) {
    return {
      failure: { kind: 'evidence-refused', message: 'there is no sealed diff to review', canRetry: false },
    };
  }
  const building = stillBuilding(run, target);
  if (building !== undefined) return { failure: building };
  const workspace = await run.workspace();
  const now = await workspace.snapshot('compare');
  if (!now.ok) return { failure: { ...now.failure, canRetry: false } };
  if (receiptState(receipt, now.value.receipt) !== 'current') {
    return {
      failure: {
        kind: 'evidence-refused',
        message: 'the tree was changed after its diff was sealed and before the review',
        next: `look at the tree; \`orchestrate run --rebuild\` the diff to seal what is there now`,
        canRetry: false,
      },
    };
  }
  const checkout = frozenFolder(run, target.name);
  await workspace.removeCheckout(checkout);
  const made = await workspace.checkout(receipt.tree, checkout, 'read-only');
  if (!made.ok) return { failure: { ...made.failure, canRetry: true } };
  const pagesFolder = join(folder, 'pages');
  rmSync(pagesFolder, { recursive: true, force: true });
  const diff = join(run.recorder.directory.artifacts, 'branch.diff');
  const pages = await workspace.pages(diff, pagesFolder);
  if (pages.some(({ digest }, index) => digest !== receipt.pages[index])) {
    return {
      failure: {
        kind: 'evidence-refused',
        message: 'the pages of the diff are not the sealed ones',
        canRetry: false,
      },
    };
  }
  const ignored = ignoredList(run.recorder.directory);
  return { receipt, checkout, diff, pages, ...(existsSync(ignored) ? { ignored } : {}) };
};
