/** Each hidden change that was ever measured, row by row: it is in the diff, in nothing that is committed, or refused by name. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { snapshot, type Snapshot } from '../../orchestrator/git/snapshot.js';
import type { Result } from '../../orchestrator/model/result.js';
import type { Ticket } from '../helpers/repo.js';
import { sceneMaker, type Scene } from './ticket-copies.js';
import { SHOWING } from './tricks-of-showing.js';
import { STORING } from './tricks-of-storing.js';
import { addSubmodule, BASE_FILES, EVIL, type Outcome } from './tricks.js';

const ROWS = [...SHOWING, ...STORING];

const scene = sceneMaker({ files: BASE_FILES, arrange: addSubmodule });

/** What the plain recipe shows to whoever runs it in the worker's clone. */
const plainDiff = ({ world, ticket }: Scene): string =>
  execFileSync('sh', ['-c', 'git add -N . > /dev/null 2>&1; git --no-pager diff'], {
    cwd: ticket.tree,
    env: world.env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });

/** Whether the change itself, a mode or a line ending can be found in a diff. */
const SHOWN = new RegExp(`^\\+.*(${EVIL}|fifo)|^new mode|\\r$`, 'm');

/** What came of a trick, with those of the expected reasons and lines that are there. */
const outcomeOf = ({ diffFile }: Ticket, taken: Result<Snapshot>, expected: Outcome): Outcome => {
  if (!taken.ok) {
    const { kind, message, next } = taken.failure;
    if (kind !== 'evidence-refused' || next === undefined) return { refused: [`${kind}: ${message}`] };
    const reasons = 'refused' in expected ? expected.refused : [];
    return { refused: reasons.filter((reason) => message.includes(reason)) };
  }
  const { records, diffBytes, newIgnored } = taken.value;
  if (records.length === 0 && diffBytes === 0) return { leftOut: newIgnored };
  const seen = records.map(({ path }) => path);
  if (!('seen' in expected)) return { seen, lines: [] };
  const lines = new Set(readFileSync(diffFile, 'utf8').split('\n'));
  return { seen, lines: expected.lines.filter((line) => lines.has(line)) };
};

describe.each(ROWS)('$row', ({ tricks }) => {
  test.each(tricks)('$how', async ({ play, outcome, blind, through }) => {
    const begun = await scene();
    await play(begun);
    const plain = blind === true && SHOWN.test(plainDiff(begun)) ? 'shows it' : 'as said';
    const ticket = through?.(begun) ?? begun.ticket;
    const taken = await snapshot({ ...ticket, base: ticket.base.commit });
    expect({ plain, outcome: outcomeOf(ticket, taken, outcome) }).toEqual({ plain: 'as said', outcome });
  });
});

test('every row is there once', () => {
  expect(new Set(ROWS.map(({ row }) => row)).size).toBe(34);
  expect(ROWS).toHaveLength(34);
});
