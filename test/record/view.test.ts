import { describe, expect, test } from 'vitest';
import { UNKNOWN_USAGE } from '../../orchestrator/model/child.js';
import type { RunEvent } from '../../orchestrator/model/event.js';
import { applyLine, emptyRun } from '../../orchestrator/machine/run-state.js';
import { approveCommand } from '../../orchestrator/record/next.js';
import { stateOf, statusView, type StatusView, type ViewOptions } from '../../orchestrator/record/view.js';
import {
  answered,
  digest,
  done,
  ended,
  failed,
  opened,
  paused,
  pipelineOf,
  RECEIPT,
  sealed,
  started,
  target,
} from '../helpers/core.js';

const PIPELINE = pipelineOf([
  target('a', [], { gates: [{ kind: 'not-empty' }] }),
  target('b', ['a']),
  target('c', ['b']),
]);
const START = Date.parse('2025-11-30T12:00:00.000Z');

/** Line n is of second n. */
const view = (events: readonly RunEvent[], more: Partial<ViewOptions> = {}): StatusView => {
  const run = emptyRun('320');
  for (const event of events)
    applyLine(run, {
      v: 1,
      seq: run.seq + 1,
      at: new Date(START + (run.seq + 1) * 1_000).toISOString(),
      event,
    });
  return statusView({ pipeline: PIPELINE, run, isHeld: false, now: START + 60_000, bootBytes: 400, ...more });
};

test('a run that has done nothing yet has every key, and null for what is not known', () => {
  expect(view([opened()])).toEqual({
    ticket: '320',
    pipeline: 'test',
    state: 'stopped',
    epoch: 1,
    pipelineChanges: [],
    base: null,
    tree: null,
    waitingFor: null,
    targets: ['a', 'b', 'c'].map((name, number) => ({
      number,
      name,
      status: 'pending',
      phase: 'pending',
      attempt: 0,
      round: 1,
      reason: null,
      startedAt: null,
      elapsedMs: null,
      child: null,
      summary: [],
      usage: UNKNOWN_USAGE,
      agent: null,
      containment: null,
    })),
    context: { depth0Tokens: 100, bootTokens: 100, workerTokens: null, forks: 0 },
    usage: UNKNOWN_USAGE,
  });
});

describe('a target', () => {
  const one = (events: readonly RunEvent[], more: Partial<ViewOptions> = {}) => view(events, more).targets[0];

  test.each<[string, string, readonly RunEvent[]]>([
    ['active', 'running', [started('a')]],
    ['active', 'gating', [started('a'), ended('a')]],
    ['active', 'waiting', [started('a'), ended('a'), answered('a', { outcome: 'awaiting' })]],
    ['active', 'paused', [started('a'), paused('a')]],
    ['active', 'failed', [started('a'), failed('a')]],
    ['done', 'gated', [started('a'), done('a')]],
    ['abandoned', 'abandoned', [{ type: 'target.abandoned', target: 'a', because: 'x' }]],
  ])('is %s, phase %s', (status, phase, events) => {
    expect(one(events)).toMatchObject({ status, phase });
  });

  test('without gates is done, not gated', () => {
    expect(view([started('b'), done('b')]).targets[1]?.phase).toBe('done');
  });

  test('has its summary, its usage and why it runs; when it failed, why it failed', () => {
    expect(one([started('a', { reason: 'input x changed', round: 2 }), ended('a')])).toMatchObject({
      attempt: 1,
      round: 2,
      reason: 'input x changed',
      summary: ['it went well'],
      usage: { inputTokens: 10, outputTokens: 5, costUsd: null },
    });
    expect(one([started('a'), failed('a')])?.reason).toBe('exit status 1');
  });

  test('runs until now, and has run until it ended', () => {
    expect(one([started('a')])?.elapsedMs).toBe(59_000);
    expect(one([started('a'), ended('a')])?.elapsedMs).toBe(1_000);
    expect(one([started('a')], { now: START })?.elapsedMs).toBe(0);
  });

  test('names the process of its child only while that runs', () => {
    const identityOf = () => ({ pid: 7, startTime: '99', bootId: 'b' });
    expect(one([started('a', { child: '00-a.1' })], { identityOf })?.child).toEqual({
      pid: 7,
      startTime: '99',
    });
    expect(one([started('a', { child: '00-a.1' }), ended('a')], { identityOf })?.child).toBeNull();
    expect(one([started('a', { child: '00-a.1' })], { identityOf: () => undefined })?.child).toBeNull();
  });
});

test('what is waited for is named with the exact command', () => {
  expect(view([started('a'), ended('a'), sealed('a'), answered('a', { outcome: 'awaiting' })])).toMatchObject(
    {
      state: 'waiting',
      waitingFor: {
        target: 'a',
        kind: 'approval',
        digest: digest('plan'),
        command: approveCommand('320', 'a', digest('plan')),
      },
    },
  );
  expect(view([started('a'), paused('a')]).waitingFor).toEqual({
    target: 'a',
    kind: 'limit',
    digest: null,
    command: 'orchestrate run --ticket 320',
  });
});

test('base and tree come from the record', () => {
  expect(
    view([started('a'), ended('a'), sealed('a', { receipt: RECEIPT }), done('a', { facts: { base: 'b' } })]),
  ).toMatchObject({ base: 'b', tree: RECEIPT.tree });
});

test('workers used what they said; the orchestrator holds their summaries and nothing else', () => {
  const { context } = view([started('a', { child: '00-a.1' }), ended('a', { summary: ['x'.repeat(79)] })]);
  expect(context).toEqual({ bootTokens: 100, depth0Tokens: 120, workerTokens: 15, forks: 1 });
});

test('a run is running while somebody holds it, and stopped when it should and nobody does', () => {
  expect([
    stateOf('failed', true),
    stateOf('running', false),
    stateOf('waiting', false),
    stateOf('done', false),
  ]).toEqual(['running', 'stopped', 'waiting', 'done']);
});
