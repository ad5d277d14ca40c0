import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { lookAtFile, lookAtRecord, targetsAtRest, writeRest } from '../../orchestrator/record/rest.js';
import { runDirectory, type RunDirectory } from '../../orchestrator/state/run-dir.js';

const KEY = new Uint8Array(32).fill(7);
const SALT = 'sha256:of-the-program';
/** Long after everything was written. */
const LATER = Date.now() + 60_000;

let folder: string;
let run: RunDirectory;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'orchestrate-rest-'));
  run = runDirectory(folder, '1');
  for (const path of [run.state, run.inbox]) mkdirSync(path, { recursive: true });
  writeFileSync(run.journal, '{"seq":1}\n{"seq":2}\n');
  writeFileSync(run.document('00_governance.md'), 'governance');
  writeFileSync(run.document('99_next_action.md'), 'nothing');
  for (const name of ['in', 'out', 'targets.yaml']) writeFileSync(at(name), `${name}\n`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const at = (name: string): string => join(folder, name);
const files = () => new Map(['targets.yaml', 'in', 'out'].map((name) => [at(name), lookAtFile(at(name))]));
const remember = (now = LATER, key = KEY): void =>
  writeRest(run, key, { salt: SALT, targets: 9, record: lookAtRecord(run), files: files() }, now);
const found = (): number | undefined => targetsAtRest(run, KEY, SALT);
const rest = (): string => join(run.path, 'rest.bin');

/** Other bytes of the same length, the time of the last change as before. */
const overwrite = (path: string): void => {
  const { atime, mtime, size } = statSync(path);
  writeFileSync(path, 'x'.repeat(size));
  utimesSync(path, atime, mtime);
};

describe('a ticket at rest', () => {
  test('is known by the looks of its files alone', () => {
    expect(found()).toBeUndefined();
    remember();
    expect(found()).toBe(9);
    // What is made besides is nobody's input.
    writeFileSync(at('other'), '');
    mkdirSync(run.children, { recursive: true });
    expect(found()).toBe(9);
  });

  test.each<readonly [string, () => void]>([
    ['an input has other bytes of the same length and time', () => overwrite(at('in'))],
    ['an output is gone', () => rmSync(at('out'))],
    [
      'an output is another file that looks alike',
      () => {
        writeFileSync(at('new'), 'out\n');
        renameSync(at('new'), at('out'));
      },
    ],
    [
      'an input is a link to what it was',
      () => {
        renameSync(at('in'), at('moved'));
        writeFileSync(at('copy'), 'in\n');
        symlinkSync('copy', at('in'));
      },
    ],
    ['the pipeline was touched', () => utimesSync(at('targets.yaml'), 1, 1)],
    ['the journal goes on', () => appendFileSync(run.journal, '{"seq":3}\n')],
    ['a byte of the journal is another', () => overwrite(run.journal)],
    ['the journal was cut short', () => writeFileSync(run.journal, '{"seq":1}\n')],
    ['document 99 was changed', () => overwrite(run.document('99_next_action.md'))],
    ['document 00 is gone', () => rmSync(run.document('00_governance.md'))],
    ['there is a document more', () => writeFileSync(run.document('10_ticket.md'), '')],
    ['there is a stranger beside the documents', () => writeFileSync(join(run.state, '15_note.md'), '')],
    [
      'the state folder is a link',
      () => {
        renameSync(run.state, at('state'));
        symlinkSync(at('state'), run.state);
      },
    ],
    ['somebody told the ticket something', () => writeFileSync(join(run.inbox, '0001.md'), 'stop')],
    [
      'what is remembered was changed',
      () => {
        const bytes = readFileSync(rest());
        bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
        writeFileSync(rest(), bytes);
      },
    ],
    [
      'its number of targets was changed',
      () => {
        writeFileSync(rest(), readFileSync(rest(), 'latin1').replace('"targets":9', '"targets":8'), 'latin1');
      },
    ],
    ['it was cut short', () => writeFileSync(rest(), readFileSync(rest()).subarray(0, -32))],
    ['it is empty', () => writeFileSync(rest(), '')],
    ['it is rubbish', () => writeFileSync(rest(), 'rubbish\nrubbish')],
    [
      'it is a folder',
      () => {
        rmSync(rest());
        mkdirSync(rest());
      },
    ],
    ['it was made with another key', () => remember(LATER, new Uint8Array(32))],
  ])('is not known when %s', (_, change) => {
    remember();
    expect(found()).toBe(9);
    change();
    expect(found()).toBeUndefined();
  });

  test('is not known to another program, pipeline or place', () => {
    remember();
    expect(targetsAtRest(run, KEY, 'sha256:of-another')).toBeUndefined();
  });

  test('is not remembered while a change could still go unseen', () => {
    remember(statSync(at('out')).mtimeMs + 50);
    expect(found()).toBeUndefined();
    remember(Math.max(...[at('out'), run.journal, run.inbox].map((path) => statSync(path).ctimeMs)) + 50);
    expect(found()).toBeUndefined();
  });

  test('a file that was not there must not be there', () => {
    rmSync(at('in'));
    remember();
    expect(found()).toBe(9);
    writeFileSync(at('in'), '');
    expect(found()).toBeUndefined();
  });

  test('is remembered anew over what is there, and costs nothing where it cannot be written', () => {
    remember();
    writeFileSync(at('out'), 'more\n');
    remember();
    expect(found()).toBe(9);
    rmSync(rest());
    mkdirSync(join(rest(), 'in the way'), { recursive: true });
    expect(() => remember()).not.toThrow();
  });
});
