/**
 * What a journal claims beyond its own chain, gathered line by line: receipts, seals, commits, directives, and whether
 * every answer of a gate or a person is bound to bytes that had been sealed before.
 */
import { digestOf, digestOfValue, canonicalJson, type Digest } from '../model/digest.js';
import type { JournalLine, Receipt, RunEvent } from '../model/event.js';
import { judgeVerdict } from '../gates/verdict.js';
import { targetState, type RunState } from '../machine/run-state.js';

export interface SeenReceipt {
  /** Target and attempt that it was made by. */
  readonly name: string;
  readonly seq: number;
  readonly receipt: Receipt;
}

/** The last sealing of one artifact. */
export interface Seal {
  readonly digest: Digest;
  readonly target: string;
  readonly attempt: number;
  readonly receipt?: Receipt;
}

export interface CommitClaim {
  readonly seq: number;
  readonly commit: string;
  /** What was approved, or sealed where nothing is reviewed, when the commit was made. */
  readonly receipt: Receipt | undefined;
}

interface Asked {
  readonly digest: Digest;
  readonly seq: number;
}

/** Grows with every line; nothing else changes it. */
export interface Evidence {
  /** By content: a review is recorded with the receipt of the diff that it judges. */
  readonly receipts: Map<string, SeenReceipt>;
  /** By path in the artifacts; output files of a target are here as well. */
  readonly seals: Map<string, Seal>;
  /** Digests of every plan that was sealed. */
  readonly plans: Set<Digest>;
  readonly commits: CommitClaim[];
  readonly directives: { readonly id: number; readonly digest: Digest }[];
  readonly counts: { gates: number; approvals: number; verdicts: number };
  readonly problems: { readonly approvals: string[]; readonly gates: string[]; readonly verdicts: string[] };
  /** Working memory: what each target has sealed, is asked, and was started with. */
  readonly subjects: Map<string, ReadonlySet<Digest>>;
  readonly asked: Map<string, Asked>;
  readonly reviewed: Map<string, Receipt | undefined>;
  lastDiff: Receipt | undefined;
}

export const newEvidence = (): Evidence => ({
  receipts: new Map(),
  seals: new Map(),
  plans: new Set(),
  commits: [],
  directives: [],
  counts: { gates: 0, approvals: 0, verdicts: 0 },
  problems: { approvals: [], gates: [], verdicts: [] },
  subjects: new Map(),
  asked: new Map(),
  reviewed: new Map(),
  lastDiff: undefined,
});

type Of<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>;

/** Call after the line was applied to `run`. */
export const gather = (evidence: Evidence, line: JournalLine, run: RunState): void => {
  // The table has a row for each type, and the row takes that type.
  const note = NOTES[line.event.type] as
    | ((to: Evidence, of: RunEvent, at: JournalLine, now: RunState) => void)
    | undefined;
  note?.(evidence, line.event, line, run);
};

const NOTES: {
  readonly [Type in RunEvent['type']]?: (
    evidence: Evidence,
    event: Of<Type>,
    line: JournalLine,
    run: RunState,
  ) => void;
} = {
  'target.started': (evidence, event, line) => {
    noteReceipt(evidence, event, line);
    evidence.asked.delete(event.target);
    evidence.reviewed.set(event.target, event.receipt);
    // What a refusal is about that comes before anything was sealed.
    evidence.subjects.set(event.target, new Set([digestOfValue(event.receipt ?? [])]));
  },
  'work.sealed': (evidence, event, line) => {
    noteReceipt(evidence, event, line);
    noteSeal(evidence, event);
  },
  'gate.answered': (evidence, event, { seq }, run) => {
    noteGate(evidence, event, seq);
    if (event.kind === 'verdict' && event.outcome === 'passed') noteVerdict(evidence, event, seq, run);
  },
  'approval.answered': (evidence, event, { seq }) => noteApproval(evidence, event, seq),
  'target.invalidated': (evidence, event) => {
    for (const name of [event.target, ...event.also]) evidence.asked.delete(name);
  },
  'target.done': (evidence, event, { seq }, run) => noteDone(evidence, event, seq, run),
  'directive.read': (evidence, { id, digest }) => {
    evidence.directives.push({ id, digest });
  },
};

const noteReceipt = (
  evidence: Evidence,
  event: Of<'target.started'> | Of<'work.sealed'>,
  { seq }: JournalLine,
): void => {
  const { receipt, target, attempt } = event;
  if (receipt === undefined) return;
  const key = canonicalJson(receipt);
  // Attempts are counted over all epochs.
  if (!evidence.receipts.has(key)) evidence.receipts.set(key, { name: `${target}.${attempt}`, seq, receipt });
};

