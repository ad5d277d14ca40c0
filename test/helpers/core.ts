/** Values of the core for tests: pipelines, events, and a run directory with a recorder on it. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { digestOf, type Digest } from '../../orchestrator/model/digest.js';
import type { Receipt, RunEvent } from '../../orchestrator/model/event.js';
import { Problem, type Failure } from '../../orchestrator/model/failure.js';
import type { Pipeline, Target } from '../../orchestrator/model/pipeline.js';
import { boot, type Booted } from '../../orchestrator/record/boot.js';
import { openRecorder, type Recorder, type RecorderOptions } from '../../orchestrator/record/recorder.js';
import { makeRunDirectory, runDirectory, type RunDirectory } from '../../orchestrator/state/run-dir.js';

/** A folder of this test, removed after it. */
export const folder = (): string => {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'core-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
};

export const KEY = Buffer.alloc(32, 7);
export const OTHER_KEY = Buffer.alloc(32, 8);

export const digest = (name: string): Digest => digestOf(name);

const LIMITS = { idleMs: 60_000, timeoutMs: 60_000, graceMs: 2_000 };

export const target = (name: string, needs: readonly string[] = [], more: Partial<Target> = {}): Target => ({
  number: 0,
  name,
  needs,
  recipe: { kind: 'command', argv: ['true'] },
  makes: 'files',
  access: 'write',
  inputs: [],
  outputs: [],
  gates: [],
  attempts: 2,
  limits: LIMITS,
  latch: false,
  recipeDigest: digest(`recipe of ${name}`),
  ...more,
});

/** Targets are numbered in order; they must come after what they need. */
export const pipelineOf = (targets: readonly Target[], more: Partial<Pipeline> = {}): Pipeline => ({
  name: 'test',
  digest: digest('pipeline'),
  sources: [],
  settings: {
    tickets: { source: 'file', path: 'tickets/{ticket}.md' },
    remote: 'origin',
    branch: 'orchestrate/{ticket}',
    jobs: 4,
    rounds: 5,
    pillars: ['correctness', 'tests'],
    env: [],
    sandbox: { mode: 'off', network: true, read: [], write: [] },
    ignored: [],
  },
  workers: {},
  targets: targets.map((each, number) => ({ ...each, number })),
  ...more,
});

export const RECEIPT: Receipt = {
  base: 'b'.repeat(40),
  tree: 'a'.repeat(40),
  diff: digest('diff'),
  diffBytes: 10,
  records: digest('records'),
  ignored: digest('ignored'),
  files: 2,
  addedLines: 5,
  removedLines: 1,
  pages: [digest('page 1'), digest('page 2')],
};

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>;
type More<Type extends RunEvent['type']> = Partial<EventOf<Type>>;

export const opened = (ticket = '320', more: More<'run.opened'> = {}): EventOf<'run.opened'> => ({
  type: 'run.opened',
  ticket,
  epoch: 1,
  pipeline: { name: 'test', digest: digest('pipeline'), file: 'builtin', sources: [] },
  documents: [],
  ...more,
});

export const started = (name: string, more: More<'target.started'> = {}): EventOf<'target.started'> => ({
  type: 'target.started',
  target: name,
  attempt: 1,
  reason: 'it was never made',
  recipe: digest(`recipe of ${name}`),
  inputs: {},
  round: 1,
  ...more,
});

export const ended = (name: string, more: More<'child.ended'> = {}): EventOf<'child.ended'> => ({
  type: 'child.ended',
  target: name,
  attempt: 1,
  end: { kind: 'exited', code: 0 },
  summary: ['it went well'],
  usage: { inputTokens: 10, outputTokens: 5, costUsd: null },
  stdoutBytes: 3,
  leftovers: 0,
  ...more,
});

export const sealed = (name: string, more: More<'work.sealed'> = {}): EventOf<'work.sealed'> => ({
  type: 'work.sealed',
  target: name,
  attempt: 1,
  artifacts: [{ path: 'plan.md', digest: digest('plan') }],
  ...more,
});

export const answered = (name: string, more: More<'gate.answered'> = {}): EventOf<'gate.answered'> => ({
  type: 'gate.answered',
  target: name,
  attempt: 1,
  gate: 0,
  kind: 'approval',
  outcome: 'passed',
  digest: digest('plan'),
  detail: [],
  ...more,
});

export const decided = (
  name: string,
  more: More<'approval.answered'> = {},
): EventOf<'approval.answered'> => ({
  type: 'approval.answered',
  target: name,
  digest: digest('plan'),
  answer: 'approved',
  by: 'person ada',
  how: 'command',
  ...more,
});

export const done = (name: string, more: More<'target.done'> = {}): EventOf<'target.done'> => ({
  type: 'target.done',
  target: name,
  attempt: 1,
  output: digest(`output of ${name}`),
  summary: [],
  ...more,
});

export const failed = (name: string, more: More<'target.failed'> = {}): EventOf<'target.failed'> => ({
  type: 'target.failed',
  target: name,
  attempt: 1,
  kind: 'worker-failed',
  message: 'exit status 1',
  retry: false,
  ...more,
});

export const invalidated = (
  name: string,
  more: More<'target.invalidated'> = {},
): EventOf<'target.invalidated'> => ({
  type: 'target.invalidated',
  target: name,
  also: [],
  because: 'round 1: REJECTED',
  feedback: ['blocker: x'],
  ...more,
});

export const paused = (name: string, more: More<'target.paused'> = {}): EventOf<'target.paused'> => ({
  type: 'target.paused',
  target: name,
  attempt: 1,
  until: '2026-01-01T00:00:00.000Z',
  message: 'the limit is reached',
  ...more,
});

export const abandoned = (name: string): EventOf<'target.abandoned'> => ({
  type: 'target.abandoned',
  target: name,
  because: 'not wanted any more',
});

/** Time moves by a second with every question. */
export const steppingClock = () => {
  let now = Date.parse('2025-11-30T12:00:00.000Z');
  return { now: () => (now += 1_000) };
};

export interface TestRun {
  readonly root: string;
  readonly directory: RunDirectory;
  readonly pipeline: Pipeline;
  readonly boot: (key?: Uint8Array) => Booted;
  /** Boots and opens for writing, as every start of the program does. */
  readonly open: (more?: Partial<RecorderOptions>) => Recorder;
}

/** An empty run directory. */
export const newRun = (
  pipeline: Pipeline = pipelineOf([target('plan'), target('diff', ['plan'])]),
  ticket = '320',
): TestRun => {
  const root = folder();
  const directory = runDirectory(root, ticket);
  makeRunDirectory(root, directory);
  const clock = steppingClock();
  const bootRun = (key: Uint8Array = KEY): Booted => boot(directory, key);
  return {
    root,
    directory,
    pipeline,
    boot: bootRun,
    open: (more = {}) => openRecorder({ directory, key: KEY, booted: bootRun(), pipeline, clock, ...more }),
  };
};

/** What a call refuses with. */
export const failureOf = (call: () => unknown): Failure => {
  try {
    call();
  } catch (error) {
    if (error instanceof Problem) return error.failure;
    throw error;
  }
  throw new Error('nothing was refused');
};
