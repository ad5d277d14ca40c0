import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { knownNotes, matchingScars } from '../../orchestrator/effects/notes.js';
import type { TicketRun } from '../../orchestrator/effects/ticket-run.js';
import { applyLine, emptyRun } from '../../orchestrator/machine/run-state.js';
import type { Ticket } from '../../orchestrator/model/ticket.js';
import { done, folder, started } from '../helpers/core.js';

const TICKET: Ticket = {
  id: '320',
  title: 'Parse durations',
  labels: ['parser'],
  acceptance: ['minutes overflow'],
  body: 'The lexer reads numbers.',
};

/** As much of a run as the notes need: ticket 320 in this repository. */
const runOf = (root: string, ticket: Ticket | undefined = TICKET): TicketRun => {
  const run = emptyRun('320');
  const events = [started('ticket'), done('ticket', ticket === undefined ? {} : { facts: { ticket } })];
  for (const event of events) applyLine(run, { v: 1, seq: run.seq + 1, at: 'now', event });
  return { ticket: '320', paths: { mainRoot: root }, recorder: { run } } as unknown as TicketRun;
};

const note = (root: string, ticket: string, name: string, text: string): void => {
  const run = join(root, '.orchestrate', ticket);
  mkdirSync(join(run, 'artifacts', 'notes'), { recursive: true });
  writeFileSync(join(run, 'journal.jsonl'), '');
  writeFileSync(join(run, 'artifacts', 'notes', name), text);
};

describe('the index of notes', () => {
  test('has path and title of each, in lexical order', () => {
    const root = folder();
    note(root, '320', 'b.md', '## The second\ntext');
    note(root, '320', 'a.md', '# The first\u001B[31m one\ntext');
    note(root, '320', 'c.txt', 'no note');
    note(root, '320', 'd.md', '');
    const artifacts = join(root, '.orchestrate/320/artifacts');
    expect(knownNotes(artifacts)).toEqual([
      { path: join(artifacts, 'notes/a.md'), title: 'The first one' },
      { path: join(artifacts, 'notes/b.md'), title: 'The second' },
      { path: join(artifacts, 'notes/d.md'), title: '' },
    ]);
  });

  test('of a run without notes is empty', () => {
    expect(knownNotes(folder())).toEqual([]);
  });
});

describe('scars', () => {
  test('of other tickets that share words with this one come along, most words first, three at most', () => {
    const root = folder();
    note(root, '316', 'a.md', '# Wound: the parser lost minutes');
    note(root, '317', 'a.md', '# Wound: overflow of minutes in the lexer of the parser');
    note(root, '318', 'a.md', '# Wound: the database was slow');
    note(root, '319', 'a.md', '# Wound: minutes, lexer, numbers');
    note(root, '321', 'a.md', '# Wound: durations and numbers');
    expect(matchingScars(runOf(root))).toEqual([
      'ticket 317: # Wound: overflow of minutes in the lexer of the parser',
      'ticket 319: # Wound: minutes, lexer, numbers',
      'ticket 316: # Wound: the parser lost minutes',
    ]);
  });

  test('one word in common is chance, and short words are no words', () => {
    const root = folder();
    note(root, '316', 'a.md', '# Wound: the parser was slow');
    note(root, '317', 'a.md', '# the The THE of in');
    expect(matchingScars(runOf(root, { ...TICKET, body: 'the of in was' }))).toEqual([]);
  });

  test('own notes are no scars, and without a ticket there is nothing to match', () => {
    const root = folder();
    note(root, '320', 'a.md', '# Wound: parser, durations, minutes');
    expect(matchingScars(runOf(root))).toEqual([]);
    note(root, '321', 'a.md', '# Wound: parser, durations, minutes');
    expect(matchingScars(runOf(root))).toHaveLength(1);
    const run = emptyRun('320');
    expect(
      matchingScars({ ticket: '320', paths: { mainRoot: root }, recorder: { run } } as unknown as TicketRun),
    ).toEqual([]);
  });

  test('a long one is cut', () => {
    const root = folder();
    note(root, '321', 'a.md', `# parser durations ${'x'.repeat(5_000)}`);
    expect(matchingScars(runOf(root))[0]).toHaveLength('ticket 321: '.length + 1_200);
  });
});
