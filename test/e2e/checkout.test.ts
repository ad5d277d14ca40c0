import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { initWithAgents } from '../helpers/fake-agents.js';
import { contents, createRig, type Rig } from '../helpers/rig.js';

/** Everything of a checkout that is the user's. `git status` would refresh the index, so it comes last. */
const fingerprint = (rig: Rig, checkout = rig.repo) => {
  const gitDir = rig.gitIn(checkout, 'rev-parse', '--absolute-git-dir');
  const common = rig.gitIn(checkout, 'rev-parse', '--path-format=absolute', '--git-common-dir');
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'base64') : 'none');
  return {
    index: read(join(gitDir, 'index')),
    head: read(join(gitDir, 'HEAD')),
    config: read(join(common, 'config')),
    stash: read(join(common, 'logs/refs/stash')),
    reflog: read(join(gitDir, 'logs/HEAD')),
    refs: rig
      .gitIn(checkout, 'for-each-ref')
      .split('\n')
      .filter((line) => !line.includes('refs/heads/orchestrate/')),
    hooks: contents(join(common, 'hooks')),
    files: contents(checkout, ['.git', '.orchestrate']),
    status: rig.gitIn(checkout, '--no-optional-locks', 'status', '--porcelain=v2', '--branch'),
  };
};

const landed = (rig: Rig, path = 'a.txt'): string =>
  rig.gitIn(join(rig.dir, 'origin.git'), 'show', `main:${path}`);

/** Hooks of the user that would leave a trace. */
const plantHooks = (rig: Rig): void => {
  for (const name of [
    'pre-commit',
    'commit-msg',
    'post-commit',
    'pre-push',
    'post-checkout',
    'post-merge',
    'reference-transaction',
  ]) {
    const path = join(rig.repo, '.git/hooks', name);
    writeFileSync(path, `#!/bin/sh\necho ${name} >> ${rig.dir}/hooks-ran\n`, { mode: 0o755 });
  }
};

const makeDirty = (rig: Rig): void => {
  rig.write({ 'stashed.txt': 'stashed\n' });
  rig.git('stash', 'push', '--quiet', '--include-untracked', '--message=mine');
  rig.write({ 'a.txt': 'staged\n', 'gone.txt': 'gone\n', 'staged.txt': 'new and staged\n' });
  rig.git('add', '--all');
  rig.write({
    'a.txt': 'staged, then edited\n',
    'untracked/deep.txt': 'untracked\n',
    '.gitignore': 'ignored.txt\n',
    'ignored.txt': 'ignored\n',
  });
  rmSync(join(rig.repo, 'gone.txt'));
};

