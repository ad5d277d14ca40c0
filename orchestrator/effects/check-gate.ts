import { join } from 'node:path';
import type { Gate, Target } from '../model/pipeline.js';
import { childEnvironment } from '../process/child-env.js';
import { runCheck, type CheckResult } from '../process/command-check.js';
import { policyOf } from '../scheduler/policy.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { frozenFolder } from './freeze.js';
import { gateEvent, subjectDigest } from './gate-answer.js';
import { cannotContain, contain, containmentFor, recordOf, type Containment } from './containment.js';
import { administrationOf, changedAdministration } from './fingerprint.js';
import { commonVariables } from './fork.js';
import { linkIgnored } from './ignored.js';
import {
  HALTED,
  MOVED,
  recordFailure,
  stateOf,
  workFolder,
  type FailureFacts,
  type TicketRun,
} from './ticket-run.js';

type CheckGate = Extract<Gate, { readonly kind: 'check' }>;

/** Where a check runs, and what it can reach. */
interface Room {
  readonly folder: string;
  /** Absent where there is no sealed tree: then it is the pipeline's own command on the user's own files. */
  readonly containment?: Containment;
  /** Listed ignored files, outside of the folder. */
  readonly read: readonly string[];
}

/** A clean checkout of the sealed tree where there is one, else the folder of the commands. */
const makeRoom = async (
  run: TicketRun,
  target: Target,
): Promise<Room | { readonly failure: FailureFacts }> => {
  const { receipt } = stateOf(run, target).context;
  if (receipt === undefined) return { folder: workFolder(run), read: [] };
  const folder = frozenFolder(run, `${target.name}.check`);
  const workspace = await run.workspace();
  await workspace.removeCheckout(folder);
  const made = await workspace.checkout(receipt.tree, folder, 'write');
  if (!made.ok) return { failure: { ...made.failure, canRetry: true } };
  const containment = await containmentFor(run, run.pipeline.settings.sandbox);
  return { folder, containment, read: linkIgnored(run, folder) };
};

/** Runs a check ourselves, and looks afterwards whether it left the record and git alone: it runs what a worker wrote. */
export const runCheckGate = (run: TicketRun, target: Target, gate: CheckGate): Promise<EffectResult> =>
  run.limit(async () => {
    const { context } = stateOf(run, target);
    const room = await makeRoom(run, target);
    if ('failure' in room) return recordFailure(run, target, room.failure);
    const tier = room.containment?.tier ?? 'same-user';
    const before = administrationOf(run, tier);
    const start = tryToStart(run, target, gate, room);
    if ('failure' in start) return recordFailure(run, target, start.failure);
    const result = await runCheck({
      ...start,
      cwd: room.folder,
      timeoutMs: gate.timeoutMs,
      signal: run.abort.signal,
      outputFile: join(
        run.recorder.directory.child(context.child ?? ''),
        `check-${gate.name.replaceAll(/[^A-Za-z0-9._-]+/g, '-')}.${context.gate}.log`,
      ),
    });
    run.recorder.requireUntouched();
    const changed = changedAdministration(run, before, tier);
    if (room.containment !== undefined) await (await run.workspace()).removeCheckout(room.folder);
    if (changed !== undefined) return recordFailure(run, target, changed);
    return recordCheck(run, target, gate, { result, containment: room.containment });
  });

type Start = { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> };

const tryToStart = (
  run: TicketRun,
  target: Target,
  gate: CheckGate,
  room: Room,
): Start | { readonly failure: FailureFacts } => {
  try {
    return startOf(run, target, gate, room);
  } catch (error) {
    return { failure: { ...cannotContain(error), kind: 'check-failed' } };
  }
};

const startOf = (
  run: TicketRun,
  target: Target,
  gate: CheckGate,
  { folder, containment, read }: Room,
): Start => {
  const env = childEnvironment({
    parent: run.env,
    allow: run.pipeline.settings.env,
    set: { ...commonVariables(run, target, stateOf(run, target).context.attempt) },
  });
  if (containment === undefined) return { argv: gate.argv, env };
  const rule = run.pipeline.settings.sandbox;
  const request = { argv: gate.argv, cwd: folder, env, rule, read, write: [folder] };
  return { argv: contain(run, containment, request), env };
};

interface Checked {
  readonly result: CheckResult;
  readonly containment: Containment | undefined;
}

const recordCheck = (
  run: TicketRun,
  target: Target,
  gate: CheckGate,
  { result, containment }: Checked,
): EffectResult => {
  const digest = subjectDigest(run, target);
  const policy = policyOf(result.end);
  // Nothing was found out: the gate is asked again when the run resumes.
  if (policy.kind === 'interrupted') return HALTED;
  const facts = {
    command: gate.argv,
    outputDigest: result.outputDigest,
    ...(result.end.kind === 'exited' ? { exitCode: result.end.code } : {}),
    ...(containment === undefined ? {} : { containment: recordOf(containment) }),
  };
  if (policy.kind === 'succeeded') {
    run.recorder.record({
      ...gateEvent(run, target, gate, {
        outcome: 'passed',
        digest,
        detail: [`exit status 0, output ${result.outputDigest}`],
      }),
      ...facts,
    });
    return MOVED;
  }
  const failure = {
    kind: 'check-failed' as const,
    message: `check \`${gate.name}\` failed: ${policy.message}`,
    canRetry: true,
    summary: result.tail,
  };
  run.recorder.record({
    ...gateEvent(run, target, gate, { failure, digest, detail: result.tail }),
    ...facts,
  });
  return recordFailure(run, target, failure);
};
