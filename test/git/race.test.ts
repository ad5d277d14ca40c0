/**
 * A process that changes a file of the tree as fast as it can, there and back, while the tree is sealed, compared and
 * committed: nothing that the reviewed diff did not show is ever in a commit.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { receiptState } from '../../orchestrator/gates/verdict.js';
import { commitTree } from '../../orchestrator/git/commit.js';
import { snapshot, type Snapshot } from '../../orchestrator/git/snapshot.js';
import type { Receipt } from '../../orchestrator/model/event.js';
import type { Result } from '../../orchestrator/model/result.js';
import { AUTHOR, DATE, makeWorld, startTicket, type Ticket, unwrap } from '../helpers/repo.js';
import { EVIL } from './tricks.js';

const TRIES = 150;
/** Tries of one repository: each begins with a cold index. */
const TRIES_EACH = 50;

const GOOD = 'good-marker';
const PATH = 'src/race.js';

/**
 * Both contents have one size and are written in place, and now and then the times are put back, so that only reading tells
 * them apart. The shortest of pauses leaves the other processes something of the machine.
 */
const WRITER = `
const fs = require('node:fs');
const [path, ...texts] = process.argv.slice(1);
fs.writeFileSync(path, texts[0]);
const file = fs.openSync(path, 'r+');
process.stdout.write('ready');
const pause = new Int32Array(new SharedArrayBuffer(4));
let isStopped = false;
process.stdin.on('end', () => { isStopped = true; }).resume();
const turn = (count) => {
  for (let n = 0; n < 32; n += 1) fs.writeSync(file, texts[(count + n) % 2], 0);
  if (count % 4 < 2) fs.futimesSync(file, 1e9, 1e9);
  Atomics.wait(pause, 0, 0, 1);
  if (!isStopped) setImmediate(turn, count + 1);
};
turn(0);
`;

const startWriter = async (path: string): Promise<() => Promise<void>> => {
  const child = spawn(process.execPath, ['-e', WRITER, path, `${GOOD}\n`, `${EVIL}\n`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end();
    if (child.exitCode === null) await once(child, 'exit');
  };
};

const receiptOf = (base: string, taken: Snapshot): Receipt => ({
  base,
  tree: taken.treeId,
  diff: taken.diffDigest,
  diffBytes: taken.diffBytes,
  records: taken.recordsDigest,
  ignored: taken.ignoredDigest,
  files: taken.files,
  addedLines: taken.addedLines,
  removedLines: taken.removedLines,
  pages: [],
});

interface Committed {
  readonly commit: string;
  readonly tree: string;
  readonly diff: string;
}

/** One round: sealed, shown to a critic who approves what shows no evil, compared, committed. */
const attempt = async (ticket: Ticket): Promise<Committed | string> => {
  const base = ticket.base.commit;
  const request = { ...ticket, base };
  const sealed = await snapshot(request);
  if (!sealed.ok) return sealed.failure.kind;
  const diff = readFileSync(ticket.diffFile, 'utf8');
  if (diff.includes(EVIL)) return 'rejected';
  const now: Result<Snapshot> = await snapshot({ ...request, diffFile: `${ticket.diffFile}.now` });
  const state = receiptState(receiptOf(base, sealed.value), now.ok ? receiptOf(base, now.value) : undefined);
  if (state !== 'current') return state;
  const { treeId: tree } = sealed.value;
  const asked = { ...ticket, tree, parents: [base], message: 'Work', author: AUTHOR, date: DATE };
  return { commit: unwrap(await commitTree(asked)), tree, diff };
};

interface Race {
  /** Of every try that went through. */
  readonly committed: readonly Committed[];
  /** How the others ended. */
  readonly stopped: readonly string[];
  readonly contentOf: (revision: string) => string;
}

const race = async (tries: number): Promise<Race> => {
  const world = makeWorld();
  const ticket = await startTicket(world);
  const stop = await startWriter(join(ticket.tree, PATH));
  const committed: Committed[] = [];
  const stopped: string[] = [];
  for (let number = 0; number < tries; number += 1) {
    const result = await attempt(ticket);
    if (typeof result === 'string') stopped.push(result);
    else committed.push(result);
  }
  await stop();
  const gitDir = `--git-dir=${ticket.store.path}`;
  const contentOf = (revision: string): string => world.run(world.dir, gitDir, 'cat-file', '-p', revision);
  return { committed, stopped, contentOf };
};

test(`no unreviewed byte is committed in ${TRIES} tries`, { timeout: 240_000 }, async () => {
  const outcomes: string[] = [];
  for (let done = 0; done < TRIES; done += TRIES_EACH) {
    const { committed, stopped, contentOf } = await race(TRIES_EACH);
    outcomes.push(...stopped, ...committed.map(() => 'committed'));
    const different = new Map(committed.map((one) => [`${one.commit} ${one.tree} ${one.diff}`, one]));
    for (const { commit, tree, diff } of different.values()) {
      expect(contentOf(commit).split('\n')[0]).toBe(`tree ${tree}`);
      expect(contentOf(`${commit}:${PATH}`)).toBe(GOOD);
      expect(diff).toContain(`+${GOOD}\n`);
    }
  }
  expect(outcomes).toHaveLength(TRIES);
  // The writer was there, was noticed, and did not keep everything from going through.
  for (const outcome of ['committed', 'rejected', 'stale']) expect(outcomes).toContain(outcome);
});