describe('the checkout of the user', () => {
  test('with staged, unstaged, untracked, ignored and stashed work stays as it is while its ticket lands', async () => {
    const rig = createRig();
    initWithAgents(rig);
    makeDirty(rig);
    plantHooks(rig);
    const before = fingerprint(rig);
    expect((await rig.run(['run', '320'])).code).toBe(0);
    expect(fingerprint(rig)).toEqual(before);
    // The work began at the last commit, not at what lies around.
    expect(landed(rig)).toBe('one\nmore');
    expect(rig.gitIn(join(rig.dir, 'origin.git'), 'ls-tree', '--name-only', 'main').split('\n')).toEqual([
      'a.txt',
      'targets.yaml',
      'tickets',
    ]);
    expect(rig.has('../hooks-ran')).toBe(false);
    expect(rig.git('log', '--format=%an <%ae>', '-1', 'orchestrate/320')).toBe(
      'Ada Lovelace <ada@example.com>',
    );
  });

  test("with a detached HEAD stays as it is; the remote's default branch is landed on", async () => {
    const rig = createRig();
    initWithAgents(rig);
    rig.git('remote', 'set-head', 'origin', 'main');
    rig.git('checkout', '--quiet', '--detach');
    const before = fingerprint(rig);
    const { code, stderr } = await rig.run(['run', '320']);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(fingerprint(rig)).toEqual(before);
    expect(landed(rig)).toBe('one\nmore');
  });

  test('works from a subdirectory as from the root', async () => {
    const rig = createRig();
    initWithAgents(rig);
    const cwd = join(rig.repo, 'deep/er');
    mkdirSync(cwd, { recursive: true });
    expect((await rig.run(['run', '320'], { cwd })).code).toBe(0);
    expect(existsSync(join(cwd, '.orchestrate'))).toBe(false);
    const root = await rig.run(['status', '320', '--json']);
    expect((await rig.run(['status', '320', '--json'], { cwd })).stdout).toBe(root.stdout);
  });

  test('that is a linked worktree is the one that is meant; the run is known in all of them, and all stay as they are', async () => {
    const rig = createRig();
    initWithAgents(rig);
    const linked = join(rig.dir, 'linked');
    rig.git('worktree', 'add', '--quiet', '-b', 'topic', linked);
    appendFileSync(join(linked, 'b.txt'), 'of the topic\n');
    rig.gitIn(linked, 'add', '--all');
    rig.gitIn(linked, 'commit', '--quiet', '--message=Topic');
    rig.gitIn(linked, 'push', '--quiet', '--set-upstream', 'origin', 'topic');
    appendFileSync(join(linked, 'b.txt'), 'dirty\n');
    const before = [fingerprint(rig), fingerprint(rig, linked)];
    expect((await rig.run(['run', '320'], { cwd: linked })).code).toBe(0);
    expect([fingerprint(rig), fingerprint(rig, linked)]).toEqual(before);
    // Its branch is the base.
    expect(rig.gitIn(join(rig.dir, 'origin.git'), 'show', 'topic:a.txt')).toBe('one\nmore');
    expect(rig.gitIn(join(rig.dir, 'origin.git'), 'show', 'topic:b.txt')).toBe('of the topic');
    expect(landed(rig)).toBe('one');
    expect(existsSync(join(linked, '.orchestrate'))).toBe(false);
    expect((await rig.run(['status', '320'])).stdout).toMatch(/^ticket 320 {2}done/);
  });

  test('is not touched by a base that moved: what lands is a merge of the reviewed commit', async () => {
    const rig = createRig();
    initWithAgents(rig);
    expect((await rig.run(['run', '320', '--until', 'push'])).code).toBe(0);
    const other = join(rig.dir, 'colleague');
    rig.gitIn(rig.dir, 'clone', '--quiet', 'origin.git', other);
    writeFileSync(join(other, 'c.txt'), 'theirs\n');
    rig.gitIn(other, 'add', '--all');
    rig.gitIn(other, 'commit', '--quiet', '--message=Theirs');
    rig.gitIn(other, 'push', '--quiet');
    const before = fingerprint(rig);
    expect((await rig.run(['run', '320'])).code).toBe(0);
    expect(fingerprint(rig)).toEqual(before);
    expect([landed(rig), landed(rig, 'c.txt')]).toEqual(['one\nmore', 'theirs']);
    expect(rig.gitIn(join(rig.dir, 'origin.git'), 'rev-parse', 'main^2')).toBe(
      rig.git('rev-parse', 'orchestrate/320'),
    );
  });
});

test("a branch of that name which is somebody else's is not taken over", async () => {
  const rig = createRig();
  initWithAgents(rig);
  rig.git('branch', 'orchestrate/320');
  const before = fingerprint(rig);
  const mine = rig.git('rev-parse', 'orchestrate/320');
  const { code, stderr } = await rig.run(['run', '320']);
  expect(code).toBe(2);
  expect(rig.has('.orchestrate')).toBe(false);
  expect(stderr).toContain('orchestrate/320');
  expect(rig.git('rev-parse', 'orchestrate/320')).toBe(mine);
  expect(fingerprint(rig)).toEqual(before);
  expect(landed(rig)).toBe('one');
});
