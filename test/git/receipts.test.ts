/**
 * What a verdict is bound to, asked again where something leaves: at commit, at push and at land. The builtins themselves, on
 * a real record and, where they get that far, on real git.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commit } from '../../orchestrator/builtins/commit.js';
import { land } from '../../orchestrator/builtins/land.js';
import { push } from '../../orchestrator/builtins/push.js';
import type { BuiltinEffect, BuiltinResult } from '../../orchestrator/builtins/result.js';
import { openWorkspace } from '../../orchestrator/effects/git-workspace.js';
import type { TicketRun } from '../../orchestrator/effects/ticket-run.js';
import type { Workspace } from '../../orchestrator/effects/workspace.js';
import type { Facts, Receipt, RunEvent } from '../../orchestrator/model/event.js';
import type { Verdict } from '../../orchestrator/model/child.js';
import {
  answered,
  digest,
  done,
  ended,
  newRun,
  opened,
  pipelineOf,
  RECEIPT,
  sealed,
  started,
  target,
} from '../helpers/core.js';
import { colleaguePushes, makeWorld, unwrap, type World, writeFiles } from '../helpers/repo.js';
import { findRepository } from '../../orchestrator/git/repository.js';

const PIPELINE = pipelineOf([
  target('ticket'),
  target('diff', ['ticket'], { makes: 'diff' }),
  target('security', ['diff'], { makes: 'review' }),
  target('review', ['diff'], { makes: 'review' }),
  target('commit', ['security', 'review']),
  target('push', ['commit']),
  target('land', ['push']),
]);

const BUILTINS = { commit, push, land } as const;
type Name = keyof typeof BUILTINS;
const EACH: readonly Name[] = ['commit', 'push', 'land'];

/** A ticket of which these events are recorded. */
const runOf = (events: readonly RunEvent[], more: Partial<TicketRun> = {}): TicketRun => {
  const recorder = newRun(PIPELINE).open();
  const run = {
    ticket: '320',
    pipeline: PIPELINE,
    recorder,
    env: {},
    clock: { now: () => 0 },
    workspace: (): Promise<Workspace> => Promise.reject(new Error('git was reached')),
    ...more,
  } as unknown as TicketRun;
  for (const event of [opened(), ...events]) recorder.record(event);
  return run;
};

const ask = (run: TicketRun, name: Name): Promise<BuiltinResult> => {
  const builtin: BuiltinEffect = BUILTINS[name];
  const subject = PIPELINE.targets.find((one) => one.name === name);
  if (subject === undefined) throw new Error(name);
  return builtin(run, subject);
};

const sealing = (receipt: Receipt, attempt = 1): RunEvent[] => [
  started('diff', { attempt }),
  ended('diff', { attempt }),
  sealed('diff', { attempt, artifacts: [], receipt }),
  done('diff', { attempt }),
];

interface Round {
  readonly by?: 'review' | 'security';
  readonly says?: Verdict['verdict'] | 'REFUSED';
  readonly about?: Receipt;
  readonly attempt?: number;
  /** A record of old, which has none. */
  readonly isUnbound?: true;
}

const round = ({
  by = 'review',
  says = 'APPROVED',
  about = RECEIPT,
  attempt = 1,
  isUnbound,
}: Round): RunEvent[] => {
  const verdict: Verdict = {
    verdict: says === 'REFUSED' ? 'APPROVED' : says,
    nonce: 'n',
    blockers: [],
    pillars: {},
    dismissed: [],
    deadEnds: [],
    pages: [],
  };
  return [
    started(by, { attempt, round: attempt, nonce: digest('n'), ...(isUnbound ? {} : { receipt: about }) }),
    ended(by, { attempt, verdict }),
    answered(by, { attempt, kind: 'verdict', outcome: says === 'APPROVED' ? 'passed' : 'refused' }),
    done(by, { attempt }),
  ];
};

