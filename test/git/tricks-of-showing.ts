import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ADD,
  attributes,
  BASE_FILES,
  configured,
  EVIL,
  git,
  hiding,
  UNNEUTRAL,
  write,
  type Row,
} from './tricks.js';

/** Tricks with the index, the ignore rules and what a diff shows. */
export const SHOWING: readonly Row[] = [
  { row: 'edit (control)', tricks: [hiding('an edit', () => undefined)] },
  {
    row: 'untracked (control)',
    tricks: [
      {
        how: 'a new file',
        play: (scene) => write(scene, { 'evil.js': `${EVIL}\n` }),
        outcome: { seen: ['evil.js'], lines: [`+${EVIL}`] },
      },
    ],
  },
  {
    row: 'staged edit / staged new file',
    tricks: [
      hiding(
        'both are staged',
        (scene) => {
          write(scene, { 'evil.js': `new ${EVIL}\n` });
          git(scene, 'add', '--all');
        },
        { blind: true, outcome: { seen: ['evil.js', ADD], lines: [`+${EVIL}`, `+new ${EVIL}`] } },
      ),
    ],
  },
  {
    row: 'index-only edit, worktree restored',
    tricks: [
      hiding(
        'a plain commit would take it',
        (scene) => {
          git(scene, 'add', ADD);
          write(scene, { [ADD]: BASE_FILES[ADD] });
        },
        { outcome: { leftOut: [] } },
      ),
    ],
  },
  {
    row: 'cacheinfo ghost file',
    tricks: [
      {
        how: 'a plain commit would take it',
        play: (scene) => {
          write(scene, { '.git/ghost': EVIL });
          const id = git(scene, 'hash-object', '-w', '.git/ghost');
          git(scene, 'update-index', '--add', '--cacheinfo', `100644,${id},ghost.js`);
        },
        outcome: { leftOut: [] },
      },
    ],
  },
  {
    row: 'worker commits on its branch',
    tricks: [
      hiding('HEAD has moved', (scene) => git(scene, 'commit', '--quiet', '-am', 'mine'), { blind: true }),
    ],
  },
  {
    row: 'assume-unchanged, skip-worktree',
    tricks: ['--assume-unchanged', '--skip-worktree'].map((bit) =>
      hiding(bit, (scene) => git(scene, 'update-index', bit, ADD), { blind: true }),
    ),
  },
  {
    row: 'info/exclude, core.excludesFile',
    tricks: [
      {
        how: 'info/exclude',
        play: (scene) => write(scene, { '.git/info/exclude': '*\n', 'evil.js': `${EVIL}\n` }),
        outcome: { seen: ['evil.js'], lines: [`+${EVIL}`] },
        blind: true,
      },
      {
        how: 'core.excludesFile',
        play: (scene) => {
          write(scene, { '.git/ignore': '*\n', 'evil.js': `${EVIL}\n` });
          git(scene, 'config', 'core.excludesFile', '.git/ignore');
        },
        outcome: { seen: ['evil.js'], lines: [`+${EVIL}`] },
        blind: true,
      },
    ],
  },
  {
    row: '.gitignore ignoring itself; existing ignore dir',
    tricks: [
      {
        how: 'ignoring itself',
        play: (scene) => write(scene, { 'src/.gitignore': '.gitignore\nhidden.js\n', 'src/hidden.js': EVIL }),
        outcome: { leftOut: ['src/.gitignore', 'src/hidden.js'] },
        blind: true,
      },
      {
        how: 'a folder that the base ignores',
        play: (scene) => write(scene, { 'build/deep/evil.js': EVIL }),
        outcome: { leftOut: ['build/deep/evil.js'] },
        blind: true,
      },
    ],
  },
  {
    row: 'rm --cached + exclude',
    tricks: [
      hiding(
        'the file stays on disk',
        (scene) => {
          git(scene, 'rm', '--quiet', '--cached', ADD);
          write(scene, { '.git/info/exclude': '*\n' });
        },
        { blind: true },
      ),
    ],
  },
  {
    row: 'textconv, driver command, diff.external, env, home config, GIT_CONFIG_COUNT',
    tricks: [
      ...['textconv', 'command'].map((name) =>
        hiding(
          `a driver's ${name}`,
          (scene) => {
            attributes(scene, '* diff=hide\n');
            git(scene, 'config', `diff.hide.${name}`, 'true');
          },
          { blind: true },
        ),
      ),
      { ...configured('diff.external', ['diff.external', 'true']), blind: true },
      hiding('GIT_EXTERNAL_DIFF', ({ world }) => void (world.env['GIT_EXTERNAL_DIFF'] = 'true'), {
        blind: true,
      }),
      hiding(
        'the configuration of the home folder',
        ({ world }) => appendFileSync(join(world.home, '.gitconfig'), '[diff]\n\texternal = true\n'),
        { blind: true },
      ),
      hiding(
        'GIT_CONFIG_COUNT',
        ({ world }) =>
          Object.assign(world.env, {
            GIT_CONFIG_COUNT: '1',
            GIT_CONFIG_KEY_0: 'diff.external',
            GIT_CONFIG_VALUE_0: 'true',
          }),
        { blind: true },
      ),
    ],
  },
  {
    row: '`-diff`, binary driver, NUL byte',
    tricks: [
      hiding('-diff', (scene) => write(scene, { '.gitattributes': '* -diff\n', ...UNNEUTRAL }), {
        outcome: { seen: ['.gitattributes', ADD], lines: [`+${EVIL}`] },
        blind: true,
      }),
      hiding(
        'a binary driver',
        (scene) => {
          attributes(scene, '* diff=hide\n');
          git(scene, 'config', 'diff.hide.binary', 'true');
        },
        { blind: true },
      ),
      hiding('a NUL byte', (scene) => write(scene, { [ADD]: `${EVIL}\0\n`, ...UNNEUTRAL }), {
        outcome: { seen: [ADD], lines: [`+${EVIL}\0`] },
        blind: true,
      }),
    ],
  },
  {
    row: 'bigFileThreshold=1',
    tricks: [
      hiding(
        'every file is a big one',
        (scene) => {
          git(scene, 'config', 'core.bigFileThreshold', '1');
          attributes(scene, '');
        },
        { blind: true },
      ),
    ],
  },
];
