import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { snapshot } from '../../orchestrator/git/snapshot.js';
import { open, unwrap, writeFiles, writeScript } from '../helpers/repo.js';
import {
  ADD,
  attributes,
  BASE_FILES,
  configured,
  edit,
  EVIL,
  fillSubmodule,
  git,
  hiding,
  IN_SUBMODULE,
  ignoreAll,
  poison,
  poisonBase,
  SEEN,
  write,
  type Row,
  type Trick,
} from './tricks.js';
import type { Scene } from './ticket-copies.js';

const SUBMODULE_ROWS = {
  dirty: 'submodule dirty / + ignore=all',
  untracked: 'submodule: untracked file inside',
  bump: 'submodule bump / + ignore=all',
} as const;

const submoduleRow = (kind: keyof typeof SUBMODULE_ROWS): Row => {
  const change = (scene: Scene): void => {
    fillSubmodule(scene);
    const lib = join(scene.ticket.tree, 'lib');
    if (kind === 'dirty') writeFiles(lib, { 'README.md': EVIL });
    if (kind === 'untracked') writeFiles(lib, { 'evil.js': EVIL });
    if (kind === 'bump') scene.world.run(lib, 'checkout', '--quiet', 'origin/main');
  };
  const tricks: Trick[] = [{ how: kind, play: change, outcome: IN_SUBMODULE }];
  if (kind !== 'untracked')
    tricks.push({
      how: `${kind}, and ignore=all`,
      play: (scene) => {
        change(scene);
        ignoreAll(scene);
      },
      outcome: IN_SUBMODULE,
      blind: true,
    });
  return { row: SUBMODULE_ROWS[kind], tricks };
};

