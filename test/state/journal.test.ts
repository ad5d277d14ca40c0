import { createHash, createHmac } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JournalLine, RunEvent } from '../../orchestrator/model/event.js';
import {
  composeJournal,
  EMPTY_CHAIN,
  journalBytes,
  openJournal,
  readJournal,
} from '../../orchestrator/state/journal.js';
import { withFs, withVariable } from '../helpers/fresh-module.js';
import { done, ended, failureOf, folder, KEY, opened, OTHER_KEY, started } from '../helpers/core.js';

const AT = '2025-11-30T12:00:00.000Z';
const EVENTS: readonly RunEvent[] = [
  opened(),
  started('plan'),
  ended('plan', { summary: ['naïve – 🎉', '\uFFFD,"prev":"x'] }),
];

/** A journal file with these events. */
const write = (path: string, events = EVENTS, key = KEY): Buffer => {
  const journal = openJournal(path, key, EMPTY_CHAIN);
  for (const event of events) journal.append(event, AT);
  journal.close();
  return readFileSync(path);
};

const read = (bytes: Buffer, key: Uint8Array | 'none' = KEY) => {
  const lines: JournalLine[] = [];
  const result = readJournal(bytes, { path: 'journal.jsonl', ...(key === 'none' ? {} : { key }) }, (line) =>
    lines.push(line),
  );
  return { ...result, lines };
};

const refusal = (bytes: Buffer, key?: Uint8Array): string => {
  const { kind, message } = failureOf(() => read(bytes, key ?? KEY));
  expect(kind).toBe('record-refused');
  return message;
};

/** 1-based number of the line that a byte belongs to; a newline belongs to the line that it ends. */
const lineOf = (bytes: Buffer, at: number): number =>
  bytes.subarray(0, at).filter((byte) => byte === 10).length + 1;

/** A line by the format's own description, independent of the code. */
const lineBy = (line: object, prev: string, key = KEY): string => {
  const body = JSON.stringify(line).slice(0, -1);
  return `${body},"prev":"${prev}","mac":"${createHmac('sha256', key).update(prev).update(body).digest('hex')}"}`;
};

describe('J1: an event is believed only after its line is on the disk', () => {
  test('when append returns, the file ends with the line', () => {
    const path = join(folder(), 'journal.jsonl');
    const journal = openJournal(path, KEY, EMPTY_CHAIN);
    for (const [index, event] of EVENTS.entries()) {
      const line = journal.append(event, AT);
      expect(line).toEqual({ v: 1, seq: index + 1, at: AT, event });
      expect(read(readFileSync(path)).lines.at(-1)).toEqual(line);
      expect(read(readFileSync(path)).head).toEqual(journal.head());
    }
    journal.close();
  });

  test.each(['append', 'appended', 'synced'])(
    'a failure at `%s` leaves file and head as they were, and the next append works',
    async (place) => {
      const path = join(folder(), 'journal.jsonl');
      const before = write(path);
      const crossings = ['append', 'appended', 'synced'];
      const fresh = await withVariable(
        'ORCHESTRATE_TEST_CROSSING',
        `${crossings.indexOf(place) + 1}:ENOSPC`,
        () => import('../../orchestrator/state/journal.js'),
      );
      const { head } = read(before);
      const journal = fresh.openJournal(path, KEY, head);
      expect(() => journal.append(done('plan'), AT)).toThrow('ENOSPC');
      expect(readFileSync(path).equals(before)).toBe(true);
      expect(journal.head()).toEqual(head);
      journal.append(done('plan'), AT);
      journal.close();
      expect(read(readFileSync(path)).lines).toHaveLength(4);
    },
  );

  test('a file that could neither be written whole nor cut takes no further line: two would be glued together', async () => {
    const path = join(folder(), 'journal.jsonl');
    const before = write(path);
    let failing = false;
    const fresh = await withFs(
      (fs) => ({
        writeSync: (fd: number, bytes: Uint8Array, offset: number) => {
          if (!failing) return fs.writeSync(fd, bytes, offset);
          fs.writeSync(fd, bytes, offset, 5);
          throw new Error('EIO at the write');
        },
        ftruncateSync: () => {
          throw new Error('EIO at the cut');
        },
      }),
      () => import('../../orchestrator/state/journal.js'),
    );
    const journal = fresh.openJournal(path, KEY, read(before).head);
    failing = true;
    expect(() => journal.append(done('plan'), AT)).toThrow('EIO at the write');
    failing = false;
    expect(() => journal.append(done('plan'), AT)).toThrow('EIO at the write');
    journal.close();
    expect(read(readFileSync(path))).toMatchObject({ head: { seq: 3 }, torn: 5 });
  });
});

