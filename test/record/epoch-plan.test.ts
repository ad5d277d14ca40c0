import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../orchestrator/model/digest.js';
import type { RunEvent } from '../../orchestrator/model/event.js';
import type { Pipeline } from '../../orchestrator/model/pipeline.js';
import { expectedHere, expectedOnRemote, leftBehind } from '../../orchestrator/machine/left-behind.js';
import { targetState, type RunState } from '../../orchestrator/machine/run-state.js';
import { criticHeader, ticketDocument } from '../../orchestrator/state/documents.js';
import {
  abandoned,
  decided,
  digest,
  done,
  failed,
  opened,
  paused,
  RECEIPT,
  started,
} from '../helpers/core.js';
import {
  PLAN,
  PIPELINE,
  FACTS,
  planned,
  diffed,
  reviewed,
  ticketDone,
  SHIPPED,
  runOf,
  linesOf,
  rebuild,
  C1,
  C2,
} from '../helpers/epochs.js';

const stateIn = (run: RunState, name: string) => targetState(run, name);

describe('what a new epoch takes over', () => {
  test('a target that is kept is what the old epoch had made of it, to the last field', () => {
    const run = runOf(SHIPPED);
    const before = run.boot().run;
    const after = rebuild(run, 'push');
    for (const name of ['ticket', 'side', 'diff', 'review', 'commit']) {
      expect(stateIn(after, name).value).toBe('done');
      // What a new attempt would find in its context, such as an older output, goes with the older attempts; so does their use.
      const { spent: all, ...wanted } = stateIn(before, name).context;
      const { spent, ...found } = stateIn(after, name).context;
      expect(found).toEqual(wanted);
      expect(spent?.inputTokens ?? 10).toBe(10);
      expect(all?.inputTokens ?? 10).toBeGreaterThanOrEqual(10);
    }
    expect(after.usage).toMatchObject({ inputTokens: 30, outputTokens: 15, costUsd: null });
  });

  test('the named target and all that stands on it are as never made, and attempts go on counting', () => {
    const after = rebuild(runOf(SHIPPED), 'diff');
    expect(['diff', 'review', 'commit', 'push'].map((name) => stateIn(after, name))).toEqual(
      [2, 2, 1, 1].map((attempt) => ({
        value: 'pending',
        context: { attempt, failures: 0, round: 1, gate: 0, feedback: [], reason: 'rebuild was asked for' },
      })),
    );
    expect(['ticket', 'side'].map((name) => stateIn(after, name).value)).toEqual(['done', 'done']);
  });

  test('an approval is not carried: the sealed work is, and its gates are asked from the first', () => {
    const run = runOf(SHIPPED);
    const after = rebuild(run, 'diff');
    const { value, context } = stateIn(after, 'plan');
    expect({ value, gate: context.gate, child: context.child, attempt: context.attempt }).toEqual({
      value: 'gating',
      gate: 0,
      child: '01-plan.1',
      attempt: 1,
    });
    expect(context.artifacts?.[0]).toEqual({ path: 'plan.md', digest: digestOf(PLAN) });
    expect(context.approval).toBeUndefined();
    expect(context.output).toBeUndefined();
    expect(Object.keys(after.documents).toSorted()).toEqual(['00_governance.md', '10_ticket.md']);
    expect(linesOf(run.directory.journal).filter(({ event }) => event.type === 'approval.answered')).toEqual(
      [],
    );
  });

  test('an approval by a policy is not carried either', () => {
    const byPolicy = SHIPPED.map((event) =>
      event.type === 'approval.answered' ? { ...event, how: 'policy' as const } : event,
    );
    expect(stateIn(rebuild(runOf(byPolicy), 'commit'), 'plan').value).toBe('gating');
  });

  test('no child of a kept target is named twice, and the next one of a rebuilt target has a new number', () => {
    const run = runOf(SHIPPED);
    const after = rebuild(run, 'diff');
    expect(after.forks).toBe(2);
    expect(readdirSync(run.directory.children).toSorted()).toEqual(['01-plan.1', '06-side.1']);
    expect(stateIn(after, 'diff').context.attempt).toBe(2);
    const recorder = run.open();
    recorder.record(started('diff', { attempt: 3, child: '02-diff.3' }));
    recorder.close();
    const again = rebuild(run, 'side');
    expect(stateIn(again, 'diff').context.attempt).toBe(3);
    expect(stateIn(again, 'commit').context).toMatchObject({ attempt: 1, reason: 'rebuild was asked for' });
  });

  test('documents are those of the new epoch, with all rounds of a kept review', () => {
    const run = runOf(SHIPPED);
    const after = rebuild(run, 'commit');
    expect(readFileSync(run.directory.document('00_governance.md'), 'utf8')).toBe('laws of epoch 2\n');
    expect(readFileSync(run.directory.document('10_ticket.md'), 'utf8')).toBe(ticketDocument(2, FACTS));
    const critic = readFileSync(run.directory.document('30_critic_summary.md'), 'utf8');
    expect(critic.startsWith(criticHeader('320', 2))).toBe(true);
    expect(critic.match(/^(epoch: .*|## Round .*)$/gm)).toEqual([
      'epoch: 2',
      '## Round 1: REJECTED, 1 blockers',
      '## Round 2: APPROVED, 0 blockers',
    ]);
    expect(after.rounds.map(({ outcome, verdict: word }) => [outcome, word?.dismissed[0]])).toEqual([
      ['REJECTED', 'dismissed in 1'],
      ['APPROVED', 'dismissed in 2'],
    ]);
    const next = readFileSync(run.directory.document('99_next_action.md'), 'utf8');
    expect(next).toMatch(/^epoch: 2$/m);
    expect(run.boot()).toMatchObject({ unwritten: [], nextActionSeq: after.seq });
    // And once more: what is not in the journal of epoch 2 line by line is still known in epoch 3.
    expect(rebuild(run, 'push').rounds).toHaveLength(2);
  });

  test('directives stay read, and those that a prompt carried stay delivered', () => {
    const after = rebuild(runOf(SHIPPED), 'ticket');
    expect(after.directivesRead.map(({ id }) => id)).toEqual([1, 2]);
    expect(after.directivesDelivered).toEqual([1]);
  });

  test('events keep the times at which they happened', () => {
    const run = runOf(SHIPPED);
    const old = linesOf(run.directory.journal).find(
      ({ event }) => event.type === 'target.done' && event.target === 'side',
    );
    const after = rebuild(run, 'push');
    expect(stateIn(after, 'side').context.endedAt).toBe(old?.at);
    expect(after.openedAt).toBe('2026-01-01T00:00:00.000Z');
  });

  test.each<[string, readonly RunEvent[], object]>([
    [
      'failed',
      [started('diff', { child: '02-diff.1' }), failed('diff')],
      { value: 'failed', context: { attempt: 1, failure: { message: 'exit status 1' } } },
    ],
    [
      'paused',
      [started('diff', { child: '02-diff.1' }), paused('diff')],
      { value: 'paused', context: { until: '2026-01-01T00:00:00.000Z' } },
    ],
    ['abandoned', [abandoned('diff')], { value: 'abandoned', context: { reason: 'not wanted any more' } }],
    [
      'with an end that nobody took yet',
      [started('diff', { child: '02-diff.1' })],
      { value: 'running', context: { child: '02-diff.1' } },
    ],
    ['half judged', diffed(1).slice(0, 4), { value: 'gating', context: { gate: 1 } }],
    [
      'sent back by its review',
      [...diffed(1), ...reviewed(1, 'REJECTED')],
      {
        value: 'pending',
        context: { attempt: 1, round: 2, feedback: ['blocker: x'], reason: 'round 1 of review: REJECTED' },
      },
    ],
    [
      'to be tried again',
      [started('diff', { child: '02-diff.1' }), failed('diff', { retry: true, message: 'no luck' })],
      {
        value: 'pending',
        context: { attempt: 1, feedback: ['no luck'], reason: 'attempt 1 failed: no luck' },
      },
    ],
  ])('a kept target that was %s still is', (_, events, expected) => {
    const after = rebuild(runOf([opened(), started('ticket'), ticketDone, ...planned, ...events]), 'side');
    expect(stateIn(after, 'diff')).toMatchObject(expected);
  });

  test('a plan that a person had rejected is made again and not asked about again', () => {
    const rejected = [...planned.slice(0, 4), decided('plan', { answer: 'rejected', note: 'too wide' })];
    const { value, context } = stateIn(
      rebuild(runOf([opened(), started('ticket'), ticketDone, ...rejected]), 'side'),
      'plan',
    );
    expect(value).toBe('pending');
    expect(context.feedback).toEqual(['rejected by person ada: too wide']);
  });

  test('a person is not asked about sealed work whose recipe has changed since, unless a latch holds it', () => {
    const changed = (latch: boolean): Pipeline => ({
      ...PIPELINE,
      targets: PIPELINE.targets.map((each) =>
        each.name === 'plan' ? { ...each, latch, recipeDigest: digest('another') } : each,
      ),
    });
    expect(stateIn(rebuild(runOf(SHIPPED), 'side', changed(false)), 'plan')).toMatchObject({
      value: 'pending',
      context: { attempt: 1, reason: expect.stringContaining('recipe changed') },
    });
    expect(stateIn(rebuild(runOf(SHIPPED), 'side', changed(true)), 'plan').value).toBe('gating');
  });

  test('a target that the pipeline no longer has leaves nothing but its count of attempts', () => {
    const smaller = { ...PIPELINE, targets: PIPELINE.targets.filter(({ name }) => name !== 'side') };
    const after = rebuild(runOf(SHIPPED), 'push', smaller);
    expect(stateIn(after, 'side')).toMatchObject({ value: 'pending', context: { attempt: 1 } });
  });
});

describe('where git was left', () => {
  test('the old commit and what was pushed are the old values of the new ones, and nothing else', () => {
    const after = rebuild(runOf(SHIPPED), 'commit');
    expect(after.left).toEqual({
      branch: 'orchestrate/320',
      remoteUrl: 'file:///origin',
      commit: C1,
      pushed: C1,
    });
    expect(stateIn(after, 'commit').context.facts).toBeUndefined();
    expect(expectedHere(after)).toEqual([C1, undefined]);
    expect(expectedOnRemote(after)).toEqual([C1, undefined]);
  });

  test('a commit whose push was never seen to arrive may be on the remote all the same', () => {
    const unseen = SHIPPED.slice(0, -2);
    const run = runOf([...unseen, failed('push')]);
    expect(expectedOnRemote(rebuild(run, 'commit'))).toEqual([undefined, C1]);
  });

  test("without an earlier epoch a branch that is missing or another one is nobody's to move", () => {
    const { run } = runOf(SHIPPED).boot();
    expect([expectedHere(run), expectedOnRemote(run)]).toEqual([[C1], [C1]]);
  });

  test('they are forgotten with the branch, and the newest counts', () => {
    const run = runOf(SHIPPED);
    rebuild(run, 'ticket');
    const again = (facts: typeof FACTS, commit: string): readonly RunEvent[] => [
      started('ticket', { attempt: 2 }),
      done('ticket', { attempt: 2, facts }),
      started('commit', { attempt: 2 }),
      done('commit', { attempt: 2, facts: { commit } }),
    ];
    const recorder = run.open();
    for (const event of again(FACTS, C2)) recorder.record(event);
    expect(leftBehind(recorder.run)).toMatchObject({ commit: C2, pushed: C1 });
    recorder.record(started('ticket', { attempt: 3 }));
    recorder.record(done('ticket', { attempt: 3, facts: { ...FACTS, branch: 'other/320', base: C2 } }));
    expect(leftBehind(recorder.run)).toEqual({ branch: 'other/320', remoteUrl: 'file:///origin' });
    recorder.close();
  });

  test('where nothing was to be committed the base is not taken for our commit', () => {
    const nothing = SHIPPED.map((event) =>
      event.type === 'target.done' && event.target === 'commit'
        ? { ...event, facts: { commit: RECEIPT.base } }
        : event,
    );
    expect(leftBehind(runOf(nothing).boot().run)?.commit).toBeUndefined();
  });

  test('that the work has landed stays known until there is a new base', () => {
    const landed = [
      ...SHIPPED.slice(0, -1),
      started('push'),
      done('push', { facts: { pushed: C1, landed: C1 } }),
    ];
    expect(rebuild(runOf(landed), 'push').left?.landed).toBe(C1);
    expect(rebuild(runOf(landed), 'ticket').left).toEqual({
      branch: 'orchestrate/320',
      remoteUrl: 'file:///origin',
      commit: C1,
      pushed: C1,
    });
  });
});
