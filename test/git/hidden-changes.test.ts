/** What a worker can do to its own clone, git or home so that a change is not shown there. EVIDENCE section 3. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { snapshot } from '../../orchestrator/git/snapshot.js';
import { makeWorld, startTicket, type Ticket, unwrap, type World, writeFiles } from '../helpers/repo.js';

const take = (ticket: Ticket) => snapshot({ ...ticket, base: ticket.base.commit });

const EVIL = 'evil-marker';

const begin = async (): Promise<{ world: World; ticket: Ticket }> => {
  const world = makeWorld();
  return { world, ticket: await startTicket(world) };
};

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
