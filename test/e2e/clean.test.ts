import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builder, initWithAgents } from '../helpers/fake-agents.js';
import { contents, createRig, makeGate, until, type Ended, type Rig } from '../helpers/rig.js';
import { savedStates } from '../helpers/saved-states.js';
import { verify } from '../helpers/verification.js';

const RUN = '.orchestrate/320';

/** Both kinds have one folder of the same name for each repository. */
const folderOf = (rig: Rig, kind: 'trees' | 'checkouts'): string =>
  join(rig.home, 'orchestrate', kind, readdirSync(join(rig.home, 'orchestrate/trees'))[0] ?? '');

const treeOf = (rig: Rig, ticket = '320'): string => join(folderOf(rig, 'trees'), ticket);

const clean = (rig: Rig, ticket = '320'): Promise<Ended> => rig.run(['clean', '--ticket', ticket]);

const ran = async (rig: Rig, ...args: string[]): Promise<void> => {
  const ended = await rig.run(['run', ...args]);
  expect(ended).toMatchObject({ code: 0 });
};

/** With the default agents. */
const ticket = savedStates({
  made: async (rig) => {
    initWithAgents(rig);
    await ran(rig, '320', '--until', 'implementation-diff');
  },
  committed: (rig) => ran(rig, '320', '--until', 'commit'),
  pushed: (rig) => ran(rig, '320', '--until', 'push'),
  done: (rig) => ran(rig, '320'),
});

const origin = (rig: Rig): string => join(rig.dir, 'origin.git');

/** All that a refused `clean` must leave as it was: trees, checkouts, record. The lock's number goes on, a look at the tree leaves objects. */
const everything = (rig: Rig): Record<string, string> => {
  const found = {
    ...contents(join(rig.home, 'orchestrate'), ['cache']),
    ...contents(join(rig.repo, '.orchestrate')),
  };
  return Object.fromEntries(
    Object.entries(found).filter(([name]) => !/lock\.\d+$|index-320$|^store\.git\/objects/.test(name)),
  );
};

const expectRefused = async (rig: Rig, code: number, reason: RegExp): Promise<void> => {
  const before = everything(rig);
  const { code: actual, stdout, stderr } = await clean(rig);
  expect({ code: actual, stdout }).toEqual({ code, stdout: '' });
  expect(stderr).toMatch(reason);
  expect(stderr).toMatch(/\n {2}next: /);
  expect(everything(rig)).toEqual(before);
};

const locks = (rig: Rig): string[] =>
  readdirSync(join(rig.repo, RUN)).filter((name) => name.startsWith('lock.'));

/** A target that reads and makes files of the tree: freshness looks at them. */
const WITH_FILES = `  summary:
    needs: [land]
    command: wc -l a.txt > lines.out
    inputs: ["*.txt", a.txt]
    outputs: [lines.out]
`;