const noteSeal = (evidence: Evidence, event: Of<'work.sealed'>): void => {
  const { target, attempt, artifacts, receipt } = event;
  for (const { path, digest } of artifacts) {
    const seal = { digest, target, attempt, ...(receipt === undefined ? {} : { receipt }) };
    evidence.seals.set(path, seal);
    if (path === 'plan.md') evidence.plans.add(digest);
    if (path === 'branch.diff') evidence.lastDiff = receipt;
  }
  const plan = artifacts.find(({ path }) => path === 'plan.md')?.digest;
  const subjects = [digestOfValue(artifacts), ...(plan === undefined ? [] : [plan])];
  evidence.subjects.set(
    target,
    new Set(receipt === undefined ? subjects : [...subjects, digestOfValue(receipt)]),
  );
};

const noteGate = (
  evidence: Evidence,
  { target, kind, outcome, digest }: Of<'gate.answered'>,
  seq: number,
): void => {
  evidence.counts.gates += 1;
  if (evidence.subjects.get(target)?.has(digest) !== true) {
    evidence.problems.gates.push(
      `line ${seq}: gate ${kind} of ${target} is bound to ${digest}, which was not sealed`,
    );
  }
  if (kind === 'approval' && outcome === 'awaiting') evidence.asked.set(target, { digest, seq });
};

/** A person's answer counts for what was asked last, and once; a policy answers about the sealed bytes at once. */
const noteApproval = (
  evidence: Evidence,
  { target, digest, by, how, answer }: Of<'approval.answered'>,
  seq: number,
): void => {
  const asked = evidence.asked.get(target);
  evidence.asked.delete(target);
  evidence.counts.approvals += 1;
  const isBound =
    asked === undefined
      ? how === 'policy' && evidence.subjects.get(target)?.has(digest) === true
      : asked.digest === digest;
  if (isBound) return;
  const what =
    asked === undefined ? 'nothing was asked about it' : `line ${asked.seq} asked about ${asked.digest}`;
  evidence.problems.approvals.push(
    `line ${seq}: ${target} was ${answer} by ${by} for ${digest}, but ${what}`,
  );
};

/** The gate's reasoning once more, from the record: the nonce, the pages, no contradiction, the same receipt. */
const noteVerdict = (
  evidence: Evidence,
  { target }: Of<'gate.answered'>,
  seq: number,
  run: RunState,
): void => {
  evidence.counts.verdicts += 1;
  const { verdict, nonce, receipt } = targetState(run, target).context;
  const given = evidence.reviewed.get(target);
  if (receipt === undefined || canonicalJson(given) !== canonicalJson(receipt)) {
    evidence.problems.verdicts.push(
      `line ${seq}: ${target} approved another receipt than its critic was given`,
    );
    return;
  }
  const judged = judgeVerdict({
    verdict: verdict === undefined ? undefined : { ...verdict, nonce: digestOf(verdict.nonce) },
    nonce: nonce ?? '',
    // Which pillars were asked is the pipeline's, and that may have changed since.
    pillars: [],
    reviewed: receipt,
    current: receipt,
  });
  if (judged.kind === 'approved') return;
  const why = judged.kind === 'rejected' ? 'the critic rejected it' : judged.reasons.join('; ');
  evidence.problems.verdicts.push(`line ${seq}: the verdict of ${target} opened the gate, but ${why}`);
};

const noteDone = (evidence: Evidence, event: Of<'target.done'>, seq: number, run: RunState): void => {
  const commit = event.facts?.commit;
  if (commit !== undefined) {
    const approved = run.rounds.findLast(({ outcome }) => outcome === 'APPROVED')?.receipt;
    evidence.commits.push({ seq, commit, receipt: approved ?? evidence.lastDiff });
  }
  const plan = event.documents?.find(({ name }) => name === '20_plan_approved.md');
  if (plan !== undefined)
    notePlan(evidence, plan.text, seq, targetState(run, event.target).context.approval?.digest);
};

/** Document 20 is the plan that was approved, or the sealed one where the pipeline asks for no approval. */
const notePlan = (evidence: Evidence, text: string, seq: number, approved: Digest | undefined): void => {
  const quoted = /^digest: "([^"\n]*)"$/m.exec(text)?.[1] ?? 'no digest';
  const isSealed = evidence.plans.has(quoted as Digest);
  if (isSealed && (approved ?? quoted) === quoted) return;
  evidence.problems.approvals.push(
    `line ${seq}: \`20_plan_approved.md\` quotes ${quoted}, which is not the plan that was approved`,
  );
};
