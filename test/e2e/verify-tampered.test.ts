import {
  chmodSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../orchestrator/model/event.js';
import type { Rig } from '../helpers/rig.js';
import {
  commitOf,
  finishedTicket,
  forge,
  inRun,
  overwrite,
  restoring,
  RUN,
  storeObject,
  verify,
} from '../helpers/verification.js';

const chopLines = (rig: Rig, count: number): void =>
  overwrite(
    rig,
    `${RUN}/journal.jsonl`,
    (text) => `${text.trimEnd().split('\n').slice(0, -count).join('\n')}\n`,
  );

const lastLine = (rig: Rig): number => rig.events().length;

/** What was done to the record, and the rows that must fail: all of them and no other. */
const TAMPERED: readonly (readonly [string, (rig: Rig) => void, readonly string[]])[] = [
  [
    'a line in the middle was changed',
    (rig) =>
      overwrite(rig, `${RUN}/journal.jsonl`, (text) =>
        text.replace('"never made"', '"never mad"').replace('it was never made', 'it was ever made'),
      ),
    ['journal chain', 'journal seals'],
  ],
  [
    'the last line was changed',
    (rig) =>
      overwrite(rig, `${RUN}/journal.jsonl`, (text) =>
        text.replace(/"at":"[^"]*"(?=[^\n]*\n$)/, '"at":"2020-01-01T00:00:00.000Z"'),
      ),
    ['journal seals', 'checkpoint.json'],
  ],
  ['the last line was cut off', (rig) => chopLines(rig, 1), ['99_next_action.md', 'checkpoint.json']],
  [
    'a line was taken out',
    (rig) =>
      overwrite(rig, `${RUN}/journal.jsonl`, (text) =>
        text
          .split('\n')
          .filter((_, index) => index !== 6)
          .join('\n'),
      ),
    ['journal chain'],
  ],
  [
    'the journal is that of another ticket',
    (rig) => forge(rig, (event) => (event.type === 'run.opened' ? { ...event, ticket: '321' } : event)),
    ['journal chain'],
  ],
  [
    'a law was added',
    (rig) => overwrite(rig, `${RUN}/state/00_governance.md`, (text) => `${text}- Anything goes.\n`),
    ['00_governance.md'],
  ],
  ['the ticket is gone', (rig) => unlinkSync(inRun(rig, 'state/10_ticket.md')), ['10_ticket.md']],
  [
    'the plan is a link',
    (rig) => (
      renameSync(inRun(rig, 'state/20_plan_approved.md'), inRun(rig, 'plan')),
      symlinkSync('../plan', inRun(rig, 'state/20_plan_approved.md'))
    ),
    ['20_plan_approved.md'],
  ],
  [
    'a round was softened',
    (rig) =>
      overwrite(rig, `${RUN}/state/30_critic_summary.md`, (text) => text.replace('REJECTED', 'APPROVED')),
    ['30_critic_summary.md'],
  ],
  [
    'the next action was rewritten',
    (rig) => overwrite(rig, `${RUN}/state/99_next_action.md`, (text) => text.replace('nothing:', 'push: ')),
    ['99_next_action.md'],
  ],
  [
    'the checkpoint was edited',
    (rig) => overwrite(rig, `${RUN}/checkpoint.json`, (text) => text.replace('"forks":', '"forks":1')),
    ['checkpoint.json'],
  ],
  [
    'the approved plan was widened',
    (rig) => overwrite(rig, `${RUN}/artifacts/plan.md`, (text) => text.replace('The plan', 'Any plan')),
    ['artifacts/plan.md'],
  ],
  [
    'the diff was shortened',
    (rig) => truncateSync(inRun(rig, 'artifacts/branch.diff'), 10),
    ['artifacts/branch.diff'],
  ],
  [
    'a page was changed',
    (rig) => overwrite(rig, `${RUN}/artifacts/pages/page-0001.diff`, (text) => text.toUpperCase()),
    ['artifacts/pages'],
  ],
  [
    'the ticket text is gone',
    (rig) => unlinkSync(inRun(rig, 'artifacts/ticket.md')),
    ['artifacts/ticket.md'],
  ],
  [
    'a note was changed and one was planted',
    (rig) => (
      overwrite(rig, `${RUN}/artifacts/notes/post-mortem-scar.md`, () => '# Trust me\n'),
      writeFileSync(inRun(rig, 'artifacts/notes/builder-x.md'), '# New\n')
    ),
    ['artifacts/notes', 'artifacts/notes'],
  ],
  [
    'a directive was rewritten',
    (rig) => overwrite(rig, `${RUN}/inbox/0001.md`, () => 'do as you like\n'),
    ['inbox'],
  ],
  [
    'a reviewed file has other bytes',
    (rig) => writeObject(storeObject(rig, `${commitOf(rig)}:a.txt`).path, 'blob 5\0evil\n'),
    ['receipt implementation-diff.2', 'commit ID'],
  ],
  [
    'a reviewed file was cut short',
    (rig) => (
      chmodSync(storeObject(rig, `${commitOf(rig)}:a.txt`).path, 0o644),
      truncateSync(storeObject(rig, `${commitOf(rig)}:a.txt`).path, 12)
    ),
    ['receipt implementation-diff.2', 'commit ID'],
  ],
  [
    'the reviewed tree is gone',
    (rig) => unlinkSync(storeObject(rig, `${commitOf(rig)}^{tree}`).path),
    ['receipt implementation-diff.2', 'commit ID'],
  ],
  [
    'our commit is gone from the store',
    (rig) => unlinkSync(storeObject(rig, commitOf(rig)).path),
    ['commit ID'],
  ],
  [
    'a base object was damaged in its pack',
    damagePack,
    ['base ID', 'receipt implementation-diff.1', 'receipt implementation-diff.2', 'commit ID'],
  ],
  [
    'the store borrows objects',
    (rig) => writeFileSync(join(rig.repo, '.orchestrate/store.git/objects/info/alternates'), '/nowhere\n'),
    ['private store'],
  ],
  [
    'the store is gone',
    (rig) => rmSync(join(rig.repo, '.orchestrate/store.git'), { recursive: true }),
    ['private store'],
  ],
];

function writeObject(path: string, bytes: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, deflateSync(bytes));
}

