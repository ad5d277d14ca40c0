/** Tickets that are ready for a worker, copied from one that is made once in a test file: a tenth of the time. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll } from 'vitest';
import {
  makeWorld,
  open,
  startTicket,
  temporaryFolder,
  type Files,
  type Ticket,
  type World,
} from '../helpers/repo.js';

export interface Scene {
  readonly world: World;
  readonly ticket: Ticket;
}

export interface SceneOptions {
  readonly files: Files;
  /** Changes the user's repository before the ticket starts, and commits; the ticket starts from its HEAD. */
  readonly arrange?: (world: World) => void;
}

/** Everything of a world and its ticket lies in one folder, and nothing in it names that folder. */
const moved = ({ world, ticket }: Scene, dir: string): Scene => {
  const to = (path: string): string => join(dir, relative(world.dir, path));
  const env = { ...world.env, HOME: to(world.home) };
  const run = (folder: string, ...args: string[]): string =>
    execFileSync('git', args, {
      cwd: folder,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const there: World = {
    ...world,
    dir,
    env,
    run,
    home: to(world.home),
    origin: to(world.origin),
    user: to(world.user),
  };
  const { base, tree, index, diffFile } = ticket;
  return {
    world: there,
    ticket: { ...open(there), base, tree: to(tree), index: to(index), diffFile: to(diffFile) },
  };
};

/** A process is much faster at this than `cpSync`. */
const copy = (from: string, to: string): void => void execFileSync('cp', ['-R', '-P', `${from}/.`, to]);

/** @returns a function that gives a fresh copy of the same scene to every test */
export const sceneMaker = ({ files, arrange }: SceneOptions): (() => Promise<Scene>) => {
  let kept: Scene | undefined;
  afterAll(() => {
    if (kept !== undefined) rmSync(kept.world.dir, { recursive: true, force: true });
  });
  const make = async (): Promise<Scene> => {
    const world = makeWorld({ files });
    arrange?.(world);
    const ticket = await startTicket(world, world.run(world.user, 'rev-parse', 'HEAD'));
    const dir = realpathSync(mkdtempSync(join(tmpdir(), 'orchestrate-git-scene-')));
    copy(world.dir, dir);
    return moved({ world, ticket }, dir);
  };
  return async () => {
    kept ??= await make();
    const dir = temporaryFolder();
    copy(kept.world.dir, dir);
    return moved(kept, dir);
  };
};
