/** A ticket on its way through a small pipeline, as events on the disk, and its rebuild. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { digestOf } from '../../orchestrator/model/digest.js';
import type { JournalLine, RunEvent } from '../../orchestrator/model/event.js';
import type { Pipeline } from '../../orchestrator/model/pipeline.js';
import type { RunState } from '../../orchestrator/machine/run-state.js';
import { beginEpoch, type NextEpoch } from '../../orchestrator/record/epoch.js';
import { planEpoch } from '../../orchestrator/record/epoch-plan.js';
import { criticHeader, criticRecord, ticketDocument } from '../../orchestrator/state/documents.js';
import { writeDirective } from '../../orchestrator/state/inbox.js';
import { journalBytes, readJournal } from '../../orchestrator/state/journal.js';
import {
  answered,
  decided,
  digest,
  done,
  ended,
  invalidated,
  KEY,
  newRun,
  opened,
  pipelineOf,
  RECEIPT,
  sealed,
  started,
  target,
  type TestRun,
} from './core.js';

export const PLAN = 'the plan\n';
const DIFF = 'the diff\n';

/**
 *  ticket --> plan (approval) --> diff --> review --> commit --> push
 *                                  side (stands on nothing)
 */
export const PIPELINE = pipelineOf([
  target('ticket', [], { recipe: { kind: 'builtin', builtin: 'ticket' }, latch: true }),
  target('plan', ['ticket'], { makes: 'plan', gates: [{ kind: 'approval', by: 'person' }], latch: true }),
  target('diff', ['plan'], { makes: 'diff', gates: [{ kind: 'not-empty' }] }),
  target('review', ['diff'], { makes: 'review', gates: [{ kind: 'verdict' }], onReject: 'diff' }),
  target('commit', ['review'], { recipe: { kind: 'builtin', builtin: 'commit' } }),
  target('push', ['commit'], { recipe: { kind: 'builtin', builtin: 'push' } }),
  target('side'),
]);

export const FACTS = {
  branch: 'orchestrate/320',
  base: RECEIPT.base,
  tree: '/trees/320',
  remoteUrl: 'file:///origin',
};
export const [C1, C2] = ['1'.repeat(40), '2'.repeat(40)] as [string, string];

const verdict = (word: 'APPROVED' | 'REJECTED', dismissed: readonly string[] = []) => ({
  verdict: word,
  nonce: 'n',
  blockers: word === 'APPROVED' ? [] : [{ title: 'too short', detail: 'by far' }],
  pillars: {},
  dismissed,
  deadEnds: [],
  pages: [],
});

const round = (number: number, outcome: 'APPROVED' | 'REJECTED', header = ''): RunEvent =>
  answered('review', {
    attempt: number,
    kind: 'verdict',
    outcome: outcome === 'APPROVED' ? 'passed' : 'refused',
    documents: [
      {
        name: '30_critic_summary.md',
        append: true,
        text:
          header +
          criticRecord({ round: number, at: `time ${number}`, outcome, detail: [], receipt: RECEIPT }),
      },
    ],
  });

export const ticketDone = done('ticket', {
  facts: FACTS,
  documents: [{ name: '10_ticket.md', text: ticketDocument(1, FACTS) }],
});

export const planned: readonly RunEvent[] = [
  started('plan', { child: '01-plan.1', directives: [1] }),
  ended('plan'),
  sealed('plan', {
    artifacts: [
      { path: 'plan.md', digest: digestOf(PLAN) },
      { path: 'notes/plan-a.md', digest: digest('a') },
    ],
  }),
  answered('plan', { outcome: 'awaiting' }),
  decided('plan'),
  done('plan', { documents: [{ name: '20_plan_approved.md', text: 'approved\n' }] }),
];

export const diffed = (attempt: number): readonly RunEvent[] => [
  started('diff', { attempt, round: attempt, child: `02-diff.${attempt}` }),
  ended('diff', { attempt }),
  sealed('diff', { attempt, artifacts: [{ path: 'branch.diff', digest: digestOf(DIFF) }], receipt: RECEIPT }),
  answered('diff', { attempt, kind: 'not-empty' }),
  done('diff', { attempt }),
];

