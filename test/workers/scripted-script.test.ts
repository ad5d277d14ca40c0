import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
const treeWith = (script: string, files: Readonly<Record<string, string>> = {}): string => {
  const tree = join(folder, `tree-${(count += 1)}`);
  writeFiles(tree, { 'tickets/7.script.yaml': script, 'a.txt': 'one\n', ...files });
  return tree;
};

const run = (tree: string, more: Partial<Run> = {}) =>
  runWorker({ program, tree, makes: 'diff', ticket: '7', ...more });

const FILE = 'scripted worker: tickets/7.script.yaml';

describe('a script with a mistake is refused before anything is done', () => {
  test.each([
    ['version: 2\n', ':1:10: `version`: expected a whole number from 1 to 1'],
    ['plan: {}\n', ':1:1: `version` is missing'],
    [
      'version: 1\nplna: {}\n',
      ':2:7: `plna`: unknown key; expected one of version, plan, diff, review, notes, files, misbehave',
    ],
    ['version: 1\ndiff: {}\n', ':2:7: `diff`: `work` or `fixes` is missing'],
    ['version: 1\nplan: { text: x }\n', ':2:7: `plan`: `paths` is missing'],
    [
      'version: 1\nplan: { paths: [], text: x }\n',
      ':2:16: `plan.paths`: a plan without paths allows no change',
    ],
    [
      'version: 1\ndiff: { work: { change: [{ write: ../x, text: y }] } }\n',
      '`diff.work.change[0].write`: `../x` is not a plain path',
    ],
    [
      'version: 1\ndiff: { work: { change: [{ write: .git/config, text: y }] } }\n',
      '`.git/config` is not a plain path',
    ],
    [
      'version: 1\ndiff: { work: { change: [{ write: a }] } }\n',
      'expected `write` with `text`, `replace` with `old` and `new`, or `delete`',
    ],
    ['version: 1\ndiff: { work: { change: [{ delete: a, text: y }] } }\n', 'expected `write` with `text`'],
    ['version: 1\ndiff: { work: { run: [] } }\n', '`diff.work.run`: expected a program and its arguments'],
    ['version: 1\ndiff: { work: { run: node } }\n', '`diff.work.run`: expected a list'],
    ['version: 1\ndiff: { status: done, because: x }\n', '`diff.status`: expected one of no-change, blocked'],
    ['version: 1\ndiff: { status: blocked }\n', '`because` is missing'],
    [
      'version: 1\ndiff: { status: blocked, because: x, work: {} }\n',
      '`diff.work`: does not go together with `status`',
    ],
    ['version: 1\ndiff:\n  - { work: {} }\n  - { work: {} }\n', '`diff`: two entries for every round'],
    [
      'version: 1\nreview: { probes: [{ claim: a, blocker: b, pillar: c, run: [x], expect: maybe }] }\n',
      'expected one of pass, fail',
    ],
    [
      'version: 1\nreview: { probes: [{ claim: "a\\nb", blocker: b, pillar: c, run: [x] }] }\n',
      '`review.probes[0].claim`: expected one line',
    ],
    [
      'version: 1\nmisbehave: [{ makes: diff }]\n',
      '`misbehave[0]`: expected exactly one of exit, signal, print, write, return, do',
    ],
    ['version: 1\nmisbehave: [{ makes: diff, exit: 1, do: hang }]\n', 'expected exactly one of'],
    ['version: 1\nmisbehave: [{ makes: diff, signal: SIGNOPE }]\n', 'expected the name of a signal'],
    ['version: 1\ndiff: [\n', ':3:1: '],
    ['version: 1\nversion: 1\n', ':2:1: Map keys must be unique'],
  ])('%j', async (script, message) => {
    const ran = await run(treeWith(script));
    expect(ran.stderr).toContain(FILE);
    expect(ran.stderr).toContain(message);
    expect(ran.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect([ran.code, ran.text]).toEqual([1, undefined]);
  });

  test('a ticket without a script, and a phase that the script leaves out', async () => {
    const tree = treeWith('version: 1\n');
    expect((await run(tree, { ticket: '8' })).stderr).toContain(
      '`tickets/8.script.yaml` cannot be read in the tree',
    );
    const ran = await run(tree, { round: 3 });
    expect(ran.stderr).toContain('`tickets/7.script.yaml` says nothing about `diff` in round 3');
    expect([ran.code, ran.text]).toEqual([1, undefined]);
  });
});

describe('a builder whose script does not hold fails, with what it saw', () => {
  const failing = async (diff: string, files: Readonly<Record<string, string>> = {}): Promise<string> => {
    const ran = await run(treeWith(`version: 1\ndiff: ${diff}\n`, files));
    expect([ran.code, ran.text]).toEqual([1, undefined]);
    return ran.stderr;
  };

  test('a test that passes before the change', async () => {
    const test_ = '{ edits: [{ write: t.js, text: " " }], run: [node, t.js] }';
    expect(await failing(`{ work: { test: ${test_}, change: [{ write: b.txt, text: x }] } }`)).toContain(
      'the test passes before the change (`node t.js`), so it proves nothing',
    );
  });

  test('a test that cannot be started is not a test that fails', async () => {
    expect(await failing('{ work: { test: { edits: [], run: [no-such-program] }, change: [] } }')).toContain(
      '`no-such-program`: not started',
    );
  });

  test('tests that fail after the change', async () => {
    const text = await failing(
      '{ work: { change: [], run: [node, -e, "console.log(41 + 1); process.exit(3)"] } }',
    );
    expect(text).toContain('after the change: exit 3');
    expect(text).toContain('\n42\n');
  });

  test('a text to replace that is absent or there twice', async () => {
    expect(await failing('{ work: { change: [{ replace: a.txt, old: two, new: x }] } }')).toContain(
      'the text to replace is not in `a.txt`',
    );
    const twice = await failing('{ work: { change: [{ replace: b.txt, old: o, new: x }] } }', {
      'b.txt': 'o o',
    });
    expect(twice).toContain('`b.txt` contains the text to replace 2 times; quote more of it');
  });

  test('a link that leads out of the tree', async () => {
    const tree = treeWith('version: 1\ndiff: { work: { change: [{ write: link/b.txt, text: x }] } }\n');
    const outside = join(folder, 'outside');
    mkdirSync(outside);
    symlinkSync(outside, join(tree, 'link'));
    expect((await run(tree)).stderr).toContain('`link` is a symbolic link');
    expect(existsSync(join(outside, 'b.txt'))).toBe(false);
  });
});

describe('answers and rounds', () => {
  test.each(['no-change', 'blocked'])('a phase can answer `%s` without work', async (status) => {
    const ran = await run(treeWith(`version: 1\ndiff: { status: ${status}, because: it is there }\n`));
    expect([ran.code, ran.returned.status, ran.returned.summary[0]]).toEqual([
      0,
      status,
      'scripted worker, not a model: it is there',
    ]);
  });

  test('an entry for a round is taken before the entry for every round', async () => {
    const tree = treeWith(
      [
        'version: 1',
        'diff:',
        '  - work: { change: [{ replace: a.txt, old: one, new: two }] }',
        '  - round: 2',
        '    work: { change: [{ replace: a.txt, old: two, new: three }] }',
        '  - { round: 3, status: blocked, because: enough }',
      ].join('\n'),
    );
    const text = (): string => readFileSync(join(tree, 'a.txt'), 'utf8');
    await run(tree);
    expect(text()).toBe('two\n');
    await run(tree, { round: 2 });
    expect(text()).toBe('three\n');
    expect((await run(tree, { round: 3 })).returned.status).toBe('blocked');
  });

  test('fixes go forward: one that a later one has overtaken is left out', async () => {
    const fix = (from: string, to: string): string =>
      `{ blocker: "${from} is wrong", change: [{ replace: a.txt, old: ${from}, new: ${to} }] }`;
    const tree = treeWith(`version: 1\ndiff: { fixes: [${fix('one', 'two')}, ${fix('two', 'three')}] }\n`);
    const feedback = ['one is wrong', 'a.txt: two is wrong – seen'];
    expect((await run(tree, { round: 2, prompt: { feedback: ['one is wrong'] } })).returned.status).toBe(
      'done',
    );
    await run(tree, { round: 3, prompt: { feedback } });
    expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('three\n');
    const late = await run(tree, { round: 4, prompt: { feedback: ['one is wrong'] } });
    expect(late.stderr).toContain('no written fix applies any more; the first was for: one is wrong');
  });

  test('files are changed and removed, and a phase `files` works like a diff', async () => {
    const tree = treeWith(
      'version: 1\nfiles: { work: { change: [{ delete: a.txt }, { write: d/e.txt, text: x }] } }\n',
    );
    const ran = await run(tree, { makes: 'files' });
    expect(ran.returned.status).toBe('done');
    expect([existsSync(join(tree, 'a.txt')), readFileSync(join(tree, 'd/e.txt'), 'utf8')]).toEqual([
      false,
      'x',
    ]);
  });

  test('what a script runs does not learn of the contract, but keeps the marker of the parent', async () => {
    const print =
      'console.log(Object.keys(process.env).filter((name) => name.startsWith("ORCHESTRATE_")).join()); process.exit(1)';
    const tree = treeWith(`version: 1\ndiff: { work: { change: [], run: [node, -e, '${print}'] } }\n`);
    expect((await run(tree)).stderr.trimEnd().split('\n').at(-1)).toBe('ORCHESTRATE_CHILD');
  });
});

describe('a broken contract with the parent', () => {
  test.each([
    [{ env: { ORCHESTRATE_RETURN: undefined } }, '`ORCHESTRATE_RETURN` is not set'],
    [{ env: { ORCHESTRATE_TREE: 'here' } }, '`ORCHESTRATE_TREE` is not an absolute path: here'],
    [{ env: { ORCHESTRATE_ROUND: '0' } }, '`ORCHESTRATE_ROUND` is not a number from 1: 0'],
    [{ makes: 'poem' }, '`ORCHESTRATE_MAKES` is `poem`'],
    [{ prompt: { assignment: { ticket: '9' } } }, 'the prompt says `ticket: 9`, the environment says `7`'],
    [{ makes: 'review' }, 'the prompt of a review has no `nonce:` line'],
  ])('%j', async (more, message) => {
    const ran = await run(treeWith('version: 1\nreview: { probes: [] }\n'), more);
    expect(ran.stderr).toContain(message);
    expect([ran.code, ran.text]).toEqual([1, undefined]);
  });

  test('two nonces', async () => {
    const tree = treeWith('version: 1\nreview: { probes: [] }\n');
    writeFileSync(join(tree, 'page'), '');
    const review = { nonce: 'abc', pages: [], pillars: [], diff: '/d' };
    const ran = await run(tree, { makes: 'review', prompt: { assignment: { nonce: 'def' }, review } });
    expect(ran.stderr).toContain('the prompt has 2 different values for `nonce`');
    expect(ran.code).toBe(1);
  });
});
