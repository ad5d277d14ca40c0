/** What the folders of a new epoch begin with: its documents, and what it takes over of the old epoch's files. */
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf } from '../model/digest.js';
import type { DocumentPointer } from '../model/event.js';
import type { Pipeline } from '../model/pipeline.js';
import type { RunState } from '../machine/run-state.js';
import { crossing } from '../state/crossing.js';
import { replaceFile, syncFolder, writeOnce } from '../state/files.js';
import { isRegularFile, isThere, shareFile, shareFolder, syncTree } from '../state/folders.js';
import { nextActionDocument } from '../state/next-action.js';
import type { RunDirectory } from '../state/run-dir.js';
import { downstreamOf } from './epoch-plan.js';
import { nextActionOf } from './next.js';
import { trackerOf } from './tracker.js';

/** Folders of a run directory that belong to one epoch; the inbox, the tree and the lock belong to the ticket. */
export const EPOCH_FOLDERS = ['state', 'children', 'artifacts'] as const;

export interface Beginning {
  readonly key: Uint8Array;
  readonly pipeline: Pipeline;
  /** The target that was asked for. */
  readonly asked: string;
  /** What the new journal comes to. */
  readonly run: RunState;
}

/** Makes them in `staged`; the old epoch's are read only. */
export const stageFolders = (directory: RunDirectory, staged: string, beginning: Beginning): void => {
  const [state, children, artifacts] = EPOCH_FOLDERS.map((name) => join(staged, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [state, children, artifacts]) mkdirSync(folder, { recursive: true });
  writeDocuments(state, beginning);
  shareChildren(directory, children, beginning.run);
  shareArtifacts(directory.artifacts, artifacts, beginning.run);
  shareNotes(join(directory.artifacts, 'notes'), join(artifacts, 'notes'), beginning);
  // What children left was not synced when it was written either.
  syncFolder(children);
  syncTree(artifacts);
};

const writeDocuments = (state: string, { key, pipeline, run }: Beginning): void => {
  for (const [name, text] of Object.entries(run.documents)) {
    // The one document that is appended to.
    if (name === '30_critic_summary.md') replaceFile(join(state, name), text, { sync: true });
    else writeOnce(join(state, name), text, { sync: true });
  }
  const text = nextActionDocument(nextActionOf(pipeline, run, trackerOf(run)), key);
  replaceFile(join(state, '99_next_action.md'), text, { sync: true });
};

/** Folders of the children whose attempts the new journal names. */
const shareChildren = (directory: RunDirectory, to: string, run: RunState): void => {
  for (const { context } of run.targets.values()) {
    if (context.child === undefined || !existsSync(directory.child(context.child))) continue;
    crossing('share a child');
    shareFolder(directory.child(context.child), join(to, context.child));
  }
};

/** The ticket's text, and what kept targets sealed, as long as it is what they sealed. */
const shareArtifacts = (from: string, to: string, run: RunState): void => {
  crossing('share artifacts');
  const share = (name: string): void => shareFile(join(from, name), join(to, name));
  if (run.documents['10_ticket.md'] !== undefined && isRegularFile(join(from, 'ticket.md')))
    share('ticket.md');
  const sealed = [...run.targets.values()].flatMap(({ context }) => context.artifacts ?? []);
  for (const { path } of sealed.filter((pointer) => isOurs(from, pointer))) {
    if (!isThere(join(to, path))) share(path);
  }
  const pages = join(from, 'pages');
  if (isThere(join(to, 'branch.diff')) && existsSync(pages)) shareFolder(pages, join(to, 'pages'));
};

/** The outputs of a plain command are files of the tree, and notes are taken over by their owner. */
const isOurs = (from: string, { path, digest }: DocumentPointer): boolean =>
  ['plan.md', 'branch.diff'].includes(path) &&
  isRegularFile(join(from, path)) &&
  digestOf(readFileSync(join(from, path))) === digest;

/** All notes of a target that is not made again, those of its earlier attempts too: others may have been told of them. */
const shareNotes = (from: string, to: string, { pipeline, asked }: Beginning): void => {
  if (!existsSync(from)) return;
  const remade = new Set(downstreamOf(pipeline, asked));
  for (const name of readdirSync(from)) {
    if (isRegularFile(join(from, name)) && !remade.has(ownerOf(name, pipeline)))
      shareFile(join(from, name), join(to, name));
  }
};

/** A sealed note is named after its target: `TARGET-NAME.md`. */
const ownerOf = (note: string, pipeline: Pipeline): string =>
  pipeline.targets
    .map(({ name }) => name)
    .filter((name) => note.startsWith(`${name}-`))
    .toSorted((a, b) => b.length - a.length)[0] ?? '';
