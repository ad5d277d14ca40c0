import {
  cpSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { targetState } from '../../orchestrator/machine/run-state.js';
import { boot, readDocuments } from '../../orchestrator/record/boot.js';
import { selfIdentity } from '../../orchestrator/state/identity.js';
import { takeLock } from '../../orchestrator/state/lock.js';
import { runDirectory, type DocumentName } from '../../orchestrator/state/run-dir.js';
import {
  answered,
  done,
  ended,
  failed,
  failureOf,
  folder,
  KEY,
  newRun,
  opened,
  OTHER_KEY,
  started,
  type TestRun,
} from '../helpers/core.js';
import { withFs } from '../helpers/fresh-module.js';

const LAWS = '---\ndocument: "governance"\n---\n# Laws – für alle\n';
const TICKET = '---\ndocument: "ticket"\n---\n# Ticket – ünïcode 🎉\n';
const round = (number: number): string => `## Round ${number} – naïve 🎉\n`;

const open320 = opened('320', { documents: [{ name: '00_governance.md', text: LAWS }] });
const ticketDone = done('plan', { documents: [{ name: '10_ticket.md', text: TICKET }] });
const verdict = (number: number) =>
  answered('diff', {
    kind: 'verdict',
    outcome: 'refused',
    documents: [{ name: '30_critic_summary.md', append: true, text: round(number) }],
  });

/** A run of this boot: somebody had its lock before. */
const begin = (): TestRun => {
  const run = newRun();
  takeLock(run.directory.path, '320', '2025-11-30T12:00:00.000Z').release();
  return run;
};

/** Records and leaves, as a whole run of the program does. */
const record = (
  run: TestRun,
  ...events: readonly Parameters<ReturnType<TestRun['open']>['record']>[0][]
): TestRun => {
  const recorder = run.open();
  for (const event of events) recorder.record(event);
  recorder.writeNextAction();
  recorder.close();
  return run;
};

/** 00, 10 and two records of 30, and then a line that writes none of them. */
const full = (): TestRun =>
  record(
    begin(),
    open320,
    started('plan'),
    ticketDone,
    started('diff'),
    ended('diff'),
    verdict(1),
    verdict(2),
    failed('diff', { retry: true }),
  );

const path = (run: TestRun, name: string): string => run.directory.document(name as DocumentName);
const text = (run: TestRun, name: string): string => readFileSync(path(run, name), 'utf8');
const change = (run: TestRun, name: string, bytes: string | Uint8Array): void => {
  rmSync(path(run, name), { force: true });
  writeFileSync(path(run, name), bytes);
};

const refusal = (run: TestRun): string => {
  const { kind, message, next } = failureOf(() => run.boot());
  expect(kind).toBe('record-refused');
  expect(next).not.toBe('');
  return message;
};

/** Names, bytes and times of everything in a folder. */
const picture = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const stat = statSync(join(root, name));
      return `${name} ${stat.mtimeMs} ${stat.isFile() ? readFileSync(join(root, name), 'base64') : ''}`;
    });

describe('B1: the documents first, in lexical order, then the journal; nothing is written', () => {
  test('in that order, 99 last of the documents', async () => {
    const { directory } = full();
    writeFileSync(join(directory.state, '25_x.md'), 'a note');
    const read: string[] = [];
    const fresh = await withFs(
      (fs) => ({
        readFileSync: (file: string, ...more: []) => {
          read.push(basename(file));
          return fs.readFileSync(file, ...more);
        },
      }),
      () => import('../../orchestrator/record/boot.js'),
    );
    fresh.boot(directory, KEY);
    expect(read.slice(0, 6)).toEqual([
      '00_governance.md',
      '10_ticket.md',
      '25_x.md',
      '30_critic_summary.md',
      '99_next_action.md',
      'journal.jsonl',
    ]);
  });

  test('nothing on the disk changes, also after a crash that left something to mend', () => {
    const run = full();
    writeFileSync(run.directory.journal, `${readFileSync(run.directory.journal, 'utf8')}{"torn`);
    rmSync(path(run, '99_next_action.md'));
    const before = picture(run.directory.path);
    expect(run.boot().torn).toBe(6);
    expect(picture(run.directory.path)).toEqual(before);
  });

  test('no folder, no journal and no documents are the beginning', () => {
    const booted = boot(runDirectory(folder(), '320'), KEY);
    expect(booted).toMatchObject({
      documents: [],
      unwritten: [],
      torn: 0,
      head: { seq: 0 },
      run: { seq: 0, ticket: '320' },
    });
    expect(booted.nextActionSeq).toBeUndefined();
  });
});