export const reviewed = (attempt: number, word: 'APPROVED' | 'REJECTED'): readonly RunEvent[] => [
  started('review', { attempt, round: attempt, child: `03-review.${attempt}`, receipt: RECEIPT }),
  ended('review', { attempt, verdict: verdict(word, [`dismissed in ${attempt}`]) }),
  sealed('review', { attempt, artifacts: [] }),
  round(attempt, word, attempt === 1 ? criticHeader('320', 1) : ''),
  ...(word === 'REJECTED'
    ? [invalidated('diff', { also: ['review'], round: 2, because: 'round 1 of review: REJECTED' })]
    : [done('review', { attempt })]),
];

/** The whole way, with a rejected first round. */
export const SHIPPED: readonly RunEvent[] = [
  opened('320', { documents: [{ name: '00_governance.md', text: 'laws of epoch 1\n' }] }),
  started('ticket'),
  ticketDone,
  { type: 'directive.read', id: 1, digest: digest('told'), text: 'keep the name' },
  { type: 'directive.read', id: 2, digest: digest('told too'), text: 'and the colour' },
  started('side', { child: '06-side.1' }),
  done('side'),
  ...planned,
  ...diffed(1),
  ...reviewed(1, 'REJECTED'),
  ...diffed(2),
  ...reviewed(2, 'APPROVED'),
  started('commit'),
  done('commit', { facts: { commit: C1 } }),
  started('push'),
  done('push', { facts: { pushed: C1 } }),
  { type: 'run.finished' },
];

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/** A run with these events on the disk, and the files that its children and seals had left. */
export const runOf = (events: readonly RunEvent[], pipeline = PIPELINE): TestRun => {
  const run = newRun(pipeline);
  const recorder = run.open();
  for (const event of events) recorder.record(event);
  recorder.writeNextAction();
  recorder.close();
  const { directory } = run;
  for (const event of events) {
    if (event.type === 'target.started' && event.child !== undefined) {
      write(join(directory.child(event.child), 'stdout.log'), `output of ${event.child}\n`);
      write(join(directory.child(event.child), 'out', 'return.json'), '{}');
    }
  }
  for (const [name, text] of [
    ['ticket.md', 'ticket'],
    ['plan.md', PLAN],
    ['branch.diff', DIFF],
    ['pages/page-0001.diff', DIFF],
  ] as const) {
    write(join(directory.artifacts, name), text);
  }
  for (const note of ['plan-a.md', 'diff-b.md', 'review-c.md'])
    write(join(directory.artifacts, 'notes', note), `# ${note}\n`);
  writeDirective(directory.inbox, 'keep the name\n');
  return run;
};

export const linesOf = (path: string): JournalLine[] => {
  const lines: JournalLine[] = [];
  readJournal(journalBytes(path), { path, key: KEY }, (line) => lines.push(line));
  return lines;
};

export const nextOf = (run: TestRun, asked: string, pipeline: Pipeline = run.pipeline): NextEpoch => {
  const booted = run.boot();
  const { epoch } = booted.run;
  return {
    key: KEY,
    pipeline,
    asked,
    epoch,
    events: planEpoch({
      pipeline,
      asked,
      run: booted.run,
      lines: linesOf(run.directory.journal),
      opened: opened('320', {
        epoch: epoch + 1,
        previous: { epoch, seq: booted.head.seq, hash: booted.head.hash },
        documents: [{ name: '00_governance.md', text: `laws of epoch ${epoch + 1}\n` }],
      }),
      now: '2026-01-01T00:00:00.000Z',
    }),
  };
};

export const rebuild = (run: TestRun, asked: string, pipeline?: Pipeline): RunState => {
  beginEpoch(run.directory, nextOf(run, asked, pipeline));
  return run.boot().run;
};
