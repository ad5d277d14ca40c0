import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { workerFor } from '../../workers/registry.js';
import type { ChildEnd, ForkRequest, WaitStatus } from '../model/child.js';
import { digestOf } from '../model/digest.js';
import type { ContainmentRecord } from '../model/event.js';
import type { Target, WorkerSpec } from '../model/pipeline.js';
import type { TargetContext } from '../machine/target-context.js';
import { forkChild } from '../process/fork.js';
import { FILES } from '../process/child-folder.js';
import { reattach } from '../process/reattach.js';
import type { ReturnAnswer } from '../process/return-file.js';
import { crossing } from '../state/crossing.js';
import { childName } from '../state/run-dir.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { chooseAgent, giveUpAgent, startedSpec } from './agent.js';
import { backOff } from './back-off.js';
import { overBudget } from './budget.js';
import { cannotContain, containmentFor, recordOf } from './containment.js';
import { changedResident, undelivered } from './directives.js';
import { administrationOf, changedAdministration } from './fingerprint.js';
import { neverStarted, recordStart, waitFor } from './fork.js';
import { freezeReview } from './freeze.js';
import { changedProgram } from './programs.js';
import { HALTED, MOVED, recordFailure, stateOf, type FailureFacts, type TicketRun } from './ticket-run.js';
import type { ReturnChannel } from './return-channel.js';
import { listenTo, type Listener } from './worker-output.js';
import type { ForkParts } from './worker-prompt.js';
import { configFolder, prepareFork, type PreparedFork } from './worker-request.js';

/** Forks an agent for one attempt, waits, and keeps its status, its verdict and at most 15 lines. */
export const startWorker = (run: TicketRun, target: Target, spec: WorkerSpec): Promise<EffectResult> =>
  run.limit(async () => {
    await backOff(run, target);
    if (run.halt.halted()) return HALTED;
    const beyond = overBudget(run);
    if (beyond !== undefined) return failedToStart(run, target, beyond);
    const chosen = chooseAgent(run, spec);
    if ('failure' in chosen) return failedToStart(run, target, chosen.failure);
    run.recorder.writeNextAction();
    const parts = await partsOf(run, target, chosen.spec);
    if ('failure' in parts) return failedToStart(run, target, parts.failure);
    const prepared = tryToPrepare(run, target, parts);
    if ('failure' in prepared) return failedToStart(run, target, prepared.failure);
    const { request, channel } = prepared;
    const listener = listenTo({ worker: parts.worker, channel, target, spec: chosen.spec, clock: run.clock });
    recordStart(run, target, {
      forks: true,
      ...startFacts(parts),
      ...(chosen.why === undefined ? {} : { agent: { name: chosen.spec.adapter, why: chosen.why } }),
      administration: administrationOf(run, parts.containment.tier),
    });
    crossing('fork');
    const handle = forkChild(request, listener.hooks);
    crossing('forked');
    loadWhileItRuns();
    const status = await waitFor(run, handle, parts.folder);
    const { folder } = parts;
    const returnPath = request.returnPath ?? '';
    return finishWorker(run, target, { status, listener, spec: chosen.spec, folder, returnPath });
  });

/** What its end needs: the time in which it works is free. A fault is met again where it is needed. */
const loadWhileItRuns = (): void => {
  for (const loaded of [import('../process/return-schema.js'), import('./judge.js')])
    loaded.catch(() => undefined);
};

const tryToPrepare = (
  run: TicketRun,
  target: Target,
  parts: ForkParts,
): PreparedFork | { readonly failure: FailureFacts } => {
  try {
    return prepareFork(run, target, parts);
  } catch (error) {
    return { failure: cannotContain(error) };
  }
};

const startFacts = ({ directives, nonce, frozen, containment }: ForkParts) => ({
  ...(directives.length === 0 ? {} : { directives: directives.map(({ id }) => id) }),
  ...(nonce === undefined ? {} : { nonce: digestOf(nonce) }),
  ...(frozen === undefined ? {} : { receipt: frozen.receipt }),
  containment: recordOf(containment),
});

/** All that the fork is made from, or why the child cannot be given what it must see. */
const partsOf = async (
  run: TicketRun,
  target: Target,
  spec: WorkerSpec,
): Promise<ForkParts | { readonly failure: FailureFacts }> => {
  const attempt = stateOf(run, target).context.attempt + 1;
  const folder = run.recorder.directory.child(childName(target.number, target.name, attempt));
  const frozen = target.makes === 'review' ? await freezeReview(run, target, folder) : undefined;
  if (frozen !== undefined && 'failure' in frozen) return frozen;
  const changed = changedResident(run, target) ?? changedProgram(run, spec);
  if (changed !== undefined) return { failure: changed };
  return {
    spec,
    worker: workerFor(spec),
    attempt,
    folder,
    containment: await containmentFor(run, spec.sandbox),
    frozen,
    nonce: frozen === undefined ? undefined : randomBytes(16).toString('hex'),
    directives: undelivered(run),
  };
};

