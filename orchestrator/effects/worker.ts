import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { labelOf, workerFor } from '../../workers/registry.js';
import type { ForkRequest, Usage, WaitStatus, WorkerReturn } from '../model/child.js';
import { UNKNOWN_USAGE } from '../model/child.js';
import { digestOf } from '../model/digest.js';
import { Problem } from '../model/failure.js';
import type { ManualRef, Target, WorkerSpec } from '../model/pipeline.js';
import { buildPrompt, type PromptParts, type ReviewParts } from '../context/prompt.js';
import { childEnvironment } from '../process/child-env.js';
import { forkChild } from '../process/fork.js';
import { reattach } from '../process/reattach.js';
import { readReturn } from '../process/return-file.js';
import { readDocuments } from '../record/boot.js';
import { readDirectives } from '../state/inbox.js';
import { crossing } from '../state/crossing.js';
import { childName } from '../state/run-dir.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { knownNotes, matchingScars } from './notes.js';
import { commonVariables, neverStarted, recordStart, waitFor } from './fork.js';
import { freezeReview, type Frozen } from './freeze.js';
import { HALTED, MOVED, recordFailure, stateOf, workFolder, type TicketRun } from './ticket-run.js';

/** Forks an agent for one attempt, waits, and keeps its status, its verdict and at most 15 lines. */
export const startWorker = (run: TicketRun, target: Target, spec: WorkerSpec): Promise<EffectResult> =>
  run.limit(async () => {
    if (run.halt.halted()) return HALTED;
    run.recorder.writeNextAction();
    const attempt = stateOf(run, target).context.attempt + 1;
    const folder = run.recorder.directory.child(childName(target.number, target.name, attempt));
    const paths = childPaths(folder);
    const frozen = target.makes === 'review' ? await freezeReview(run, target, folder) : undefined;
    if (frozen !== undefined && 'failure' in frozen) return failedToFreeze(run, target, frozen.failure);
    const nonce = frozen === undefined ? undefined : randomBytes(16).toString('hex');
    const directives = undelivered(run);
    const changed = changedResident(run, target);
    if (changed !== undefined) return failedToFreeze(run, target, changed);
    const request = forkRequest(run, target, { spec, attempt, folder, paths, frozen, nonce, directives });
    recordStart(run, target, {
      forks: true,
      ...(directives.length === 0 ? {} : { directives: directives.map(({ id }) => id) }),
      ...(nonce === undefined ? {} : { nonce: digestOf(nonce) }),
      ...(frozen === undefined ? {} : { receipt: frozen.receipt }),
    });
    crossing('fork');
    const handle = forkChild(request);
    crossing('forked');
    return finishWorker(run, target, await waitFor(run, handle), paths.returnPath);
  });

/** An agent that an earlier orchestrator forked: its end and its return are taken once. */
export const reattachWorker = (run: TicketRun, target: Target): Promise<EffectResult> =>
  run.limit(async () => {
    const { context } = stateOf(run, target);
    const folder = run.recorder.directory.child(context.child ?? '');
    const found = reattach(folder, { limits: target.limits });
    if (found.kind === 'never-started') return neverStarted(run, target);
    const status = await waitFor(run, found.handle);
    return finishWorker(run, target, status, returnPathOf(folder));
  });

interface ChildPaths {
  readonly out: string;
  readonly prompt: string;
  readonly returnPath: string;
}

const childPaths = (folder: string): ChildPaths => {
  const out = join(folder, 'out');
  return {
    out,
    prompt: join(folder, 'prompt.md'),
    returnPath: join(out, `return-${randomBytes(12).toString('hex')}.json`),
  };
};

/** The one path that the parent named, as the intent on disk has it. */
const returnPathOf = (folder: string): string => {
  const job = JSON.parse(readFileSync(join(folder, 'job.json'), 'utf8')) as { readonly returnPath?: string };
  return job.returnPath ?? join(folder, 'out', 'return.json');
};

/** A child that cannot be given what it must see is not started; the attempt is recorded and fails. */
const failedToFreeze = (
  run: TicketRun,
  target: Target,
  failure: Parameters<typeof recordFailure>[2],
): EffectResult => {
  recordStart(run, target, { forks: false });
  return recordFailure(run, target, failure);
};

const undelivered = (run: TicketRun): { readonly id: number; readonly text: string }[] => {
  const { directivesRead, directivesDelivered } = run.recorder.run;
  const wanted = directivesRead.filter(({ id }) => !directivesDelivered.includes(id));
  if (wanted.length === 0) return [];
  const found = new Map(
    readDirectives(run.recorder.directory.inbox).map((directive) => [directive.id, directive]),
  );
  return wanted.map(({ id, digest }) => {
    const directive = found.get(id);
    if (directive?.digest === digest) return { id, text: directive.text };
    throw new Problem({
      kind: 'record-refused',
      message: `directive ${id} is ${directive === undefined ? 'gone' : 'not what was told'}: the journal has its digest`,
      where: run.recorder.directory.inbox,
      next: `restore the file, or say it again with \`orchestrate tell --ticket ${run.ticket} …\` after \`run --rebuild\``,
    });
  });
};