describe('clean of shipped work', () => {
  test('removes tree, checkouts and index, says how much, and leaves the record: everything else goes on', async () => {
    const rig = createRig();
    initWithAgents(rig, { targets: WITH_FILES });
    rig.write({ '.gitignore': 'lines.out\n' });
    rig.git('add', '.gitignore');
    rig.git('commit', '-qm', 'Ignore');
    rig.git('push', '-q', 'origin', 'main');
    await ran(rig, '320');
    const record = contents(join(rig.repo, RUN), [...locks(rig), 'tree']);
    expect(existsSync(join(folderOf(rig, 'checkouts'), '320'))).toBe(true);

    const { code, stdout, stderr } = await clean(rig);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^commit [0-9a-f]{12} is in `orchestrate\/320` on .*origin\.git\n/);
    expect(stdout).toMatch(
      /^removed {2}tree +[\d.]+ \w+ +\/.*\/trees\/repo-[0-9a-f]{12}\/320\nremoved {2}checkouts .*\/320\nremoved {2}index .*index-320$/m,
    );
    expect(stdout).toMatch(
      /^[\d.]+ \w+ \(\d+ bytes\) freed; the record of ticket 320 stays: `orchestrate status --ticket 320`$/m,
    );
    expect([
      existsSync(treeOf(rig)),
      existsSync(join(folderOf(rig, 'checkouts'), '320')),
      rig.has('.orchestrate/store.git/index-320'),
    ]).toEqual([false, false, false]);
    expect(readdirSync(join(rig.repo, RUN))).not.toContain('tree');
    expect(contents(join(rig.repo, RUN), locks(rig))).toEqual(record);

    const done = 'nothing to do: 10 of 10 targets are up to date\n';
    expect(await rig.run(['run', '320'])).toMatchObject({ code: 0, stdout: done, stderr: '' });
    expect((await rig.run(['explain', '320'])).stdout.match(/up to date/g)).toHaveLength(10);
    // Also when it would be made again if the tree were there.
    const pipeline = rig.read('targets.yaml');
    rig.write({ 'targets.yaml': `${pipeline}  implementation-diff: { gates: [not-empty] }\n` });
    expect(await rig.run(['run', '320'])).toMatchObject({
      code: 0,
      stdout: done,
      stderr: expect.stringMatching(
        /note: implementation-diff is held: its recipe changed \(.*\), but the tree was cleaned away\n/,
      ) as string,
    });
    rig.write({ 'targets.yaml': pipeline });
    expect((await rig.run(['run', '320'])).code).toBe(0);
    for (const command of ['status', 'boot', 'graph'])
      expect({ command, ...(await rig.run([command, '--ticket', '320'])) }).toMatchObject({
        command,
        code: 0,
      });
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });
    expect(await clean(rig)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nothing to remove') as string,
    });
  });

  test('--json says what was removed', async () => {
    const rig = await ticket('done');
    const size = Object.values(contents(treeOf(rig)))
      .filter((text) => text !== 'folder')
      .reduce((sum, text) => sum + Buffer.from(text, 'base64').length, 0);
    const { code, stdout } = await rig.run(['clean', '320', '--json']);
    expect(code).toBe(0);
    const told = JSON.parse(stdout) as {
      readonly removed: readonly { readonly what: string; readonly bytes: number }[];
      readonly bytes: number;
    };
    expect(told).toMatchObject({
      ticket: '320',
      kept: [],
      open: [],
      removed: [{ what: 'tree', path: treeOf(rig), bytes: size }, { what: 'checkouts' }, { what: 'index' }],
    });
    expect(told.bytes).toBe(told.removed.reduce((sum, { bytes }) => sum + bytes, 0));
  });

  test('goes by ancestry: a branch that others pushed on, a merge into the base, a branch that was deleted after it', async () => {
    const rig = await ticket('pushed');
    await ran(rig, '321', '--until', 'push');
    const colleague = join(rig.dir, 'colleague');
    rig.gitIn(rig.dir, 'clone', '-q', origin(rig), colleague);
    const by = (...args: string[]): string => rig.gitIn(colleague, ...args);
    by('checkout', '-q', 'orchestrate/321');
    by('commit', '-q', '--allow-empty', '-m', 'On top');
    by('push', '-q');
    by('checkout', '-q', 'main');
    by('commit', '-q', '--allow-empty', '-m', 'Meanwhile');
    by('merge', '-q', '--no-ff', '-m', 'Merge it', 'origin/orchestrate/320');
    by('push', '-q', 'origin', 'main', ':orchestrate/320');
    const before = contents(join(rig.repo, '.git'));

    const shipped = await clean(rig);
    expect(shipped.stdout).toMatch(/^commit [0-9a-f]{12} is in `main` on /);
    expect(shipped.stderr).toBe(
      'note: land, post-mortem are not done and may miss the tree; `orchestrate run --ticket 320 --rebuild ticket` makes a new one\n',
    );
    expect((await clean(rig, '321')).stdout).toMatch(/^commit [0-9a-f]{12} is in `orchestrate\/321` on /);
    expect([existsSync(treeOf(rig)), existsSync(treeOf(rig, '321'))]).toEqual([false, false]);
    // What was fetched to tell was put nowhere.
    expect(contents(join(rig.repo, '.git'))).toEqual(before);
    expect(
      readdirSync(join(rig.repo, '.orchestrate/store.git')).filter((name) => name.startsWith('tmp-')),
    ).toEqual([]);
  });

  test('knows work that landed as a merge of ours, its branch deleted everywhere', async () => {
    const rig = await ticket('pushed');
    rig.git('commit', '-q', '--allow-empty', '-m', 'Meanwhile');
    rig.git('push', '-q', 'origin', 'main');
    await ran(rig, '320');
    rig.git('push', '-q', 'origin', ':orchestrate/320');
    rig.git('branch', '-D', 'orchestrate/320');
    expect((await clean(rig)).stdout).toMatch(/ is in `main` on /);
  });

  test("without a remote the user's own branch is where the work was to go", async () => {
    const rig = createRig();
    initWithAgents(rig, { targets: '  push: null\n  land: null\n  post-mortem: { needs: [commit] }\n' });
    rig.git('remote', 'remove', 'origin');
    await ran(rig, '320');
    const commit = rig.git('rev-parse', 'orchestrate/320');
    rig.git('branch', '-D', 'orchestrate/320');
    await expectRefused(
      rig,
      1,
      /there is no remote, and commit [0-9a-f]{12} is not in `orchestrate\/320` nor in `main` here/,
    );
    rig.git('merge', '-q', '--no-ff', '-m', 'By hand', commit);
    expect((await clean(rig)).stdout).toMatch(/ is in your branch `main`/);
  });
});