/** Tricks with what is stored, and with what lies in the tree. */
export const STORING: readonly Row[] = [
  {
    row: 'clean filter strips / pins old blob',
    tricks: [
      hiding(
        'strips',
        (scene) => {
          attributes(scene, '*.js filter=f\n');
          git(scene, 'config', 'filter.f.clean', `sed '/${EVIL}/d'`);
          write(scene, { [ADD]: `${BASE_FILES[ADD]}${EVIL}\n` });
        },
        { blind: true },
      ),
      hiding(
        'pins the old blob',
        (scene) => {
          attributes(scene, '*.js filter=f\n');
          git(scene, 'config', 'filter.f.clean', `git cat-file -p HEAD:${ADD}`);
        },
        { blind: true },
      ),
    ],
  },
  {
    row: 'clean filter injects only on add',
    tricks: [
      {
        how: 'what is in the file is taken',
        play: (scene) => {
          attributes(scene, '*.js filter=f\n');
          git(scene, 'config', 'filter.f.clean', `cat; echo ${EVIL}`);
          write(scene, { [ADD]: 'harmless\n' });
        },
        outcome: { seen: [ADD], lines: ['+harmless'] },
      },
    ],
  },
  {
    row: 'smudge+clean pair; autocrlf',
    tricks: [
      hiding(
        'a pair',
        (scene) => {
          attributes(scene, '*.js filter=f\n');
          git(scene, 'config', 'filter.f.clean', `git cat-file -p HEAD:${ADD}`);
          git(scene, 'config', 'filter.f.smudge', `echo ${EVIL}`);
          rmSync(join(scene.ticket.tree, ADD));
          git(scene, 'checkout', '--quiet', '--', ADD);
        },
        { blind: true },
      ),
      hiding(
        'autocrlf',
        (scene) => {
          attributes(scene, '');
          git(scene, 'config', 'core.autocrlf', 'true');
          write(scene, { [ADD]: BASE_FILES[ADD].replace('\n', '\r\n') });
        },
        { outcome: { seen: [ADD], lines: [`+${BASE_FILES[ADD].trim()}\r`] }, blind: true },
      ),
    ],
  },
  {
    row: 'fsmonitor lie',
    tricks: [
      {
        how: 'nothing has changed, it says',
        play: (scene) => {
          writeScript(join(scene.ticket.tree, '.git/lie'), String.raw`printf 'token\0'`);
          git(scene, 'config', 'core.fsmonitor', '.git/lie');
          git(scene, 'update-index', '--fsmonitor');
          git(scene, 'update-index', '--fsmonitor-valid', ADD);
          edit(scene);
        },
        outcome: SEEN,
        blind: true,
      },
    ],
  },
  {
    row: 'core.worktree to a clean copy',
    tricks: [
      hiding(
        'a clone of the clone',
        (scene) => {
          scene.world.run(scene.world.dir, 'clone', '--quiet', scene.ticket.tree, 'clean');
          git(scene, 'config', 'core.worktree', join(scene.world.dir, 'clean'));
        },
        { blind: true },
      ),
    ],
  },
  {
    row: 'replace blob',
    tricks: [
      hiding(
        'in the clone and in the repository of the user',
        (scene) => {
          const { world, ticket } = scene;
          git(scene, 'replace', git(scene, 'rev-parse', `HEAD:${ADD}`), git(scene, 'hash-object', '-w', ADD));
          git(scene, 'add', '--all');
          world.run(world.user, 'fetch', '--quiet', ticket.tree, 'refs/replace/*:refs/replace/*');
        },
        { blind: true },
      ),
    ],
  },
  {
    row: 'replace commit',
    tricks: [
      hiding(
        'by one that has the edit',
        (scene) => {
          const head = git(scene, 'rev-parse', 'HEAD');
          git(scene, 'add', '--all');
          const evil = git(scene, 'commit-tree', git(scene, 'write-tree'), '-m', 'evil');
          git(scene, 'replace', head, evil);
        },
        { blind: true },
      ),
    ],
  },
  {
    row: 'poisoned base object',
    tricks: [
      hiding(
        'in the clone',
        (scene) => {
          poisonBase(scene, join(scene.ticket.tree, '.git'));
          git(scene, 'add', '--all');
        },
        { blind: true },
      ),
      hiding('in the private store, the old side', (scene) => poisonBase(scene, scene.ticket.store.path), {
        outcome: { refused: ['objects of the private store are missing or not what their ids say'] },
      }),
      hiding(
        'in the private store, the new side',
        (scene) => {
          const id = git(scene, 'hash-object', ADD);
          poison(scene.ticket.store.path, id, 'harmless\n');
        },
        { outcome: { refused: ['objects of the private store are missing or not what their ids say'] } },
      ),
    ],
  },
  {
    row: 'sparse: new out-of-cone file',
    tricks: [
      {
        how: 'a new file where nothing is checked out',
        play: (scene) => {
          git(scene, 'sparse-checkout', 'set', '--cone', 'docs');
          write(scene, { 'src/evil.js': `${EVIL}\n`, [ADD]: BASE_FILES[ADD] });
        },
        outcome: { seen: ['src/evil.js'], lines: [`+${EVIL}`] },
      },
    ],
  },
  {
    row: 'sparse: tracked out-of-cone',
    tricks: [
      {
        how: 'a tracked file that is there again',
        play: (scene) => {
          git(scene, 'sparse-checkout', 'set', '--cone', 'docs');
          write(scene, { [ADD]: `${EVIL}\n` });
        },
        outcome: SEEN,
      },
    ],
  },
  {
    row: 'mtime+size kept (trustctime off, checkStat minimal)',
    tricks: [
      {
        how: 'after a snapshot that has looked at the file',
        play: async (scene) => {
          const { ticket } = scene;
          const file = join(ticket.tree, ADD);
          const { atime, mtime, size } = statSync(file);
          utimesSync(file, atime, new Date(mtime.getTime() - 60_000));
          git(scene, 'config', 'core.trustctime', 'false');
          git(scene, 'config', 'core.checkStat', 'minimal');
          git(scene, 'update-index', '--refresh');
          unwrap(await snapshot({ ...ticket, base: ticket.base.commit }));
          writeFileSync(file, `${EVIL.padEnd(size - 1)}\n`);
          utimesSync(file, atime, new Date(mtime.getTime() - 60_000));
        },
        outcome: { seen: [ADD], lines: [`+${EVIL.padEnd(BASE_FILES[ADD].length - 1)}`] },
        blind: true,
      },
    ],
  },
  {
    row: 'fileMode=false chmod',
    tricks: [
      {
        how: 'a file becomes a program',
        play: (scene) => {
          git(scene, 'config', 'core.fileMode', 'false');
          chmodSync(join(scene.ticket.tree, ADD), 0o755);
        },
        outcome: { seen: [ADD], lines: ['new mode 100755'] },
        blind: true,
      },
    ],
  },
  {
    row: 'ignoreCase rename',
    tricks: [
      {
        how: 'two names of one file',
        play: (scene) => {
          git(scene, 'config', 'core.ignoreCase', 'true');
          renameSync(join(scene.ticket.tree, 'README.md'), join(scene.ticket.tree, 'readme.md'));
        },
        outcome: {
          seen: ['README.md', 'readme.md'],
          lines: ['deleted file mode 100644', 'new file mode 100644'],
        },
      },
    ],
  },
  ...(['dirty', 'untracked', 'bump'] as const).map(submoduleRow),
  {
    row: 'nested repo without commits',
    tricks: [
      {
        how: 'git add gives up',
        play: (scene) => {
          git(scene, 'init', '--quiet', 'nested');
          write(scene, { 'nested/evil.js': EVIL });
        },
        outcome: { refused: ['`nested/.git` is a git repository inside the tree'] },
      },
    ],
  },
  {
    row: 'nested repo with commit',
    tricks: [
      {
        how: 'git add takes its commit only',
        play: ({ world, ticket }) => {
          world.run(ticket.tree, 'clone', '--quiet', world.origin, 'deep/nested');
        },
        outcome: { refused: ['`deep/nested/.git` is a git repository inside the tree'] },
      },
    ],
  },
  {
    row: 'fifo, empty dir',
    tricks: [
      {
        how: 'fifos',
        play: ({ ticket }) => void execFileSync('mkfifo', ['a.fifo', 'src/b.fifo'], { cwd: ticket.tree }),
        outcome: { refused: ['`a.fifo` is a fifo', '`src/b.fifo` is a fifo'] },
        blind: true,
      },
      {
        how: 'empty folders',
        play: ({ ticket }) => void mkdirSync(join(ticket.tree, 'empty/er'), { recursive: true }),
        outcome: { leftOut: ['empty/er/'] },
        blind: true,
      },
    ],
  },
  {
    row: 'swapped `.git` file',
    tricks: [
      hiding(
        'it names another repository',
        ({ world, ticket }) => {
          rmSync(join(ticket.tree, '.git'), { recursive: true });
          writeFileSync(join(ticket.tree, '.git'), `gitdir: ${world.user}/.git\n`);
          writeFiles(world.user, { [ADD]: `${EVIL}\n` });
          world.run(world.user, 'add', ADD);
        },
        { blind: true },
      ),
      hiding('there is none any more', ({ ticket }) =>
        rmSync(join(ticket.tree, '.git'), { recursive: true }),
      ),
    ],
  },
  {
    row: 'run from a subdirectory; diff.relative; GIT_DIR/GIT_WORK_TREE env; PATH shim',
    tricks: [
      hiding('a subdirectory', () => undefined, {
        through: ({ world, ticket }) => ({ ...ticket, ...open(world, join(world.user, 'src')) }),
      }),
      { ...configured('diff.relative', ['diff.relative', 'true']) },
      hiding('GIT_DIR and its relatives', ({ world }) =>
        Object.assign(world.env, { GIT_DIR: world.origin, GIT_WORK_TREE: '/', GIT_INDEX_FILE: '/dev/null' }),
      ),
      hiding(
        'a git of its own',
        ({ world }) => {
          for (const folder of ['.', 'node_modules/.bin'])
            writeScript(join(world.user, folder, 'git'), 'exit 0');
          const folders = [world.user, join(world.user, 'node_modules/.bin'), '.'];
          world.env['PATH'] = [...folders, world.env['PATH']].join(':');
        },
        { through: ({ world, ticket }) => ({ ...ticket, ...open(world) }), blind: true },
      ),
    ],
  },
];
