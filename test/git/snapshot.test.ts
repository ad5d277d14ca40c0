import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { snapshot } from '../../orchestrator/git/snapshot.js';
import { digestOf } from '../../orchestrator/model/digest.js';
import { makeWorld, startTicket, type Ticket, unwrap, type World, writeFiles } from '../helpers/repo.js';

const take = (ticket: Ticket) => snapshot({ ...ticket, base: ticket.base.commit });

const EVIL = 'evil-marker';

const begin = async (files?: Record<string, string>): Promise<{ world: World; ticket: Ticket }> => {
  const world = makeWorld(files === undefined ? {} : { files });
  return { world, ticket: await startTicket(world) };
};

test('an untouched tree has the tree of its base and an empty diff', async () => {
  const { world, ticket } = await begin();
  const shot = unwrap(await take(ticket));
  expect(shot.treeId).toBe(world.run(world.user, 'rev-parse', 'HEAD^{tree}'));
  expect(shot).toMatchObject({
    records: [],
    files: 0,
    diffBytes: 0,
    addedLines: 0,
    removedLines: 0,
    ignored: [],
  });
  expect(shot.diffDigest).toBe(digestOf(''));
});

test('every kind of change is in the tree, in the records and in the diff', async () => {
  const { world, ticket } = await begin({
    'edited.txt': 'a\nb\n',
    'staged.txt': 'a\n',
    'deleted.txt': 'x\n',
    'mode.sh': '#!/bin/sh\n',
    'binary.bin': 'x\0y\n',
    'kept.txt': 'k\n',
  });
  const { tree } = ticket;
  writeFiles(tree, {
    'edited.txt': 'a\nB\nc\n',
    'staged.txt': 'staged edit\n',
    'new/untracked.txt': 'new\n',
    'empty.txt': '',
    'binary.bin': 'x\0z\n',
    'we"ird\nna\tme é.txt': 'odd\n',
    '-x': 'dash\n',
  });
  world.run(tree, 'add', 'staged.txt');
  rmSync(join(tree, 'deleted.txt'));
  chmodSync(join(tree, 'mode.sh'), 0o755);
  symlinkSync('kept.txt', join(tree, 'link'));
  const shot = unwrap(await take(ticket));
  expect(shot.records.map(({ status, path, newMode }) => [status, path, newMode])).toEqual([
    ['A', '-x', '100644'],
    ['M', 'binary.bin', '100644'],
    ['D', 'deleted.txt', '000000'],
    ['M', 'edited.txt', '100644'],
    ['A', 'empty.txt', '100644'],
    ['A', 'link', '120000'],
    ['M', 'mode.sh', '100755'],
    ['A', 'new/untracked.txt', '100644'],
    ['M', 'staged.txt', '100644'],
    ['A', 'we"ird\nna\tme é.txt', '100644'],
  ]);
  const diff = readFileSync(ticket.diffFile);
  expect(shot).toMatchObject({ files: 10, addedLines: 8, removedLines: 4, diffBytes: diff.length });
  expect(shot.diffDigest).toBe(digestOf(diff));
  for (const line of [
    '+B',
    '+staged edit',
    '+new',
    '-x',
    '+x\0z',
    '+odd',
    'new mode 100755',
    '+kept.txt',
    '+dash',
  ]) {
    expect(diff.toString()).toContain(`\n${line}\n`);
  }
});

test('file names that are not UTF-8 are told apart', async () => {
  const { ticket } = await begin();
  for (const byte of [0xe9, 0xe8]) {
    writeFileSync(Buffer.concat([Buffer.from(`${ticket.tree}/caf`), Buffer.from([byte])]), `${byte}\n`);
  }
  const shot = unwrap(await take(ticket));
  expect(shot.records.map(({ path }) => path)).toEqual([String.raw`"caf\350"`, String.raw`"caf\351"`]);
});

test('a second snapshot sees a change of the same size with its time put back, and an undone change', async () => {
  const { ticket } = await begin();
  const file = join(ticket.tree, 'README.md');
  const { atime, mtime } = statSync(file);
  writeFileSync(file, '# SAMPLE\n');
  utimesSync(file, atime, mtime);
  expect(unwrap(await take(ticket)).records.map(({ path }) => path)).toEqual(['README.md']);
  writeFileSync(file, '# Sample\n');
  expect(unwrap(await take(ticket)).records).toEqual([]);
});

test('the digest of the records depends on content and not on order of work; a changed byte changes it', async () => {
  const { ticket } = await begin();
  writeFiles(ticket.tree, { 'b.txt': 'b\n', 'a.txt': 'a\n' });
  const first = unwrap(await take(ticket));
  rmSync(ticket.index);
  expect(unwrap(await take(ticket)).recordsDigest).toBe(first.recordsDigest);
  writeFiles(ticket.tree, { 'a.txt': 'A\n' });
  expect(unwrap(await take(ticket)).recordsDigest).not.toBe(first.recordsDigest);
});

