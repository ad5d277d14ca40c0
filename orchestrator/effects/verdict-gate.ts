import { digestOf } from '../model/digest.js';
import type { DocumentWrite, GateAnswered } from '../model/event.js';
import type { Target } from '../model/pipeline.js';
import { isoTime } from '../model/clock.js';
import { judgeVerdict, type VerdictAnswer } from '../gates/verdict.js';
import { criticHeader, criticRecord } from '../state/documents.js';
import type { EffectResult } from '../scheduler/scheduler.js';
import { frozenFolder } from './freeze.js';
import { subjectDigest } from './gate-answer.js';
import { targetsBetween } from './graph.js';
import { MOVED, recordFailure, stateOf, type TicketRun } from './ticket-run.js';

/** Asks what the critic's record is worth, writes the round into 30, and draws the consequence. */
export const judgeReview = async (run: TicketRun, target: Target): Promise<EffectResult> => {
  const { context } = stateOf(run, target);
  const workspace = await run.workspace();
  const snapshot = await workspace.snapshot('compare');
  const current = snapshot.ok ? snapshot.value.receipt : undefined;
  const reviewed = context.receipt;
  const verdict =
    context.verdict === undefined
      ? undefined
      : { ...context.verdict, nonce: digestOf(context.verdict.nonce) };
  const reply: VerdictAnswer =
    reviewed === undefined
      ? { kind: 'refused', reasons: ['unbindable: no receipt was recorded for this review'] }
      : judgeVerdict({
          verdict,
          nonce: context.nonce ?? '',
          pillars: run.pipeline.settings.pillars,
          reviewed,
          current,
        });
  recordRound(run, target, reply);
  await workspace.removeCheckout(frozenFolder(run, target.name));
  switch (reply.kind) {
    case 'approved':
      return MOVED;
    case 'refused':
      return refused(run, target, reply.reasons);
    case 'rejected':
      return rejected(run, target, reply.blockers);
  }
};

/** A critic that ended well and returned what is no verdict, or one that contradicts itself: refused, and 30 has it. */
export const refuseReview = (run: TicketRun, target: Target, reasons: readonly string[]): EffectResult => {
  recordRound(run, target, { kind: 'refused', reasons });
  return refused(run, target, reasons);
};

const refused = (run: TicketRun, target: Target, reasons: readonly string[]): EffectResult =>
  recordFailure(run, target, {
    kind: 'evidence-refused',
    message: `the verdict does not count: ${reasons.join('; ')}`,
    next: 'nothing was committed; `orchestrate run` again asks a fresh critic',
    canRetry: true,
  });

/** Once for each critic: after a crash between the record and its consequence the round is in 30 already. */
const recordRound = (run: TicketRun, target: Target, reply: VerdictAnswer): void => {
  const { child } = stateOf(run, target).context;
  const isRecorded = run.recorder.run.rounds.some(
    (round) => round.target === target.name && round.child === child,
  );
  if (!isRecorded) run.recorder.record(verdictEvent(run, target, reply));
};

const verdictEvent = (run: TicketRun, target: Target, reply: VerdictAnswer): GateAnswered => {
  const { context } = stateOf(run, target);
  const detail = reply.kind === 'refused' ? reply.reasons : [];
  return {
    type: 'gate.answered',
    target: target.name,
    attempt: context.attempt,
    gate: context.gate,
    kind: 'verdict',
    outcome: reply.kind === 'approved' ? 'passed' : 'refused',
    digest: subjectDigest(run, target),
    detail: reply.kind === 'rejected' ? reply.blockers.slice(0, 20) : detail,
    documents: [roundRecord(run, target, reply)],
  };
};

const roundRecord = (run: TicketRun, target: Target, reply: VerdictAnswer): DocumentWrite => {
  const name = '30_critic_summary.md';
  const { context } = stateOf(run, target);
  const { documents, epoch } = run.recorder.run;
  const outcomes = { approved: 'APPROVED', rejected: 'REJECTED', refused: 'REFUSED' } as const;
  const record = criticRecord({
    round: context.round,
    at: isoTime(run.clock),
    outcome: outcomes[reply.kind],
    detail: reply.kind === 'refused' ? reply.reasons : [],
    ...(context.child === undefined ? {} : { child: context.child }),
    ...(context.receipt === undefined ? {} : { receipt: context.receipt }),
    ...(context.verdict === undefined ? {} : { verdict: context.verdict }),
    ...(context.containment === undefined ? {} : { containment: context.containment }),
  });
  const header = documents[name] === undefined ? criticHeader(run.ticket, epoch) : '';
  return { name, append: true, text: header + record };
};

/** REJECTED: what was reviewed is out of date, and its next maker gets the blockers, until the rounds are used up. */
const rejected = (run: TicketRun, target: Target, blockers: readonly string[]): EffectResult => {
  const { context } = stateOf(run, target);
  const { rounds } = run.pipeline.settings;
  if (context.round >= rounds || target.onReject === undefined) {
    return recordFailure(run, target, {
      kind: 'rounds-used-up',
      message: `rejected in round ${context.round} of ${rounds}: ${blockers[0] ?? ''}`,
      next: `read \`30_critic_summary.md\` (\`orchestrate boot --ticket ${run.ticket}\`), then \`orchestrate tell\` the builder what to do, or raise \`rounds:\``,
      canRetry: false,
      summary: blockers,
    });
  }
  run.recorder.record({
    type: 'target.invalidated',
    target: target.onReject,
    also: targetsBetween(run.pipeline, target.onReject, target.name),
    because: `round ${context.round} of ${target.name}: REJECTED with ${blockers.length} blockers`,
    feedback: [...blockers.map((blocker) => `blocker: ${blocker}`), ...earlier(run)],
    round: context.round + 1,
  });
  return { kind: 'invalidated', target: target.onReject };
};

/** Dismissed findings and dead ends of all rounds so far, so that nobody walks into them again. */
const earlier = (run: TicketRun): string[] =>
  run.recorder.run.rounds.flatMap(({ round, verdict }) => [
    ...(verdict?.dismissed ?? []).map((text) => `dismissed in round ${round}: ${text}`),
    ...(verdict?.deadEnds ?? []).map((text) => `dead end of round ${round}: ${text}`),
  ]);