describe('J2: chain and seal', () => {
  const bytes = Buffer.from(
    composeJournal(
      EVENTS.map((event) => ({ event, at: AT })),
      KEY,
    ).text,
  );

  test('what was written is read back, in order', () => {
    expect(read(bytes).lines.map(({ event }) => event)).toEqual(EVENTS);
    expect(read(bytes)).toMatchObject({ torn: 0, head: { seq: 3, bytes: bytes.length } });
  });

  test('the lines are what the format says, byte for byte', () => {
    let prev = '0'.repeat(64);
    const lines = EVENTS.map((event, index) => {
      const line = lineBy({ v: 1, seq: index + 1, at: AT, event }, prev);
      prev = createHash('sha256').update(line).digest('hex');
      return `${line}\n`;
    });
    expect(bytes.toString()).toBe(lines.join(''));
  });

  test('one flipped bit anywhere is refused, and the line is named', () => {
    for (let at = 0; at < bytes.length - 1; at += 1) {
      for (const bit of [1, 0x80]) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ bit;
        expect(refusal(changed)).toMatch(new RegExp(`^journal line ${lineOf(bytes, at)}: `));
      }
    }
  });

  test('any other byte in any place is refused, also where both read as the replacement character', () => {
    fc.assert(
      fc.property(fc.nat(bytes.length - 2), fc.nat(255), (at, byte) => {
        fc.pre(bytes[at] !== byte);
        const changed = Buffer.from(bytes);
        changed[at] = byte;
        expect(refusal(changed)).toContain(`journal line ${lineOf(bytes, at)}: `);
      }),
      { numRuns: 500 },
    );
    const replacement = bytes.indexOf('\uFFFD');
    const spliced = Buffer.concat([
      bytes.subarray(0, replacement),
      Buffer.from([0xff]),
      bytes.subarray(replacement + 3),
    ]);
    expect(spliced.toString()).toBe(bytes.toString());
    expect(refusal(spliced)).toContain('journal line 3: ');
  });

  const lines = bytes.toString().trimEnd().split('\n');
  const joined = (list: readonly (string | undefined)[]): Buffer =>
    Buffer.from(list.map((line) => `${line ?? ''}\n`).join(''));

  test.each([
    ['the first line removed', joined(lines.slice(1)), 1],
    ['a line in the middle removed', joined([lines[0], lines[2]]), 2],
    ['a line repeated', joined([lines[0], lines[0], lines[1]]), 2],
    ['two lines changed places', joined([lines[1], lines[0], lines[2]]), 1],
    ['an empty line put in', joined([lines[0], '', lines[1]]), 2],
    [
      'a line of somebody without the key put in',
      joined([
        lines[0],
        lineBy(
          { v: 1, seq: 2, at: AT, event: done('plan') },
          createHash('sha256')
            .update(lines[0] ?? '')
            .digest('hex'),
          OTHER_KEY,
        ),
      ]),
      2,
    ],
    ['JSON that is no journal line', joined([lines[0], '{"v":1}']), 2],
  ])('%s', (_, changed, line) => {
    expect(refusal(changed)).toContain(`journal line ${line}: `);
  });

  test('a journal of another key is refused at its first line; without a key only the chain is checked', () => {
    const foreign = write(join(folder(), 'journal.jsonl'), EVENTS, OTHER_KEY);
    expect(refusal(foreign)).toBe('journal line 1: its seal was not made with your key');
    expect(read(foreign, 'none').lines).toHaveLength(3);
    expect(refusal(joined([lines[1]]))).toContain('hash chain broken');
  });

  test('a well-sealed line with a wrong number or of a later format is refused', () => {
    const zero = '0'.repeat(64);
    expect(refusal(joined([lineBy({ v: 1, seq: 2, at: AT, event: opened() }, zero)]))).toContain(
      'journal line 1: its number',
    );
    expect(refusal(joined([lineBy({ v: 2, seq: 1, at: AT, event: opened() }, zero)]))).toContain(
      'format 2 is newer',
    );
  });
});