test('a missing or damaged index of ours is made again', async () => {
  const { ticket } = await begin({ '.gitignore': 'kept.log\n', 'a.txt': 'a\n' });
  writeFiles(ticket.tree, { 'b.txt': 'b\n' });
  const first = unwrap(await take(ticket));
  writeFileSync(ticket.index, 'DIRC nonsense');
  writeFileSync(`${ticket.index}.lock`, '');
  expect(unwrap(await take(ticket)).treeId).toBe(first.treeId);
});

test('a file that is tracked although an ignore rule names it stays in the tree', async () => {
  const world = makeWorld({ files: { 'kept.log': 'k\n' } });
  writeFiles(world.user, { '.gitignore': '*.log\n' });
  world.run(world.user, 'add', '--all');
  world.run(world.user, 'commit', '--quiet', '--message=Ignore');
  const ticket = await startTicket(world, world.run(world.user, 'rev-parse', 'HEAD'));
  rmSync(ticket.index);
  expect(unwrap(await take(ticket)).records).toEqual([]);
});

test('ignored files are listed, one by one, and their list has a digest', async () => {
  const { ticket } = await begin({ '.gitignore': 'build/\n*.log\n', 'a.txt': 'a\n' });
  const before = unwrap(await take(ticket));
  writeFiles(ticket.tree, { 'build/out.js': 'x', 'build/deep/out.js': 'x', 'x.log': 'x', 'seen.txt': 's\n' });
  const after = unwrap(await take(ticket));
  expect(after.ignored).toEqual(['build/deep/out.js', 'build/out.js', 'x.log']);
  expect(after.ignoredDigest).not.toBe(before.ignoredDigest);
  expect(after.records.map(({ path }) => path)).toEqual(['seen.txt']);
});

/** What a worker may do to its clone so that git shows less there. Each must leave the marker in our diff. EVIDENCE 3. */
const HIDING: readonly (readonly [string, (world: World, ticket: Ticket) => void])[] = [
  ['nothing (control)', () => undefined],
  [
    'assume-unchanged',
    (world, { tree }) => world.run(tree, 'update-index', '--assume-unchanged', 'src/add.js'),
  ],
  ['skip-worktree', (world, { tree }) => world.run(tree, 'update-index', '--skip-worktree', 'src/add.js')],
  [
    'rm --cached and an exclude',
    (world, { tree }) => {
      world.run(tree, 'rm', '--quiet', '--cached', 'src/add.js');
      writeFileSync(join(tree, '.git/info/exclude'), '*\n');
    },
  ],
  [
    'a commit of its own on the branch',
    (world, { tree }) => world.run(tree, 'commit', '--quiet', '-am', 'mine'),
  ],
  [
    'core.excludesFile',
    (world, { tree }) => {
      writeFileSync(join(tree, '.git/ignore'), '*\n');
      world.run(tree, 'config', 'core.excludesFile', '.git/ignore');
    },
  ],
  [
    'textconv',
    (world, { tree }) => {
      writeFileSync(join(tree, '.git/info/attributes'), '* diff=hide\n');
      world.run(tree, 'config', 'diff.hide.textconv', 'true');
    },
  ],
  ['an external diff', (world, { tree }) => world.run(tree, 'config', 'diff.external', 'true')],
  ['-diff in .gitattributes', (_, { tree }) => writeFileSync(join(tree, '.gitattributes'), '* -diff\n')],
  [
    'a binary macro in .gitattributes',
    (_, { tree }) => writeFileSync(join(tree, '.gitattributes'), '* binary\n'),
  ],
  ['bigFileThreshold', (world, { tree }) => world.run(tree, 'config', 'core.bigFileThreshold', '1')],
  [
    'a clean filter that pins the old bytes',
    (world, { tree }) => {
      writeFileSync(join(tree, '.gitattributes'), '*.js filter=pin\n');
      world.run(tree, 'config', 'filter.pin.clean', 'git cat-file -p HEAD:src/add.js');
    },
  ],
  ['autocrlf', (world, { tree }) => world.run(tree, 'config', 'core.autocrlf', 'true')],
  [
    'fsmonitor',
    (world, { tree }) => {
      world.run(tree, 'config', 'core.fsmonitor', 'true');
      writeFileSync(join(tree, '.git/lie'), '#!/bin/sh\nprintf "token\\0"\n', { mode: 0o755 });
      world.run(tree, 'config', 'core.fsmonitor', '.git/lie');
    },
  ],
  [
    'stat settings',
    (world, { tree }) => {
      world.run(tree, 'config', 'core.trustctime', 'false');
      world.run(tree, 'config', 'core.checkStat', 'minimal');
    },
  ],
  [
    'core.worktree to a clean copy',
    (world, { tree }) => {
      world.run(world.dir, 'clone', '--quiet', tree, join(world.dir, 'clean'));
      world.run(tree, 'config', 'core.worktree', join(world.dir, 'clean'));
    },
  ],
  [
    'another .git in place of its own',
    (world, { tree }) => {
      rmSync(join(tree, '.git'), { recursive: true });
      writeFileSync(join(tree, '.git'), `gitdir: ${join(world.origin)}\n`);
    },
  ],
  ['no .git any more', (_, { tree }) => rmSync(join(tree, '.git'), { recursive: true })],
  [
    'sparse checkout',
    (world, { tree }) => {
      world.run(tree, 'config', 'core.sparseCheckout', 'true');
      writeFileSync(join(tree, '.git/info/sparse-checkout'), 'README.md\n');
    },
  ],
  [
    'a replaced blob',
    (world, { tree }) => {
      const old = world.run(tree, 'rev-parse', 'HEAD:src/add.js');
      const now = world.run(tree, 'hash-object', '-w', 'src/add.js');
      world.run(tree, 'replace', old, now);
      world.run(world.user, 'fetch', '--quiet', tree, 'refs/replace/*:refs/replace/*');
    },
  ],
  [
    'GIT_ variables',
    (world) => {
      Object.assign(world.env, {
        GIT_DIR: world.origin,
        GIT_EXTERNAL_DIFF: 'true',
        GIT_WORK_TREE: '/',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'diff.external',
        GIT_CONFIG_VALUE_0: 'true',
      });
    },
  ],
  [
    'the home of the user',
    (world) => {
      appendFileSync(
        join(world.home, '.gitconfig'),
        '[diff]\n\texternal = true\n[core]\n\texcludesFile = ~/ignore\n',
      );
      writeFileSync(join(world.home, 'ignore'), '*\n');
    },
  ],
];