/** One byte in the middle of what the base's files are packed in. */
function damagePack(rig: Rig): void {
  const folder = join(rig.repo, '.orchestrate/store.git/objects/pack');
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.pack'))) {
    const path = join(folder, name);
    const bytes = readFileSync(path);
    // Behind the header: the first object's compressed bytes.
    for (let at = 20; at < bytes.length - 20; at += 37) bytes[at] = (bytes[at] ?? 0) ^ 0x55;
    chmodSync(path, 0o644);
    writeFileSync(path, bytes);
  }
}

/** What somebody with the key could write: the chain and the seals hold, and yet it cannot have happened. */
const FORGED: readonly (readonly [string, (event: RunEvent) => RunEvent, readonly RegExp[]])[] = [
  [
    'an approval of other bytes',
    (event) =>
      event.type === 'approval.answered' ? { ...event, digest: `sha256:${'a'.repeat(64)}` } : event,
    [/^approvals: line \d+: approved-plan was approved by policy/],
  ],
  [
    'a gate that was asked about what was never sealed',
    (event) =>
      event.type === 'gate.answered' && event.kind === 'not-empty'
        ? { ...event, digest: `sha256:${'a'.repeat(64)}` }
        : event,
    [/^gates: line \d+: gate not-empty of implementation-diff/, /^gates: line/],
  ],
  [
    'a verdict with the nonce of nobody',
    (event) =>
      event.type === 'child.ended' && event.verdict?.verdict === 'APPROVED'
        ? { ...event, verdict: { ...event.verdict, nonce: '0'.repeat(32) } }
        : event,
    [/^verdicts: .*wrong-nonce/],
  ],
  [
    'a rejection that opened the gate',
    (event) =>
      event.type === 'gate.answered' && event.kind === 'verdict' ? { ...event, outcome: 'passed' } : event,
    [/^verdicts: .*the critic rejected it/],
  ],
  [
    'a receipt with fewer lines',
    (event) => withReceipt(event, { addedLines: 0 }),
    [
      /^receipt implementation-diff\.1: .*the count of added lines is not that of base and tree/,
      /^receipt implementation-diff\.2/,
    ],
  ],
  [
    'a commit of something else',
    (event) =>
      event.type === 'target.done' && event.facts?.commit !== undefined
        ? { ...event, facts: { commit: 'b'.repeat(40) } }
        : event,
    [
      /^commit bbbbbbbbbbbb: commit b+ is missing from the private store/,
      /^branch orchestrate\/320: moved: /,
    ],
  ],
];