const OTHER: Receipt = { ...RECEIPT, tree: 'c'.repeat(40) };
const REFUSALS: readonly (readonly [string, RegExp, readonly RunEvent[]])[] = [
  ['without a sealed diff', /^there is no sealed diff/, []],
  ['without any verdict', /^not-reviewed: `security`/, sealing(RECEIPT)],
  [
    'when one of two reviews is missing',
    /^not-reviewed: `review`/,
    [...sealing(RECEIPT), ...round({ by: 'security' })],
  ],
  [
    'when APPROVED is about another diff',
    /^stale: round 1 of `review`/,
    [...sealing(OTHER), ...round({ by: 'security', about: OTHER }), ...round({})],
  ],
  [
    'when the diff was made again after both were APPROVED',
    /^stale: round 1 of `security`/,
    [...sealing(RECEIPT), ...round({ by: 'security' }), ...round({}), ...sealing(OTHER, 2)],
  ],
  [
    'when REJECTED is about another diff',
    /^stale: round 1 of `review`/,
    [...sealing(OTHER), ...round({ by: 'security', about: OTHER }), ...round({ says: 'REJECTED' })],
  ],
  [
    'when REJECTED is about this diff',
    /^rejected: round 1 of `review` rejected exactly this diff/,
    [...sealing(RECEIPT), ...round({ by: 'security' }), ...round({ says: 'REJECTED' })],
  ],
  [
    'when the same bytes were APPROVED first and REJECTED then',
    /^rejected: round 2 of `review`/,
    [
      ...sealing(RECEIPT),
      ...round({ by: 'security' }),
      ...round({}),
      ...round({ says: 'REJECTED', attempt: 2 }),
    ],
  ],
  [
    'when the last verdict did not count',
    /^refused: the verdict in round 2 of `review`/,
    [
      ...sealing(RECEIPT),
      ...round({ by: 'security' }),
      ...round({}),
      ...round({ says: 'REFUSED', attempt: 2 }),
    ],
  ],
  [
    'when APPROVED has no receipt',
    /^unbindable: round 1 of `review`/,
    [...sealing(RECEIPT), ...round({ by: 'security' }), ...round({ isUnbound: true })],
  ],
];

describe.each(EACH)('%s is refused', (name) => {
  test.each(REFUSALS)('%s', async (_, reason, events) => {
    const facts: Facts = { commit: 'd'.repeat(40), pushed: 'd'.repeat(40) };
    const result = await ask(runOf([started('ticket'), done('ticket', { facts }), ...events]), name);
    expect(result).toMatchObject({
      ok: false,
      failure: {
        kind: 'evidence-refused',
        message: expect.stringMatching(reason),
        next: expect.any(String),
        canRetry: false,
      },
    });
  });
});

interface Begun {
  readonly world: World;
  readonly run: TicketRun;
  readonly tree: string;
  readonly record: (...events: readonly RunEvent[]) => void;
  /** Asks a builtin, and records what it found out. */
  readonly ship: (name: Name) => Promise<BuiltinResult>;
}

/** A ticket whose diff is sealed and APPROVED by both. */
const begin = async (files: Record<string, string>): Promise<Begun> => {
  const world = makeWorld();
  let workspace: Promise<Workspace> | undefined;
  const run = runOf([], {
    paths: findRepository(world.user),
    home: join(world.dir, 'state'),
    env: world.env,
    workspace: () => (workspace ??= openWorkspace(run)),
  });
  const record = (...events: readonly RunEvent[]): void => {
    for (const event of events) run.recorder.record(event);
  };
  const facts = await (await run.workspace()).prepare({ id: '320' } as never);
  const tree = facts.tree ?? '';
  record(started('ticket'), done('ticket', { facts }));
  writeFiles(tree, files);
  const { receipt } = unwrap(await (await run.workspace()).snapshot('seal'));
  record(...sealing(receipt), ...round({ by: 'security', about: receipt }), ...round({ about: receipt }));
  const ship = async (name: Name): Promise<BuiltinResult> => {
    const result = await ask(run, name);
    if (result.ok)
      record(started(name), done(name, result.facts === undefined ? {} : { facts: result.facts }));
    return result;
  };
  return { world, run, tree, record, ship };
};

