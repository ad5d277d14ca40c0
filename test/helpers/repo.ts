/**
 * Real repositories for the tests of `git/`: a bare `origin.git`, the user's clone of it and a home folder of their own,
 * all in one temporary folder.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { commitTree } from '../../orchestrator/git/commit.js';
import { type Git, openGit } from '../../orchestrator/git/git.js';
import { type Imported, importCommit } from '../../orchestrator/git/import.js';
import { findRepository } from '../../orchestrator/git/repository.js';
import { snapshot } from '../../orchestrator/git/snapshot.js';
import { openStore, type Store } from '../../orchestrator/git/store.js';
import { cloneTree } from '../../orchestrator/git/tree.js';
import type { RepositoryPaths } from '../../orchestrator/model/git.js';
import type { Result } from '../../orchestrator/model/result.js';

export const AUTHOR = { name: 'Ada Lovelace', email: 'ada@example.com' };
export const DATE = '2026-01-02T03:04:05.000Z';

/** A temporary folder that is gone after the test. */
export const temporaryFolder = (): string => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'orchestrate-git-')));
  onTestFinished(() => {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      execFileSync('chmod', ['-R', 'u+rwX', folder], { stdio: 'ignore' });
      rmSync(folder, { recursive: true, force: true });
    }
  });
  return folder;
};

export interface Files {
  readonly [path: string]: string;
}

export const writeFiles = (folder: string, files: Files): void => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
};

/** An executable shell script. */
export const writeScript = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
};

export interface World {
  readonly dir: string;
  readonly home: string;
  /** Environment of a person: their home and PATH, no settings of the machine. */
  readonly env: Record<string, string>;
  readonly origin: string;
  readonly user: string;
  /** Commit of `main` in both. */
  readonly head: string;
  /** Runs git as the user would, and returns what it printed, trimmed. */
  readonly run: (folder: string, ...args: string[]) => string;
}

export interface WorldOptions {
  readonly files?: Files;
  readonly format?: 'sha1' | 'sha256';
}

const FILES: Files = {
  'README.md': '# Sample\n',
  'src/add.js': 'export const add = (a, b) => a - b;\n',
  'src/list.js': 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n',
};

const identity = (name: string, email: string): string => `[user]\n\tname = ${name}\n\temail = ${email}\n`;

const templates = new Map<string, string>();

afterAll(() => {
  for (const folder of templates.values()) rmSync(folder, { recursive: true, force: true });
  templates.clear();
});

export const makeWorld = (options: WorldOptions = {}): World => {
  const dir = temporaryFolder();
  const world = worldIn(dir);
  const key = JSON.stringify(options);
  const template = templates.get(key) ?? makeTemplate(options);
  templates.set(key, template);
  cpSync(template, dir, { recursive: true, verbatimSymlinks: true });
  return { ...world, head: readFileSync(join(world.user, '.git/refs/heads/main'), 'utf8').trim() };
};

const worldIn = (dir: string): Omit<World, 'head'> => {
  const home = join(dir, 'home');
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_OPTIONAL_LOCKS: '0',
    LC_ALL: 'C',
  };
  const run = (folder: string, ...args: string[]): string =>
    execFileSync('git', args, {
      cwd: folder,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  return { dir, home, env, origin: join(dir, 'origin.git'), user: join(dir, 'user'), run };
};

/** Made once a test file and copied: its remote has a relative URL, so it works anywhere. */
const makeTemplate = (options: WorldOptions): string => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'orchestrate-git-template-')));
  const { home, origin, user, run } = worldIn(dir);
  writeFiles(home, { '.gitconfig': identity(AUTHOR.name, AUTHOR.email) });
  const format = `--object-format=${options.format ?? 'sha1'}`;
  run(dir, 'init', '--quiet', '--bare', '--template=', '--initial-branch=main', format, origin);
  run(dir, 'init', '--quiet', '--template=', '--initial-branch=main', format, user);
  mkdirSync(join(user, '.git/info'));
  writeFiles(user, options.files ?? FILES);
  run(user, 'add', '--all');
  run(user, 'commit', '--quiet', '--message=Start');
  run(user, 'remote', 'add', 'origin', '../origin.git');
  run(user, 'push', '--quiet', '--set-upstream', 'origin', 'main');
  return dir;
};

