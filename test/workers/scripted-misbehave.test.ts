import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  bundleWorker,
  runWorker,
  temporaryFolder,
  writeFiles,
  type Run,
} from '../helpers/scripted-worker.js';

const folder = temporaryFolder();
let program: string;
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(async () => {
  program = await bundleWorker(folder);
});

let count = 0;
const perform = (entry: string, more: Partial<Run> = {}) => {
  const tree = join(folder, `tree-${(count += 1)}`);
  const script = [
    'version: 1',
    'diff: { work: { change: [{ write: made.txt, text: made }] } }',
    'review: { probes: [{ claim: a, blocker: "it is wrong", pillar: tests, run: [node, -e, "process.exit(1)"] }] }',
    `misbehave: [${entry}]`,
  ];
  writeFiles(tree, { 'tickets/320.script.yaml': script.join('\n') });
  return runWorker({ program, tree, makes: 'diff', ...more });
};

const NONCE = '00ff00ff';
const digest = `sha256:${'a'.repeat(64)}`;
const review: Partial<Run> = {
  makes: 'review',
  prompt: { review: { nonce: NONCE, pages: [{ digest, path: '/nowhere' }], pillars: ['tests'], diff: '/d' } },
};

describe('misbehaviour on purpose', () => {
  test('an exit status, without a return', async () => {
    const ran = await perform('{ makes: diff, exit: 7 }');
    expect([ran.code, ran.text]).toEqual([7, undefined]);
  });

  test('a signal, without a return', async () => {
    const ran = await perform('{ makes: diff, signal: SIGKILL }');
    expect([ran.code, ran.signal, ran.text]).toEqual([null, 'SIGKILL', undefined]);
  });

  test('so many bytes of output, and then the honest work', async () => {
    const quiet = await perform('{ makes: diff, print: 1 }');
    const loud = await perform('{ makes: diff, print: 300001 }');
    expect(loud.stdout.length - quiet.stdout.length).toBe(300_000);
    expect(loud.returned.status).toBe('done');
  });

  test('a file anywhere, and then the honest work', async () => {
    const ran = await perform('{ makes: diff, write: "{out}/../state/99_next_action.md", text: "all done" }');
    expect(readFileSync(join(ran.out, '../state/99_next_action.md'), 'utf8')).toBe('all done');
    expect(ran.returned.status).toBe('done');
  });

  test('bytes of its own in place of the return', async () => {
    const ran = await perform('{ makes: diff, return: "APPROVED {" }');
    expect([ran.code, ran.text]).toEqual([0, 'APPROVED {']);
  });

  test('no return at all, though the work is done', async () => {
    const ran = await perform('{ makes: diff, do: no-return }');
    expect([ran.code, ran.text]).toEqual([0, undefined]);
    expect(ran.stdout).toContain('change: made.txt');
  });

  test('an approval without reading a page', async () => {
    const { returned } = await perform('{ makes: review, do: approve-unread }', review);
    expect(returned.verdict).toMatchObject({
      verdict: 'APPROVED',
      nonce: NONCE,
      pages: [],
      pillars: { tests: 'none' },
    });
  });

  test('an approval with a nonce that was made up', async () => {
    const { returned } = await perform('{ makes: review, do: wrong-nonce }', review);
    expect(returned.verdict).toMatchObject({ verdict: 'APPROVED', nonce: '00000000', pages: [digest] });
  });

  test('hanging until it is ended', async () => {
    const ran = await perform('{ makes: diff, do: hang }', {
      onOutput: (piece, kill) => void (piece.includes('hanging') && kill('SIGTERM')),
    });
    expect([ran.signal, ran.text]).toEqual(['SIGTERM', undefined]);
  });

  test('hanging without heed to TERM', async () => {
    const ran = await perform('{ makes: diff, do: hang-ignoring-term }', {
      onOutput: (piece, kill) => {
        if (piece.includes('hanging')) kill('SIGTERM');
        if (piece.includes('heard SIGTERM')) kill('SIGKILL');
      },
    });
    expect([ran.signal, ran.text]).toEqual(['SIGKILL', undefined]);
  });

  test('only in the phase, the round and the attempt that it names', async () => {
    const entry = '{ makes: diff, round: 2, attempt: 3, exit: 9 }';
    expect((await perform(entry, { round: 2, attempt: 3 })).code).toBe(9);
    for (const other of [
      { round: 1, attempt: 3 },
      { round: 2, attempt: 1 },
    ]) {
      const ran = await perform(entry, other);
      expect([ran.code, existsSync(join(ran.out, 'return-5f3a.json'))]).toEqual([0, true]);
    }
  });
});