test.each(HIDING)('a change is seen in spite of %s', async (_, hide) => {
  const { world, ticket } = await begin();
  writeFileSync(join(ticket.tree, 'src/add.js'), `${EVIL}\n`);
  hide(world, ticket);
  const shot = unwrap(await take(ticket));
  expect(shot.records.map(({ path }) => path)).toContain('src/add.js');
  expect(shot.addedLines).toBeGreaterThan(0);
  expect(readFileSync(ticket.diffFile, 'utf8')).toContain(`+${EVIL}`);
});

test('a new file is seen in spite of info/exclude, and what .gitignore hides is listed', async () => {
  const { ticket } = await begin();
  writeFileSync(join(ticket.tree, '.git/info/exclude'), 'evil.js\n');
  writeFiles(ticket.tree, {
    'evil.js': `${EVIL}\n`,
    'hidden.js': 'x\n',
    '.gitignore': '.gitignore\nhidden.js\n',
  });
  const shot = unwrap(await take(ticket));
  expect(readFileSync(ticket.diffFile, 'utf8')).toContain(`+${EVIL}`);
  expect(shot.ignored).toEqual(['.gitignore', 'hidden.js']);
});

test('bytes are taken as they are, whatever line endings, encodings and macros .gitattributes asks for', async () => {
  const { world, ticket } = await begin();
  const bytes = 'a\r\nb\r\n$Id$\n';
  writeFiles(ticket.tree, {
    '.gitattributes': '[attr]diff text eol=crlf ident working-tree-encoding=UTF-16\n* text=auto diff ident\n',
    'crlf.txt': bytes,
  });
  const shot = unwrap(await take(ticket));
  const stored = execFileSync(
    'git',
    ['--git-dir', ticket.store.path, 'cat-file', '-p', `${shot.treeId}:crlf.txt`],
    {
      env: world.env,
    },
  );
  expect(stored.toString()).toBe(bytes);
});

test('what a worker commits, stages or stashes without leaving it in the files is not in the tree', async () => {
  const { world, ticket } = await begin();
  writeFiles(ticket.tree, { 'ghost.js': `${EVIL}\n` });
  world.run(ticket.tree, 'add', 'ghost.js');
  rmSync(join(ticket.tree, 'ghost.js'));
  expect(unwrap(await take(ticket)).records).toEqual([]);
});