/** A commit on a branch of origin, as a colleague would push it. Returns its id. */
export const colleaguePushes = (world: World, files: Files, branch = 'main'): string => {
  const other = join(world.dir, 'colleague');
  if (!existsSync(other)) world.run(world.dir, 'clone', '--quiet', world.origin, other);
  world.run(other, 'fetch', '--quiet', 'origin');
  world.run(other, 'checkout', '--quiet', '-B', branch, `origin/${branch}`);
  writeFiles(other, files);
  world.run(other, 'add', '--all');
  world.run(other, 'commit', '--quiet', '--message=Colleague');
  world.run(other, 'push', '--quiet', 'origin', branch);
  return world.run(other, 'rev-parse', 'HEAD');
};

/** Commits on the user's `main` that change no file and are not pushed. Returns the last one's id. */
export const addCommits = (world: World, count: number): string => {
  const tree = world.run(world.user, 'rev-parse', 'HEAD^{tree}');
  let head = world.head;
  for (let number = 0; number < count; number += 1) {
    head = world.run(world.user, 'commit-tree', tree, '-p', head, '-m', `commit ${number}`);
  }
  world.run(world.user, 'update-ref', 'refs/heads/main', head);
  return head;
};

export const unwrap = <T>(result: Result<T>): T => {
  if (result.ok) return result.value;
  throw new Error(`${result.failure.kind}: ${result.failure.message}`);
};

export interface Opened {
  readonly git: Git;
  readonly paths: RepositoryPaths;
  readonly store: Store;
}

export const open = (world: World, start = world.user): Opened => {
  const paths = findRepository(start);
  return { git: openGit(paths, world.env), paths, store: openStore(paths) };
};

export interface Ticket extends Opened {
  readonly base: Imported;
  readonly tree: string;
  readonly index: string;
  readonly diffFile: string;
}

/** A ticket that is ready for a worker: base imported, clone made. */
export const startTicket = async (world: World, commit = world.head, name = '320'): Promise<Ticket> => {
  const opened = open(world);
  const base = unwrap(await importCommit({ ...opened, commit }));
  const dir = join(world.dir, 'trees', name);
  const index = join(world.dir, 'runs', name, 'index');
  const tree = unwrap(
    await cloneTree({ ...opened, base, dir, index, branch: `orchestrate/${name}`, author: AUTHOR }),
  );
  return { ...opened, base, tree, index, diffFile: join(world.dir, 'runs', name, 'branch.diff') };
};

/** Everything of a user's repository that must stay as it is, but refs of tickets. */
export const fingerprint = (world: World, checkout = world.user): Record<string, string> => {
  const gitDir = world.run(checkout, 'rev-parse', '--absolute-git-dir');
  const common = world.run(checkout, 'rev-parse', '--path-format=absolute', '--git-common-dir');
  return {
    status: world.run(checkout, 'status', '--porcelain=v2', '--branch', '--untracked-files=all'),
    index: readFileSync(join(gitDir, 'index')).toString('base64'),
    head: readFileSync(join(gitDir, 'HEAD'), 'utf8'),
    config: readFileSync(join(common, 'config'), 'utf8'),
    refs: world.run(checkout, 'for-each-ref').replaceAll(/^.*refs\/heads\/orchestrate\/.*\n/gm, ''),
    stash: existsSync(join(common, 'logs/refs/stash'))
      ? readFileSync(join(common, 'logs/refs/stash'), 'utf8')
      : '',
    others: readdirSync(common)
      .filter((name) => name.endsWith('_HEAD') || name.endsWith('.lock'))
      .join(),
  };
};

/** Changes files in a ticket's tree and makes the commit of them, as the `commit` target does. */
export const commitFiles = async (ticket: Ticket, files: Files): Promise<string> => {
  writeFiles(ticket.tree, files);
  const shot = unwrap(await snapshot({ ...ticket, base: ticket.base.commit }));
  const parents = [ticket.base.commit];
  return unwrap(
    await commitTree({ ...ticket, tree: shot.treeId, parents, message: 'Work', author: AUTHOR, date: DATE }),
  );
};
