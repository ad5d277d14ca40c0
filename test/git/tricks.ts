/** Everything that was seen to hide a change from some git command: what a worker can do to its clone, its git or its home. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { writeFiles, type Ticket, type World } from '../helpers/repo.js';
import type { Scene } from './ticket-copies.js';

/** In every hidden change. */
export const EVIL = 'evil-marker';

/** What must come of a trick. */
export type Outcome =
  /** These paths are in the records, and the diff has these lines. */
  | { readonly seen: readonly string[]; readonly lines: readonly string[] }
  /** Nothing of it is in the tree object, so nothing of it can be committed; it is listed. */
  | { readonly leftOut: readonly string[] }
  | { readonly refused: readonly string[] };

export interface Trick {
  readonly how: string;
  readonly play: (scene: Scene) => void | Promise<void>;
  readonly outcome: Outcome;
  /** The recipe `git add -N . && git diff` shows nothing of it: without that it would be no trick. */
  readonly blind?: true;
  /** What the snapshot is taken with, where it is not the ticket itself. */
  readonly through?: (scene: Scene) => Ticket;
}

export interface Row {
  /** As the table of measured tricks has it. */
  readonly row: string;
  readonly tricks: readonly Trick[];
}

export const BASE_FILES = {
  'README.md': '# Sample\n',
  'src/add.js': 'export const add = (a, b) => a - b;\n',
  '.gitignore': 'build/\n',
  '.gitmodules': '[submodule "lib"]\n\tpath = lib\n\turl = ../origin.git\n',
};

/** A submodule `lib`, at the first commit of the repository itself. */
export const addSubmodule = (world: World): void => {
  world.run(world.user, 'update-index', '--add', '--cacheinfo', `160000,${world.head},lib`);
  world.run(world.user, 'commit', '--quiet', '--message=Submodule');
  world.run(world.user, 'push', '--quiet', 'origin', 'main');
};

export const ADD = 'src/add.js';
export const SEEN: Outcome = { seen: [ADD], lines: [`+${EVIL}`] };

export const edit = ({ ticket }: Scene): void => writeFileSync(join(ticket.tree, ADD), `${EVIL}\n`);
export const git = ({ world, ticket }: Scene, ...args: string[]): string => world.run(ticket.tree, ...args);
export const write = ({ ticket }: Scene, files: Record<string, string>): void =>
  writeFiles(ticket.tree, files);

/** An edit, and then something that hides it. */
export const hiding = (how: string, hide: (scene: Scene) => void, more: Partial<Trick> = {}): Trick => ({
  how,
  play: (scene) => {
    edit(scene);
    hide(scene);
  },
  outcome: SEEN,
  ...more,
});

export const configured = (how: string, ...settings: (readonly [string, string])[]): Trick =>
  hiding(how, (scene) => {
    for (const [key, value] of settings) git(scene, 'config', key, value);
  });

/** The neutral attributes that a clone begins with are a file like any other to a worker. */
export const UNNEUTRAL = { '.git/info/attributes': '' };
export const attributes = (scene: Scene, text: string): void =>
  write(scene, { '.git/info/attributes': text });

const looseObject = (gitDir: string, id: string): string =>
  join(gitDir, 'objects', id.slice(0, 2), id.slice(2));

/** Puts other bytes under the name of a blob. */
export const poison = (gitDir: string, id: string, text: string): void => {
  const file = looseObject(gitDir, id);
  mkdirSync(join(file, '..'), { recursive: true });
  rmSync(file, { force: true });
  writeFileSync(file, deflateSync(Buffer.from(`blob ${Buffer.byteLength(text)}\0${text}`)));
};

const unpack = (gitDir: string, env: Record<string, string>): void => {
  const packs = join(gitDir, 'objects/pack');
  const moved = join(gitDir, 'unpacking');
  renameSync(packs, moved);
  mkdirSync(packs);
  for (const name of readdirSync(moved).filter((file) => file.endsWith('.pack')))
    execFileSync('git', ['--git-dir', gitDir, 'unpack-objects', '-q'], {
      env,
      input: execFileSync('cat', [join(moved, name)]),
    });
  rmSync(moved, { recursive: true });
};

export const poisonBase = ({ world, ticket }: Scene, gitDir: string): void => {
  const id = world.run(world.user, 'rev-parse', `${ticket.base.commit}:${ADD}`);
  unpack(gitDir, world.env);
  poison(gitDir, id, `${EVIL}\n`);
};

export const fillSubmodule = (scene: Scene): void => {
  scene.world.run(scene.ticket.tree, 'clone', '--quiet', scene.world.origin, 'lib');
  scene.world.run(join(scene.ticket.tree, 'lib'), 'checkout', '--quiet', scene.world.head);
};
export const IN_SUBMODULE: Outcome = { refused: ['`lib` is a submodule with something in it'] };

export const ignoreAll = (scene: Scene): void => {
  git(scene, 'config', 'diff.ignoreSubmodules', 'all');
  git(scene, 'config', 'submodule.lib.ignore', 'all');
};
