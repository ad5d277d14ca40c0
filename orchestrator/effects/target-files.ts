import { existsSync } from 'node:fs';
import type { Digest } from '../model/digest.js';
import type { FileStat } from '../model/event.js';
import type { Pipeline, Target } from '../model/pipeline.js';
import type { TargetFiles } from '../scheduler/freshness.js';
import { fileDigests, type FileDigests } from '../state/file-digests.js';

export const isGlob = (path: string): boolean => /[*?[\]{}]/.test(path);

interface TargetFilesOptions {
  readonly pipeline: Pipeline;
  /** Folder that paths are relative to; it changes once, when the ticket gets its tree. */
  readonly root: () => string;
  readonly memory: Record<string, FileStat>;
  readonly now: () => number;
  /** Nothing is to be made any more, so that the tree may have been cleaned away. */
  readonly isOver: () => boolean;
  /** The ticket's own file, in the user's checkout: an input of the `ticket` target. */
  readonly ticket?: { readonly root: string; readonly id: string };
}

/** Path by which the ticket's file is an input; no path of a pipeline has a colon before its first slash. */
const TICKET_FILE = 'ticket:';

/** The files of every target; the matcher of globs is loaded only where the pipeline has one. */
export const openTargetFiles = async (
  options: TargetFilesOptions,
): Promise<TargetFiles & { readonly learned: () => boolean }> => {
  const hasGlobs = options.pipeline.targets.some(({ inputs }) => inputs.some(isGlob));
  const expand = hasGlobs ? (await import('./glob.js')).expandGlob : undefined;
  const byRoot = new Map<string, FileDigests>();
  const current = (): FileDigests => {
    const root = options.root();
    let digests = byRoot.get(root);
    if (digests === undefined) {
      digests = fileDigests(root, options.memory, options.now);
      byRoot.set(root, digests);
    }
    return digests;
  };
  // Asked of every target: the disk is looked at once, before anything is made.
  let missing: boolean | undefined;
  const isMissing = (): boolean => {
    missing ??= !existsSync(options.root());
    return missing;
  };
  const ticketFile = ticketFileOf(options);
  const inputs = (target: Target): readonly string[] => {
    if (ticketFile !== undefined && isTicketTarget(target)) return [ticketFile, ...target.inputs];
    if (expand === undefined || !target.inputs.some(isGlob)) return target.inputs;
    return [
      ...new Set(target.inputs.flatMap((path) => (isGlob(path) ? expand(options.root(), path) : [path]))),
    ];
  };
  return {
    inputs,
    digest: (path) => (path === ticketFile ? digestOfTicket(options, path) : current().digest(path)),
    isGone: () => isMissing() && options.isOver(),
    learned: () => [...byRoot.values()].some((digests) => digests.learned()),
  };
};

const isTicketTarget = ({ recipe }: Target): boolean =>
  recipe.kind === 'builtin' && recipe.builtin === 'ticket';

const ticketFileOf = ({ pipeline, ticket }: TargetFilesOptions): string | undefined =>
  ticket === undefined || !pipeline.targets.some(isTicketTarget)
    ? undefined
    : `${TICKET_FILE}${pipeline.settings.tickets.path.replaceAll('{ticket}', ticket.id)}`;

/** Small, and asked once a run: not remembered. */
const digestOfTicket = ({ ticket, now }: TargetFilesOptions, path: string): Digest | undefined =>
  ticket === undefined ? undefined : fileDigests(ticket.root, {}, now).digest(path.slice(TICKET_FILE.length));