/** The kernel and the manual must be the bytes that the pipeline was validated with. */
const changedResident = (run: TicketRun, target: Target): Parameters<typeof recordFailure>[2] | undefined => {
  for (const manual of [run.pipeline.settings.kernel, target.manual]) {
    if (manual === undefined || digestOf(readFileSync(manual.path)) === manual.digest) continue;
    return {
      kind: 'record-refused',
      message: `\`${manual.path}\` changed while the run was going on`,
      next: 'look at the change; `orchestrate run` again takes the new bytes and makes again what they touch',
      canRetry: false,
    };
  }
  return undefined;
};

const textOf = (manual: ManualRef | undefined): string =>
  manual === undefined ? '' : readFileSync(manual.path, 'utf8');

interface ForkParts {
  readonly spec: WorkerSpec;
  readonly attempt: number;
  readonly folder: string;
  readonly paths: ChildPaths;
  readonly frozen: Frozen | undefined;
  readonly nonce: string | undefined;
  readonly directives: readonly { readonly id: number; readonly text: string }[];
}

const forkRequest = (run: TicketRun, target: Target, parts: ForkParts): ForkRequest => {
  const { spec, attempt, folder, paths, frozen } = parts;
  const tree = frozen?.checkout ?? workFolder(run);
  const invocation = workerFor(spec).invocation({
    spec,
    ticket: run.ticket,
    target: target.name,
    access: target.access,
    paths: { tree, ...paths },
    packageRoot: run.packageRoot,
    nodePath: process.execPath,
  });
  const round = stateOf(run, target).context.round;
  const variables = {
    ...commonVariables(run, target, attempt),
    ORCHESTRATE_ROUND: String(round),
    ORCHESTRATE_MAKES: target.makes,
    ORCHESTRATE_ACCESS: target.access,
    ORCHESTRATE_TREE: tree,
    ORCHESTRATE_OUT: paths.out,
    ORCHESTRATE_RETURN: paths.returnPath,
  };
  return {
    ticket: run.ticket,
    target: target.name,
    number: target.number,
    generation: attempt,
    dir: folder,
    argv: invocation.argv,
    cwd: tree,
    env: childEnvironment({
      parent: run.env,
      allow: run.pipeline.settings.env,
      agentKeys: invocation.agentKeys,
      set: { ...invocation.env, ...spec.env, ...variables },
    }),
    prompt: buildPrompt(promptParts(run, target, { ...parts, tree, round })),
    returnPath: paths.returnPath,
    limits: target.limits,
  };
};

const promptParts = (
  run: TicketRun,
  target: Target,
  parts: ForkParts & { readonly tree: string; readonly round: number },
): PromptParts => {
  const { directory, run: state } = run.recorder;
  const { paths, frozen, nonce } = parts;
  const label = labelOf(parts.spec);
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  return {
    kernel: textOf(run.pipeline.settings.kernel),
    manual: textOf(target.manual),
    assignment: {
      ticket: run.ticket,
      target: target.name,
      attempt: parts.attempt,
      round: parts.round,
      makes: target.makes,
      access: target.access,
      worker: label === undefined ? parts.spec.name : `${parts.spec.name} (${label})`,
      tree: parts.tree,
      out: paths.out,
      return: paths.returnPath,
    },
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

const reviewParts = (run: TicketRun, frozen: Frozen, nonce: string): ReviewParts => ({
  nonce,
  pages: frozen.pages,
  pillars: run.pipeline.settings.pillars,
  diff: frozen.diff,
});

const finishWorker = async (
  run: TicketRun,
  target: Target,
  status: WaitStatus,
  returnPath: string,
): Promise<EffectResult> => {
  const returned =
    status.end.kind === 'exited' && status.end.code === 0
      ? await readReturn(returnPath, { makes: target.makes })
      : undefined;
  const value = returned?.ok === true ? returned.value : undefined;
  run.recorder.record({
    type: 'child.ended',
    target: target.name,
    attempt: stateOf(run, target).context.attempt,
    end: returned?.ok === false ? { kind: 'contract', problems: returned.problems.slice(0, 10) } : status.end,
    summary: value?.summary ?? [],
    usage: usageOf(value),
    stdoutBytes: status.stdoutBytes,
    leftovers: status.leftovers,
    ...(value === undefined ? {} : { status: value.status }),
    ...(value?.verdict === undefined ? {} : { verdict: value.verdict }),
  });
  return MOVED;
};

const usageOf = (value: WorkerReturn | undefined): Usage => value?.usage ?? UNKNOWN_USAGE;