const ODD: readonly (readonly [string, readonly string[], (world: World, tree: string) => void])[] = [
  [
    'a nested repository without commits',
    ['nested/.git'],
    (world, tree) => {
      world.run(tree, 'init', '--quiet', 'nested');
      writeFiles(tree, { 'nested/evil.js': EVIL });
    },
  ],
  [
    'a nested repository with a commit',
    ['deep/nested/.git'],
    (world, tree) => {
      world.run(world.dir, 'clone', '--quiet', world.origin, join(tree, 'deep/nested'));
    },
  ],
  [
    'a .git file below the root',
    ['sub/.git'],
    (_, tree) => writeFiles(tree, { 'sub/.git': 'gitdir: /nowhere\n' }),
  ],
  ['a .GIT folder', ['.GIT'], (_, tree) => writeFiles(tree, { '.GIT/config': '' })],
  [
    'fifos',
    ['a.fifo', 'src/b.fifo'],
    (_, tree) => {
      execFileSync('mkfifo', [join(tree, 'a.fifo'), join(tree, 'src/b.fifo')]);
    },
  ],
  [
    'a symbolic link to an absolute path',
    ['out'],
    (_, tree) => symlinkSync('/etc/passwd', join(tree, 'out')),
  ],
  [
    'a symbolic link upwards',
    ['src/out'],
    (_, tree) => symlinkSync('../../elsewhere', join(tree, 'src/out')),
  ],
  [
    'a symbolic link out through another',
    ['src/b'],
    (_, tree) => {
      symlinkSync('..', join(tree, 'src/up'));
      // As text it is `home` in the tree; in truth it is the folder two above the tree.
      symlinkSync('up/../../home', join(tree, 'src/b'));
    },
  ],
  [
    'a folder replaced by a link',
    ['src'],
    (world, tree) => {
      renameSync(join(tree, 'src'), join(world.dir, 'src'));
      symlinkSync(join(world.dir, 'src'), join(tree, 'src'));
    },
  ],
];

test.each(ODD)('%s is refused by name', async (_, paths, make) => {
  const { world, ticket } = await begin();
  make(world, ticket.tree);
  const refused = await take(ticket);
  expect(refused).toMatchObject({ ok: false, failure: { kind: 'evidence-refused' } });
  for (const path of paths)
    expect(refused).toHaveProperty('failure.message', expect.stringContaining(`\`${path}\``));
});

test('a tree that was replaced by a link is refused', async () => {
  const { world, ticket } = await begin();
  renameSync(ticket.tree, join(world.dir, 'moved'));
  symlinkSync(join(world.dir, 'moved'), ticket.tree);
  expect(await take(ticket)).toMatchObject({ ok: false, failure: { kind: 'evidence-refused' } });
});

test('odd things that an ignore rule names, and links that were there before, are no reason to refuse', async () => {
  const world = makeWorld({ files: { '.gitignore': 'cache/\n', 'a.txt': 'a\n' } });
  symlinkSync('/usr/share', join(world.user, 'share'));
  world.run(world.user, 'add', '--all');
  world.run(world.user, 'commit', '--quiet', '--message=Link');
  const ticket = await startTicket(world, world.run(world.user, 'rev-parse', 'HEAD'));
  mkdirSync(join(ticket.tree, 'cache'));
  execFileSync('mkfifo', [join(ticket.tree, 'cache/daemon.fifo')]);
  world.run(ticket.tree, 'init', '--quiet', 'cache/repo');
  writeFiles(ticket.tree, { 'cache/x': 'x', 'a.txt': 'b\n' });
  const shot = unwrap(await take(ticket));
  expect(shot.records.map(({ path }) => path)).toEqual(['a.txt']);
});

test('files inside a submodule, where no diff would show them, are refused; an untouched submodule is not', async () => {
  const world = makeWorld();
  world.run(world.user, 'update-index', '--add', '--cacheinfo', `160000,${world.head},lib`);
  world.run(world.user, 'commit', '--quiet', '--message=Submodule');
  const ticket = await startTicket(world, world.run(world.user, 'rev-parse', 'HEAD'));
  expect(unwrap(await take(ticket)).records).toEqual([]);
  writeFiles(ticket.tree, { 'lib/evil.js': EVIL });
  const refused = await take(ticket);
  expect(refused).toHaveProperty('failure.message', expect.stringContaining('`lib/evil.js`'));
});

test('a SHA-256 repository works the same', async () => {
  const world = makeWorld({ format: 'sha256' });
  const ticket = await startTicket(world);
  writeFiles(ticket.tree, { 'new.txt': 'new\n' });
  const shot = unwrap(await take(ticket));
  expect(shot.treeId).toMatch(/^[0-9a-f]{64}$/);
  expect(shot.records.map(({ path }) => path)).toEqual(['new.txt']);
});

test('nothing but the diff is left in its folder, and nothing temporary in the store', async () => {
  const { ticket } = await begin();
  writeFiles(ticket.tree, { 'a.txt': 'a\n' });
  unwrap(await take(ticket));
  expect(existsSync(join(ticket.store.path, 'index'))).toBe(false);
  const left = execFileSync('find', [join(ticket.store.path, '..'), '-name', '*tmp*']).toString();
  expect(left).toBe('');
});