const onRemote = (world: World): string => world.run(world.origin, 'for-each-ref', '--format=%(refname)');

/** Its summary. */
const made = (result: BuiltinResult): string => {
  if (result.ok) return result.summary.join('\n');
  throw new Error(`${result.failure.kind}: ${result.failure.message}`);
};

const refusedWith = (reason: RegExp) => ({
  ok: false,
  failure: { kind: 'evidence-refused', message: expect.stringMatching(reason) },
});

test('a receipt is stale when the tree changed, unbindable when that cannot be told, and current when it is undone', async () => {
  const { world, tree, ship } = await begin({ 'new.txt': 'reviewed\n' });
  writeFileSync(join(tree, 'new.txt'), 'evil\n');
  expect(await ship('commit')).toMatchObject(refusedWith(/^the receipt is stale: the tree was changed/));
  execFileSync('mkfifo', [join(tree, 'fifo')]);
  expect(await ship('commit')).toMatchObject(refusedWith(/^the receipt is unbindable: .*`fifo` is a fifo/s));
  execFileSync('rm', [join(tree, 'fifo')]);
  writeFileSync(join(tree, 'new.txt'), 'reviewed\n');
  made(await ship('commit'));
  // Now the tree may be anything: what was reviewed is a commit.
  writeFileSync(join(tree, 'new.txt'), 'evil\n');
  made(await ship('push'));
  made(await ship('land'));
  expect(world.run(world.origin, 'show', 'main:new.txt')).toBe('reviewed');
});

test('a commit that is not of the reviewed tree is neither pushed nor landed', async () => {
  const { world, run, record, ship } = await begin({ 'new.txt': 'reviewed\n' });
  made(await ship('commit'));
  const ours = world.run(world.user, 'rev-parse', 'orchestrate/320');
  const before = onRemote(world);
  const store = join(run.paths.mainRoot, '.orchestrate/store.git');
  const evil = world.run(
    world.dir,
    `--git-dir=${store}`,
    'commit-tree',
    `${world.head}^{tree}`,
    '-p',
    ours,
    '-m',
    'x',
  );
  record(started('commit', { attempt: 2 }), done('commit', { attempt: 2, facts: { commit: evil } }));
  expect(await ship('push')).toMatchObject(refusedWith(/is not of the tree/));
  record(started('push'), done('push', { facts: { pushed: evil } }));
  expect(await ship('land')).toMatchObject(refusedWith(/does not hold the changes that were reviewed/));
  writeFileSync(join(store, 'config'), '[url "/evil"]\n\tinsteadOf = /\n');
  await expect(ship('land')).rejects.toThrow('the private store was changed by something else: `config`');
  expect(onRemote(world)).toBe(before);
});

test('a base that moved keeps the receipt when no reviewed record changed; else it needs review again', async () => {
  const list = (first: string, last: string): string =>
    `${first}\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n${last}\n`;
  const { world, ship } = await begin({ 'src/list.js': list('ONE', 'ten') });
  made(await ship('commit'));
  made(await ship('push'));
  const moved = colleaguePushes(world, { 'src/list.js': list('one', 'TEN') });
  expect(await ship('land')).toMatchObject(refusedWith(/moved and changed the same files.*`src\/list\.js`/s));
  expect(world.run(world.origin, 'rev-parse', 'main')).toBe(moved);
  colleaguePushes(world, { 'src/list.js': list('one', 'ten'), 'other.txt': 'other\n' });
  expect(made(await ship('land'))).toMatch(/^merged/);
  expect(world.run(world.origin, 'show', 'main:src/list.js').split('\n')[0]).toBe('ONE');
});