test('documents are read in lexical order, unknown ones in their place, other files not at all', () => {
  const state = folder();
  for (const name of [
    '99_next_action.md',
    '25_x.md',
    '00_governance.md',
    '30_critic_summary.md',
    '.tmp-1-1-99_next_action.md',
    'notes.txt',
  ]) {
    writeFileSync(join(state, name), name);
  }
  utimesSync(join(state, '99_next_action.md'), 0, 0);
  expect(readDocuments(state).map(({ name, text: of }) => [name, of])).toEqual(
    ['00_governance.md', '25_x.md', '30_critic_summary.md', '99_next_action.md'].map((name) => [name, name]),
  );
});

test('an unknown 25_x.md is no reason to refuse', () => {
  const run = full();
  writeFileSync(join(run.directory.state, '25_x.md'), 'a note');
  expect(run.boot().documents.map(({ name }) => name)).toEqual([
    '00_governance.md',
    '10_ticket.md',
    '25_x.md',
    '30_critic_summary.md',
    '99_next_action.md',
  ]);
});

describe('B2: what the record and the disk disagree on is refused', () => {
  test.each(['00_governance.md', '10_ticket.md', '30_critic_summary.md'])(
    '%s: missing, cut, longer, one byte changed, another',
    (name) => {
      const run = full();
      const whole = readFileSync(path(run, name));
      const other = Buffer.from(whole);
      other[whole.length - 3] = (other[whole.length - 3] ?? 0) ^ 1;
      for (const bytes of [
        whole.subarray(0, 20),
        Buffer.alloc(0),
        Buffer.concat([whole, Buffer.from('x')]),
        other,
        Buffer.from('other'),
      ]) {
        change(run, name, bytes);
        expect(refusal(run)).toContain(`\`${name}\` was changed outside orchestrate`);
      }
      rmSync(path(run, name));
      expect(refusal(run)).toContain(`\`${name}\` is missing`);
      change(run, name, whole);
      expect(run.boot().unwritten).toEqual([]);
    },
  );

  test.each(['10_ticket.md', '20_plan_approved.md', '30_critic_summary.md'])(
    '%s that no event wrote',
    (name) => {
      const run = record(begin(), open320);
      writeFileSync(path(run, name), 'approved by person ada');
      expect(refusal(run)).toContain(`\`${name}\` was not written by orchestrate`);
    },
  );

  test('bytes that only read like the text are other bytes', () => {
    const run = record(
      begin(),
      opened('320', { documents: [{ name: '00_governance.md', text: 'a\uFFFDb' }] }),
      started('plan'),
    );
    change(run, '00_governance.md', Buffer.from([0x61, 0xff, 0x62]));
    expect(refusal(run)).toContain('was changed outside orchestrate');
  });
});

describe('B2: what a crash leaves is written again', () => {
  test('a document of the last line that is not there yet', () => {
    const run = record(begin(), open320, started('plan'), ticketDone);
    rmSync(path(run, '10_ticket.md'));
    expect(run.boot().unwritten).toEqual(['10_ticket.md']);
    run.open().close();
    expect(text(run, '10_ticket.md')).toBe(TICKET);
    expect(statSync(path(run, '10_ticket.md')).mode & 0o777).toBe(0o444);
  });

  test('a 30 that is torn at any byte of its last record, also in the middle of a character', () => {
    const run = record(
      begin(),
      open320,
      started('plan'),
      done('plan'),
      started('diff'),
      ended('diff'),
      verdict(1),
      verdict(2),
    );
    const whole = Buffer.from(round(1) + round(2));
    for (let length = Buffer.byteLength(round(1)); length <= whole.length; length += 1) {
      truncateSync(path(run, '30_critic_summary.md'), length);
      run.open().close();
      expect(readFileSync(path(run, '30_critic_summary.md')).equals(whole)).toBe(true);
    }
  });

  test('not of a line before the last: then somebody else did it', () => {
    const run = record(begin(), open320, started('plan'), ticketDone, started('diff'));
    rmSync(path(run, '10_ticket.md'));
    expect(refusal(run)).toContain('`10_ticket.md` is missing');
  });

  test('after a reboot: any document that is missing or short, read-only where it was', () => {
    const run = full();
    const [lock] = readdirSync(run.directory.path).filter((name) => name.startsWith('lock.'));
    writeFileSync(
      join(run.directory.path, lock ?? ''),
      JSON.stringify({ ...selfIdentity(), bootId: 'another', host: hostname(), since: '' }),
    );
    rmSync(path(run, '00_governance.md'));
    change(run, '10_ticket.md', '');
    truncateSync(path(run, '30_critic_summary.md'), 3);
    run.open().close();
    expect([
      text(run, '00_governance.md'),
      text(run, '10_ticket.md'),
      text(run, '30_critic_summary.md'),
    ]).toEqual([LAWS, TICKET, round(1) + round(2)]);
    expect(statSync(path(run, '10_ticket.md')).mode & 0o777).toBe(0o444);
    change(run, '00_governance.md', 'other');
    expect(refusal(run)).toContain('was changed outside orchestrate');
  });
});