describe('clean is refused, and nothing is removed,', () => {
  test('while work is uncommitted, unpushed, changed, or pushed to nowhere that can be seen', async () => {
    await expectRefused(
      await ticket('made'),
      1,
      /the tree holds changes that are in no commit of ours: `a\.txt`/,
    );
    await expectRefused(
      await ticket('committed'),
      1,
      /commit [0-9a-f]{12} is neither pushed nor landed: on the remote it is not in `orchestrate\/320` nor in `main`/,
    );
    const rig = await ticket('pushed');

    const edited = join(treeOf(rig), 'a.txt');
    const text = readFileSync(edited);
    writeFileSync(edited, 'more\n');
    writeFileSync(join(treeOf(rig), 'new.txt'), 'new\n');
    await expectRefused(rig, 1, /changes that are in no commit of ours: `a\.txt`, `new\.txt`/);
    writeFileSync(edited, text);
    rmSync(join(treeOf(rig), 'new.txt'));

    rig.git('push', '-q', '--force', 'origin', 'main:orchestrate/320');
    await expectRefused(rig, 1, /neither pushed nor landed/);
    renameSync(origin(rig), join(rig.dir, 'gone.git'));
    await expectRefused(rig, 1, /whether the work is pushed or landed cannot be told/);
    renameSync(join(rig.dir, 'gone.git'), origin(rig));
    rig.git('push', '-q', '--force', 'origin', 'orchestrate/320');
    expect((await clean(rig)).code).toBe(0);
  });

  test('while a process runs the ticket (5), and while a child is alive (5)', async () => {
    const rig = createRig();
    const gate = makeGate(rig);
    initWithAgents(rig, { builder: builder(`read line < ${gate.path}`) });
    const going = rig.start(['run', '320']);
    await until(() => rig.has(`${RUN}/children/03-implementation-diff.1/proc.json`), 'the builder');
    const busy = await clean(rig);
    expect(busy).toMatchObject({
      code: 5,
      stdout: '',
      stderr: expect.stringContaining(`is being run by process ${going.pid}`) as string,
    });
    going.kill('SIGKILL');
    await going.ended;
    await expectRefused(
      rig,
      5,
      /a child of ticket `320` may still be alive: `03-implementation-diff\.1` \(process \d+\)\n {2}next: `orchestrate stop --ticket 320` ends it/,
    );
    expect((await rig.run(['stop', '320'])).code).toBe(0);
    // It had changed nothing.
    expect((await clean(rig)).stdout).toMatch(/^nothing was committed, and the tree is as the base has it\n/);
  });

  test('when the record was tampered with (4)', async () => {
    const rig = await ticket('done');
    rmSync(join(rig.repo, RUN, 'state/10_ticket.md'));
    await expectRefused(rig, 4, /`10_ticket\.md` is missing/);
    expect(rig.has(`${RUN}/state/10_ticket.md`)).toBe(false);
  });
});

