import { cpSync, constants, lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TicketRun } from './ticket-run.js';

/**
 * Ignored files of the user's checkout that the pipeline lists, such as `node_modules`: what git does not carry and work needs.
 * They come from the user's checkout in any case, never from a worker's tree: what a worker installs there is its own.
 */
interface Ignored {
  /** As the pipeline lists it. */
  readonly path: string;
  /** Absolute, in the user's checkout. */
  readonly from: string;
}

/** Those that are there. */
const listedIgnored = (run: TicketRun): readonly Ignored[] =>
  run.pipeline.settings.ignored
    .map((path) => ({ path: path.replace(/\/+$/, ''), from: join(run.paths.root, path) }))
    .filter(({ from }) => lstatSync(from, { throwIfNoEntry: false }) !== undefined);

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Copies them into a worker's tree, which is its own to change. What the tree has already stays. @returns their names */
export const copyIgnored = (run: TicketRun, tree: string): readonly string[] =>
  listedIgnored(run).flatMap(({ path, from }) => {
    const to = join(tree, path);
    if (isThere(to)) return [];
    mkdirSync(dirname(to), { recursive: true });
    cpSync(from, to, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
    return [path];
  });

/** Links them into a clean checkout that a check runs on. @returns their absolute places, to be made readable in a sandbox */
export const linkIgnored = (run: TicketRun, checkout: string): readonly string[] =>
  listedIgnored(run).flatMap(({ path, from }) => {
    const to = join(checkout, path);
    if (isThere(to)) return [];
    mkdirSync(dirname(to), { recursive: true });
    symlinkSync(from, to);
    return [from];
  });