/** An agent that an earlier orchestrator forked: its end and its return are taken once. */
export const reattachWorker = (run: TicketRun, target: Target): Promise<EffectResult> =>
  run.limit(async () => {
    const { context } = stateOf(run, target);
    const spec = startedSpec(run, target);
    const folder = run.recorder.directory.child(context.child ?? '');
    const { channel: intended, returnPath } = intentOf(folder);
    // The intent is a file that the child could write; the record is not.
    const isUnheard = target.makes === 'review' && context.containment?.tier !== 'sandbox';
    const channel = { ...intended, socket: intended.socket || isUnheard };
    const listener = listenTo({ worker: workerFor(spec), channel, target, spec, clock: run.clock });
    const found = reattach(folder, { limits: target.limits, ...(channel.socket ? {} : listener.hooks) });
    if (found.kind === 'never-started') return neverStarted(run, target);
    // Its socket ended with the orchestrator that forked it: what it says now can be anybody's.
    if (channel.socket) await found.handle.stop('an orchestrator that cannot hear it any more');
    const status = await waitFor(run, found.handle, folder);
    if (channel.socket) return unheard(run, target);
    return finishWorker(run, target, { status, listener, spec, folder, returnPath });
  });

/** What the fork was meant to be, as it is on disk. */
const intentOf = (folder: string): { readonly channel: ReturnChannel; readonly returnPath: string } => {
  const { returnPath, returns, output } = readIntent(folder);
  return {
    channel: { kind: returns ?? 'file', socket: output === 'socket' },
    returnPath: returnPath ?? join(folder, 'out', 'return.json'),
  };
};

const readIntent = (folder: string): Partial<Pick<ForkRequest, 'returnPath' | 'returns' | 'output'>> => {
  try {
    return JSON.parse(readFileSync(join(folder, FILES.job), 'utf8')) as Partial<ForkRequest>;
  } catch {
    // The crash came before the intent was on disk: then nothing was started either.
    return {};
  }
};

/** A critic that nobody listened to: not a failed attempt, and nothing of it is believed. */
const unheard = (run: TicketRun, target: Target): EffectResult => {
  run.recorder.record({
    type: 'target.failed',
    target: target.name,
    attempt: stateOf(run, target).context.attempt,
    kind: 'interrupted',
    message: 'the orchestrator that listened to this critic is gone, so a fresh one is asked',
    retry: true,
  });
  return MOVED;
};

/** A child that cannot be given what it must have is not started; the attempt is recorded and fails. */
const failedToStart = (run: TicketRun, target: Target, failure: FailureFacts): EffectResult => {
  recordStart(run, target, { forks: false });
  return recordFailure(run, target, failure);
};

interface Finished {
  readonly status: WaitStatus;
  readonly listener: Listener;
  readonly spec: WorkerSpec;
  readonly folder: string;
  readonly returnPath: string;
}

const finishWorker = async (run: TicketRun, target: Target, child: Finished): Promise<EffectResult> => {
  const { status, listener, spec, folder, returnPath } = child;
  const { context } = stateOf(run, target);
  const { end, returned, usage } = await listener.heard(folder, status, returnPath);
  rmSync(configFolder(folder), { recursive: true, force: true });
  const changed = changedAdministration(run, context.administration, tierOf(context));
  // Nothing of it is in the record then, so that a crash before the failure is written cannot believe it either.
  const value = returned?.ok === true && changed === undefined ? returned.value : undefined;
  run.recorder.record({
    type: 'child.ended',
    target: target.name,
    attempt: context.attempt,
    end: changed === undefined ? endWith(end, returned) : { kind: 'lost', detail: changed.message },
    summary: value?.summary ?? [],
    usage,
    stdoutBytes: status.stdoutBytes,
    leftovers: status.leftovers,
    ...(value === undefined ? {} : { status: value.status }),
    ...(value?.verdict === undefined ? {} : { verdict: value.verdict }),
  });
  giveUpAgent(run, spec, end);
  return changed === undefined ? MOVED : recordFailure(run, target, changed);
};

const tierOf = ({ containment }: TargetContext): ContainmentRecord['tier'] =>
  containment?.tier ?? 'same-user';

const endWith = (end: ChildEnd, returned: ReturnAnswer | undefined): ChildEnd =>
  returned?.ok === false ? { kind: 'contract', problems: returned.problems.slice(0, 10) } : end;