describe('99', () => {
  test('says which line it follows from; a missing one and one that is behind are made again', () => {
    const run = record(begin(), open320);
    expect(run.boot().nextActionSeq).toBe(1);
    const behind = text(run, '99_next_action.md');
    record(run, started('plan'));
    expect(run.boot().nextActionSeq).toBe(2);
    change(run, '99_next_action.md', behind);
    expect(run.boot().nextActionSeq).toBe(1);
    rmSync(path(run, '99_next_action.md'));
    expect(run.boot().nextActionSeq).toBeUndefined();
  });

  test('that was edited, or sealed with another key, is refused', () => {
    const run = record(begin(), open320);
    change(run, '99_next_action.md', text(run, '99_next_action.md').replace('make 0 plan', 'make 1 diff'));
    expect(refusal(run)).toContain('its seal does not match its text');
    change(run, '99_next_action.md', 'Next Permitted Action: push');
    expect(refusal(run)).toContain('its front matter is not what orchestrate writes');
  });

  test('that knows more than the journal proves that the journal was cut', () => {
    const run = record(begin(), open320, started('plan'));
    const lines = readFileSync(run.directory.journal, 'utf8').split('\n');
    writeFileSync(run.directory.journal, `${lines[0]}\n`);
    rmSync(run.directory.checkpoint);
    expect(refusal(run)).toContain('follows from journal line 2, but the journal ends at 1');
  });
});

describe('the checkpoint', () => {
  test('changes nothing but the time: with it and without it the state is the same', () => {
    const run = full();
    const plain = (): unknown => {
      const { run: state, head } = run.boot();
      return JSON.parse(JSON.stringify({ ...state, targets: [...state.targets], head }));
    };
    const cached = plain();
    rmSync(run.directory.checkpoint);
    expect(plain()).toEqual(cached);
  });

  test('is passed over when it is damaged or sealed with another key', () => {
    const run = full();
    for (const damage of [
      '',
      'x',
      readFileSync(run.directory.checkpoint, 'utf8').replace('"seq":8', '"seq":7'),
    ]) {
      writeFileSync(run.directory.checkpoint, damage);
      expect(run.boot().run.seq).toBe(8);
    }
  });

  test('that knows lines which the journal has lost refuses it, also when 99 is gone', () => {
    const run = record(begin(), open320, started('plan'), failed('plan', { retry: true }));
    const lines = readFileSync(run.directory.journal, 'utf8').split('\n');
    writeFileSync(run.directory.journal, `${lines.slice(0, 2).join('\n')}\n`);
    rmSync(path(run, '99_next_action.md'));
    expect(refusal(run)).toContain('the journal is not the one that had 3 lines');
  });

  test('of an earlier epoch is left over, and no reason to refuse', () => {
    const run = record(begin(), open320, started('plan'), ticketDone, started('diff'));
    const checkpoint = readFileSync(run.directory.checkpoint);
    for (const name of readdirSync(run.directory.state)) rmSync(path(run, name));
    rmSync(run.directory.journal);
    rmSync(run.directory.checkpoint);
    record(run, { ...open320, epoch: 2 });
    writeFileSync(run.directory.checkpoint, checkpoint);
    expect(run.boot().run).toMatchObject({ epoch: 2, seq: 1 });
  });
});

test('a run directory that was copied to another ticket is refused: its approvals are not for that one', () => {
  const run = full();
  const copy = runDirectory(run.root, '321');
  cpSync(run.directory.path, copy.path, { recursive: true });
  for (const clean of [false, true]) {
    if (clean) rmSync(copy.checkpoint);
    const { kind, message } = failureOf(() => boot(copy, KEY));
    expect(kind).toBe('record-refused');
    expect(message).toContain('the journal is that of ticket `320`, not of `321`');
  }
});

test('a journal of another key is refused with its line', () => {
  const run = full();
  expect(failureOf(() => run.boot(OTHER_KEY)).message).toContain(
    'journal line 1: its seal was not made with your key',
  );
});

test('a target that was left running is running', () => {
  const run = record(begin(), open320, started('plan', { child: '00-plan.1' }));
  expect(targetState(run.boot().run, 'plan')).toMatchObject({
    value: 'running',
    context: { child: '00-plan.1' },
  });
});

test('who only looks while somebody runs the ticket sees one moment of it, and is not refused', async () => {
  const run = record(begin(), open320, started('plan'));
  const writer = run.open();
  let looks = 0;
  const fresh = await withFs(
    (fs) => ({
      readdirSync: (place: string) => {
        const names = fs.readdirSync(place);
        looks += 1;
        // Between the reading of the documents and of the journal a document is written, and a line after it.
        if (looks === 1) for (const event of [ticketDone, started('diff')]) writer.record(event);
        return names;
      },
    }),
    () => import('../../orchestrator/record/boot.js'),
  );
  const booted = fresh.boot(run.directory, KEY);
  expect(booted.run.seq).toBe(4);
  expect(booted.documents.map(({ name }) => name)).toContain('10_ticket.md');
  writer.close();
});