describe('clean', () => {
  test('of an abandoned ticket asks nothing: the person gave it up', async () => {
    const rig = await ticket('committed');
    writeFileSync(join(treeOf(rig), 'a.txt'), 'more\n');
    expect((await rig.run(['abandon', '320'])).code).toBe(0);
    renameSync(origin(rig), join(rig.dir, 'gone.git'));
    expect((await clean(rig)).stdout).toMatch(/^a person gave the ticket up\nremoved {2}tree /);
    expect(existsSync(treeOf(rig))).toBe(false);
    expect(await rig.run(['run', '320'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('was given up by person ada') as string,
    });
    expect(await verify(rig)).toMatchObject({ code: 0, failed: [] });
  });

  test('one target that was given up does not give up the work', async () => {
    const rig = await ticket('committed');
    expect((await rig.run(['abandon', '320', '--target', 'push'])).code).toBe(0);
    await expectRefused(rig, 1, /neither pushed nor landed/);
  });

  test('of a tree that is gone already is fine, also when nothing was pushed', async () => {
    const rig = await ticket('committed');
    rmSync(treeOf(rig), { recursive: true });
    expect(await clean(rig)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^there is no tree\nremoved {2}checkouts /) as string,
    });
  });

  test('follows no link and removes nothing outside the folders of trees and checkouts', async () => {
    const rig = createRig();
    const outside = join(rig.dir, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'precious.txt'), 'mine\n');
    initWithAgents(rig);
    rig.write({ '.gitignore': 'way-out\n' });
    rig.git('add', '.gitignore');
    rig.git('commit', '-qm', 'Ignore');
    await ran(rig, '320', '--until', 'approved-plan');
    symlinkSync(outside, join(treeOf(rig), 'way-out'));
    mkdirSync(join(folderOf(rig, 'checkouts')), { recursive: true });
    symlinkSync(outside, join(folderOf(rig, 'checkouts'), '320'));
    expect((await clean(rig)).code).toBe(0);
    expect(readFileSync(join(outside, 'precious.txt'), 'utf8')).toBe('mine\n');
    expect(lstatSync(join(folderOf(rig, 'checkouts'), '320'), { throwIfNoEntry: false })).toBe(undefined);

    // A tree that is itself a link is none: it is not looked through, and not removed through.
    await ran(rig, '321', '--until', 'approved-plan');
    rmSync(treeOf(rig, '321'), { recursive: true });
    symlinkSync(outside, treeOf(rig, '321'));
    expect(await clean(rig, '321')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('cannot be looked at') as string,
    });
    expect(readlinkSync(treeOf(rig, '321'))).toBe(outside);
    expect((await rig.run(['abandon', '321'])).code).toBe(0);
    expect((await clean(rig, '321')).code).toBe(0);
    expect(readdirSync(outside)).toEqual(['precious.txt']);
    expect(lstatSync(treeOf(rig, '321'), { throwIfNoEntry: false })).toBe(undefined);
  });

  test('takes away what a crash left half made or half removed, and leaves trees that were moved aside', async () => {
    const rig = await ticket('done');
    const trees = folderOf(rig, 'trees');
    for (const name of ['.partial-4-320', '.removed-4-1-320', '.partial-4-321', '320.old-1', '320-a'])
      mkdirSync(join(trees, name));
    writeFileSync(join(rig.repo, RUN, 'state/.tmp-4-1-99_next_action.md'), 'half');
    writeFileSync(join(rig.repo, RUN, 'artifacts/branch.diff.tmp-4'), 'half');
    writeFileSync(join(rig.repo, RUN, 'inbox/.tmp-4-1-0001.md'), 'half');
    const { code, stdout } = await clean(rig);
    expect(code).toBe(0);
    expect(readdirSync(trees).toSorted()).toEqual(['.partial-4-321', '320-a', '320.old-1']);
    expect(stdout).toMatch(/^kept +\/.*\/320\.old-1, which was moved aside/m);
    expect(
      ['state/.tmp-4-1-99_next_action.md', 'artifacts/branch.diff.tmp-4', 'inbox/.tmp-4-1-0001.md'].map(
        (path) => rig.has(join(RUN, path)),
      ),
    ).toEqual([false, false, true]);
  });

  test('does not touch a ticket whose name begins like this one', async () => {
    const rig = await ticket('done');
    rig.write({ 'tickets/320-a.md': rig.read('tickets/320.md') });
    await ran(rig, '320-a', '--until', 'adversarial-review');
    const theirs = (): readonly unknown[] => [
      contents(treeOf(rig, '320-a')),
      contents(folderOf(rig, 'checkouts'), ['320']),
      rig.has('.orchestrate/store.git/index-320-a'),
    ];
    writeFileSync(join(folderOf(rig, 'checkouts'), '320-a/kept'), 'kept');
    const before = theirs();
    expect((await clean(rig)).code).toBe(0);
    expect(theirs()).toEqual(before);
    expect(before).toEqual([
      expect.objectContaining({ 'a.txt': expect.any(String) as string }),
      expect.objectContaining({ '320-a/kept': expect.any(String) as string }),
      true,
    ]);
  });
});
