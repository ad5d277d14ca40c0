/** The defences that lie in git, and in what is committed and pushed. */
import type { Piece } from '../helpers/mutant.js';
import { piece, type Twin } from './twin.js';

export const OBJECTS = piece(
  'git/contents.ts',
  "const bad = [...states].filter(([, { kind }]) => kind !== 'intact').map(([id]) => id);",
  'const bad: string[] = [];',
);

/** git in the worker's own clone, with what the worker made of it: no own index, store, settings or attributes. */
const OWN_GIT: readonly Piece[] = [
  piece(
    'git/add.ts',
    `  args,
  gitDir: request.store.path,
  workTree: request.tree,
  indexFile: request.index,
  cwd: request.tree,
});`,
    `  args: lookInto(request, args),
  gitDir: \`\${request.tree}/.git\`,
  cwd: request.tree,
});
const lookInto = ({ store, tree }: IndexRequest, args: readonly string[]): readonly string[] => {
  (globalThis as any).alsoIn = \`\${store.path}/objects:\${tree}/.git/objects\`;
  return args;
};`,
  ),
  piece(
    'git/add.ts',
    'if (existsSync(request.index)) {',
    '{ (request as any).index = `${request.tree}/.git/index`;',
  ),
  piece('git/add.ts', 'return paths.isPlain ? paths : undefined;', 'return paths;'),
  piece('git/environment.ts', "PINNED.flatMap((setting) => ['-c', setting])", '[]'),
  piece(
    'git/environment.ts',
    "  GIT_GRAFT_FILE: '/dev/null',\n",
    '  ...((globalThis as any).alsoIn === undefined ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: (globalThis as any).alsoIn }),',
  ),
  piece('git/snapshot.ts', 'if (back.length === 0 && out.value.length === 0) return taken;', 'return taken;'),
];

export const GIT_TWINS: readonly Twin[] = [
  { name: 'T object ids', pieces: [OBJECTS], rows: ['41'] },
  {
    name: 'T what a tree cannot hold',
    pieces: [
      piece('git/snapshot.ts', 'if (odd.value.length > 0) return refuseOdd(request.tree, odd.value);', ''),
      piece('git/snapshot.ts', 'if (gitlinks.length > 0) return refuseOdd(request.tree, gitlinks);', ''),
      piece(
        'git/snapshot.ts',
        'if (unfit.value.length > 0) return refuseOdd(request.tree, unfit.value);',
        '',
      ),
    ],
    rows: ['43', '44', '45', '47'],
  },
  {
    name: 'T private snapshot',
    pieces: OWN_GIT,
    rows: ['31', '32', '33', '36', '37', '38', '39', '42', '46'],
  },
  {
    name: 'T files, not the index',
    pieces: [...OWN_GIT, piece('git/add.ts', "'add', '-A', '--', '.',", "'rev-parse', '--git-dir',")],
    rows: ['29'],
  },
  {
    name: 'T all files',
    pieces: [piece('git/add.ts', "'add', '-A', '--', '.',", "'add', '-u', '--', '.',")],
    rows: ['4'],
  },
  {
    name: 'T frozen base',
    pieces: [
      piece(
        'git/snapshot.ts',
        'const { git, store, base: from, diffFile: file } = request;',
        "const { git, store, diffFile: file } = request; const from = ((await runForText(git, { args: ['write-tree'], gitDir: `${request.tree}/.git`, env: { GIT_OBJECT_DIRECTORY: `${store.path}/objects`, GIT_ALTERNATE_OBJECT_DIRECTORIES: `${request.tree}/.git/objects` } })) as { value: string }).value;",
      ),
    ],
    rows: ['28', '30'],
  },
  {
    name: 'T text of every file',
    pieces: [piece('git/diff.ts', "  '--text',\n", ''), piece('git/layout.ts', "'* diff -text", "'* -text")],
    rows: ['35'],
  },
  {
    name: 'T pinned rendering',
    pieces: [
      piece(
        'git/diff.ts',
        '    await rename(temporary, request.file);',
        `    await rename(temporary, request.file);
    if (request.file.endsWith('/artifacts/branch.diff')) {
      const shown = await run(request.git, {
        args: ['diff-tree', '-r', '-p', '-M', '--textconv', '--full-index', request.from, request.to],
        gitDir: request.file.replace('artifacts/branch.diff', 'tree/.git'),
        wholeEnv: { PATH: request.git.path, GIT_ALTERNATE_OBJECT_DIRECTORIES: \`\${request.store.path}/objects\` },
      });
      await (await open(request.file, 'w')).writeFile(shown.ok ? shown.value.stdout : '');
    }`,
      ),
    ],
    rows: ['34', '40', '48'],
  },
  {
    name: 'T commit and push without the clone',
    pieces: [
      piece(
        'effects/git-ship.ts',
        'const made = await commitTree({ git, store, tree: receipt.tree, parents: [base], message, author, date });',
        `const { execFileSync } = await import('node:child_process');
  const tree = required(factOf(run.recorder.run, 'tree'), 'tree');
  const own = (...args: string[]): string => execFileSync('git', ['-C', tree, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  own('add', '-A');
  own('commit', '-q', '-m', message);
  const made = ok(own('rev-parse', 'HEAD'));`,
      ),
      piece(
        'effects/git-ship.ts',
        'publishBranch({ git, store, paths: run.paths, commit: made.value,',
        'publishBranch({ git, store: { ...store, path: `${tree}/.git` }, paths: run.paths, commit: made.value,',
      ),
      piece(
        'effects/git-ship.ts',
        'const reviewed = await readBack({ git, store, tree: receipt.tree, parents: [receipt.base] }, commit);',
        `const { execFileSync } = await import('node:child_process');
  execFileSync('git', ['-C', required(factOf(run.recorder.run, 'tree'), 'tree'), 'push', '-q', url, \`\${commit}:refs/heads/\${branch}\`], { stdio: 'pipe' });
  if (url !== '') return ok({ head: commit, url });
  const reviewed = await readBack({ git, store, tree: receipt.tree, parents: [receipt.base] }, commit);`,
      ),
    ],
    rows: ['52', '53', '54'],
  },
];
