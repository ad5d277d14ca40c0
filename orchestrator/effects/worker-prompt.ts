import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { labelOf } from '../../workers/registry.js';
import type { Worker, WorkerPaths } from '../../workers/worker.js';
import type { ManualRef, Target, WorkerSpec } from '../model/pipeline.js';
import type { PromptParts, ReviewParts } from '../context/prompt.js';
import { readDocuments } from '../record/boot.js';
import type { Containment } from './containment.js';
import type { Frozen } from './freeze.js';
import { knownNotes, matchingScars } from './notes.js';
import { howToReturn, type ReturnChannel } from './return-channel.js';
import { stateOf, type TicketRun } from './ticket-run.js';

/** Everything that one fork of an agent is made from. */
export interface ForkParts {
  /** Of one adapter; `auto` has been resolved. */
  readonly spec: WorkerSpec;
  readonly worker: Worker;
  readonly attempt: number;
  /** The child's folder. */
  readonly folder: string;
  readonly containment: Containment;
  readonly frozen: Frozen | undefined;
  readonly nonce: string | undefined;
  readonly directives: readonly { readonly id: number; readonly text: string }[];
}

const textOf = (manual: ManualRef | undefined): string =>
  manual === undefined ? '' : readFileSync(manual.path, 'utf8');

/** And what the paths, the round and the way back are. */
export interface Told extends ForkParts {
  readonly paths: WorkerPaths;
  readonly round: number;
  readonly channel: ReturnChannel;
  readonly returnTo: string;
}

/** What the prompt of one fork says. */
export const promptParts = (run: TicketRun, target: Target, parts: Told): PromptParts => {
  const { directory, run: state } = run.recorder;
  const { frozen, nonce } = parts;
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  return {
    kernel: textOf(run.pipeline.settings.kernel),
    manual: textOf(target.manual),
    assignment: assignmentOf(run, target, parts),
    ticket: read(join(directory.artifacts, 'ticket.md')),
    ...(state.documents['20_plan_approved.md'] === undefined
      ? {}
      : { plan: read(join(directory.artifacts, 'plan.md')) }),
    feedback: stateOf(run, target).context.feedback,
    directives: parts.directives,
    notes: knownNotes(directory.artifacts),
    scars: target.makes === 'plan' ? matchingScars(run) : [],
    documents: readDocuments(directory.state),
    ...(frozen === undefined || nonce === undefined ? {} : { review: reviewParts(run, frozen, nonce) }),
  };
};

const assignmentOf = (run: TicketRun, target: Target, parts: Told): PromptParts['assignment'] => {
  const label = labelOf(parts.spec);
  const how = howToReturn(parts.channel);
  return {
    ticket: run.ticket,
    target: target.name,
    attempt: parts.attempt,
    round: parts.round,
    makes: target.makes,
    access: target.access,
    worker: label === undefined ? parts.spec.name : `${parts.spec.name} (${label})`,
    tree: parts.paths.tree,
    out: parts.paths.out,
    return: parts.returnTo,
    ...(how === undefined ? {} : { 'return-how': how }),
  };
};

const reviewParts = (run: TicketRun, frozen: Frozen, nonce: string): ReviewParts => ({
  nonce,
  pages: frozen.pages,
  pillars: run.pipeline.settings.pillars,
  diff: frozen.diff,
  ...(frozen.ignored === undefined ? {} : { ignored: frozen.ignored }),
});