describe('J3: a torn tail is dropped, and cut off before the next line', () => {
  test('cut at every byte, the journal is a prefix of itself and can go on', () => {
    const home = folder();
    const whole = write(join(home, 'whole.jsonl'));
    const ends = [0, ...[...whole.keys()].filter((at) => whole[at] === 10).map((at) => at + 1)];
    const path = join(home, 'cut.jsonl');
    for (let length = 0; length <= whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length));
      const { lines, head, torn } = read(journalBytes(path));
      const kept = ends.filter((end) => end <= length).length - 1;
      expect(lines.map(({ event }) => event)).toEqual(EVENTS.slice(0, kept));
      expect(torn).toBe(length - (ends[kept] ?? 0));
      // The whole way back at line ends, in the middle of characters, and now and then; everywhere it would only take time.
      const isEnd = torn <= 2 || length === whole.length;
      if (!isEnd && (whole[length] ?? 0) < 0x80 && length % 40 > 0) continue;
      const journal = openJournal(path, KEY, head);
      for (const event of EVENTS.slice(kept)) journal.append(event, AT);
      journal.close();
      expect(readFileSync(path).equals(whole)).toBe(true);
    }
  });

  test('reading changes nothing', () => {
    const path = join(folder(), 'journal.jsonl');
    write(path);
    appendFileSync(path, '{"v":1,"seq":4');
    const torn = readFileSync(path);
    expect(read(journalBytes(path))).toMatchObject({ torn: 14, head: { seq: 3 } });
    expect(readFileSync(path).equals(torn)).toBe(true);
  });
});

test('J4: a whole line that does not hold is never skipped, and nothing after it is handed out', () => {
  const bytes = write(join(folder(), 'journal.jsonl'));
  const at = bytes.indexOf('"attempt":1');
  bytes[at + 10] = 50;
  const seen: number[] = [];
  expect(() => readJournal(bytes, { path: 'p', key: KEY }, ({ seq }) => seen.push(seq))).toThrow(
    'journal line 2: ',
  );
  expect(seen).toEqual([1]);
});

test('reading can start after any line that was proved otherwise', () => {
  const bytes = write(join(folder(), 'journal.jsonl'));
  const heads = [EMPTY_CHAIN];
  const journal = openJournal(join(folder(), 'again.jsonl'), KEY, EMPTY_CHAIN);
  for (const event of EVENTS) {
    journal.append(event, AT);
    heads.push(journal.head());
  }
  journal.close();
  for (const [index, from] of heads.entries()) {
    const seen: number[] = [];
    expect(readJournal(bytes, { path: 'p', key: KEY, from }, ({ seq }) => seen.push(seq)).head).toEqual(
      heads.at(-1),
    );
    expect(seen).toEqual([1, 2, 3].slice(index));
  }
});

test('a composed journal is what one append after another gives', () => {
  const composed = composeJournal(
    EVENTS.map((event) => ({ event, at: AT })),
    KEY,
  );
  const bytes = write(join(folder(), 'journal.jsonl'));
  expect(composed.text).toBe(bytes.toString());
  expect(composed.head).toEqual(read(bytes).head);
  expect(composed.lines).toEqual(read(bytes).lines);
});

test('no journal has no bytes, and is not made by looking', () => {
  const path = join(folder(), 'journal.jsonl');
  expect(journalBytes(path)).toHaveLength(0);
  expect(existsSync(path)).toBe(false);
});