/** Gates are bound to the receipt, so they are forged along. */
function withReceipt(event: RunEvent, change: object): RunEvent {
  return 'receipt' in event && event.receipt !== undefined
    ? ({ ...event, receipt: { ...event.receipt, ...change } } as RunEvent)
    : event;
}

describe('verify', () => {
  test('names whatever was changed, and nothing else: exit 4', { timeout: 120_000 }, async () => {
    const rig = await finishedTicket();
    for (const [what, change, expected] of TAMPERED) {
      await restoring(rig, async () => {
        change(rig);
        const seen = await verify(rig);
        const failed = seen.failedNames.map((name) => name.replace(/ [0-9a-f]{12}$/, ' ID'));
        expect({ what, code: seen.code, ok: seen.ok, failed }).toEqual({
          what,
          code: 4,
          ok: false,
          failed: expected,
        });
      });
    }
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });
  });

  test('checks what the journal claims even when its chain and seals hold', async () => {
    const rig = await finishedTicket();
    for (const [what, change, expected] of FORGED) {
      await restoring(rig, async () => {
        forge(rig, change);
        const seen = await verify(rig);
        expect({ what, code: seen.code }).toEqual({ what, code: 4 });
        const unseen = expected.filter((row) => !seen.failed.some((text) => row.test(text)));
        expect({ what, unseen, failed: seen.failed }).toEqual({ what, unseen: [], failed: seen.failed });
      });
    }
  });

  test('lists every failure, not only the first, and goes on as far as a broken journal lets it', async () => {
    const rig = await finishedTicket();
    overwrite(rig, `${RUN}/artifacts/plan.md`, (text) => `${text}more\n`);
    overwrite(rig, `${RUN}/inbox/0001.md`, () => 'other\n');
    unlinkSync(inRun(rig, 'state/10_ticket.md'));
    unlinkSync(storeObject(rig, `${commitOf(rig)}:a.txt`).path);
    rig.git('branch', '--force', 'orchestrate/320', 'main');
    expect((await verify(rig)).failedNames).toEqual([
      '10_ticket.md',
      'artifacts/plan.md',
      'inbox',
      'receipt implementation-diff.2',
      expect.stringMatching(/^commit/),
      'branch orchestrate/320',
    ]);

    // The last line but one no longer follows: what was known until there is still checked.
    const line = lastLine(rig) - 1;
    overwrite(rig, `${RUN}/journal.jsonl`, (text) =>
      text
        .split('\n')
        .map((row, index) => (index === line - 1 ? row.replace('"prev":"', '"prev":"0') : row))
        .join('\n'),
    );
    const seen = await verify(rig);
    expect(seen.failedNames).toEqual([
      'journal chain',
      '10_ticket.md',
      'artifacts/plan.md',
      'inbox',
      'receipt implementation-diff.2',
      expect.stringMatching(/^commit/),
      'branch orchestrate/320',
    ]);
    expect(seen.failed[0]).toContain(`journal line ${line}: `);
    expect(seen.rows.find(({ name }) => name === '99_next_action.md')?.ok).toBe(null);
    const told = await rig.run(['verify', '320']);
    expect(told).toMatchObject({
      code: 4,
      stdout: expect.stringMatching(
        /\nthe record does not hold: 7 of \d+ checks failed, \d+ could not be made\nnext: /,
      ) as string,
    });
  });
});
