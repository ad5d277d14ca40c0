/** What all throw-away repositories of one attack have in common, and the repository that they are copies of. */
import { cpSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { importStream } from '../demo/import-stream.js';
import { LIBRARY } from '../demo/library.js';
import { openGit, run, type Git } from '../git/git.js';
import { makeGitDir } from '../git/layout.js';
import { removeAll } from '../git/remove.js';
import { Problem } from '../model/failure.js';
import { DECOY } from './names.js';
import { residentFiles } from './pipeline-text.js';
import type { Subject } from './subject.js';

/** What all throw-away repositories of one attack have in common. */
export interface Ground {
  readonly dir: string;
  readonly git: Git;
  readonly subject: Subject;
  readonly packageRoot: string;
  /** PATH of everything that is started, behind two folders of an arena's own. */
  readonly path: string;
  /** Of the person, whose sandbox rules may name places below. */
  readonly root: string;
  readonly home: string;
}

/** What the rows of attacks change; the base has them. */
const ROWS: Readonly<Record<string, string>> = {
  'rows/28.txt': 'as it was\n',
  'rows/30.txt': 'as it was\n',
  'rows/31.txt': 'as it was\n',
  'rows/33.txt': 'as it was\n',
  'rows/34.txt': 'as it was\n',
  'rows/36.txt': 'as it was\n',
  'rows/37.txt': 'one\ntwo\n',
  'rows/38.txt': 'as it was\n',
  'rows/39.txt': 'as it was\n',
  'rows/40.txt': 'as it was\n',
  'rows/42.txt': 'as it was\n',
  'rows/46.sh': 'echo as it was\n',
  'rows/48.txt': 'one evil-48 line that is moved\nand one more\n',
};

const AUTHOR = 'Ada Lovelace <ada@example.com>';
const BEGIN = 1_767_258_000;
/** Of a submodule that nobody ever fetches. */
const SUBMODULE = '1'.repeat(40);

const historyOf = (ref: string): string => {
  const who = `${AUTHOR} ${BEGIN + 1} +0000`;
  const files = importStream(ref, AUTHOR, [
    { seconds: BEGIN, message: 'Start\n', files: { ...LIBRARY, ...ROWS } },
  ]);
  const link = `M 160000 ${SUBMODULE} vendor/lib\n`;
  return `${files}commit ${ref}\nauthor ${who}\ncommitter ${who}\ndata 5\nLink\n\n${link}\n`;
};

/** A folder that the system gives out once, for everything of one attack. */
export const makeGround = (options: Omit<Ground, 'dir' | 'git'>): Ground => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'orchestrate-attack-')));
  mkdirSync(join(dir, 'cache'));
  const template = join(dir, 'template');
  mkdirSync(template);
  const paths = { root: template, mainRoot: template, gitDir: join(template, '.git') };
  return { ...options, dir, git: openGit(paths, { PATH: options.path }) };
};

export const removeGround = ({ dir }: Ground): Promise<void> => removeAll(dir);

const baseBranch = ({ subject }: Ground): string => subject.pipeline.settings.base ?? 'main';

/** A git directory without a process, as the private store is made. */
const makeEmpty = (path: string, ref: string, bare: boolean): void =>
  makeGitDir({ path, format: 'sha1', head: ref, config: '', bare, attributes: '' });

/** The repository that the others are copies of: one process, and files. */
export const makeTemplate = async (ground: Ground): Promise<void> => {
  const repo = join(ground.dir, 'template');
  const gitDir = join(repo, '.git');
  const ref = `refs/heads/${baseBranch(ground)}`;
  makeEmpty(gitDir, ref, false);
  const made = await run(ground.git, {
    // One pack is copied faster than its objects.
    args: ['-c', 'fastimport.unpackLimit=1', 'fast-import', '--quiet'],
    gitDir,
    cwd: repo,
    input: historyOf(ref),
  });
  if (!made.ok) throw new Problem(made.failure);
  const remote = join(gitDir, 'origin.git');
  makeEmpty(remote, ref, true);
  for (const name of ['objects', 'refs']) cpSync(join(gitDir, name), join(remote, name), { recursive: true });
  makeEmpty(join(ground.dir, DECOY), ref, true);
  const files = { ...LIBRARY, ...ROWS, ...residentFiles(ground.subject.pipeline) };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(repo, path)), { recursive: true });
    writeFileSync(join(repo, path), text);
  }
};
