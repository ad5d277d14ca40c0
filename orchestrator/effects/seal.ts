import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { digestOf } from '../model/digest.js';
import type { DocumentPointer, Receipt } from '../model/event.js';
import { PAGE_BYTES } from '../model/limits.js';
import type { Target } from '../model/pipeline.js';
import { oneLine } from '../model/text.js';
import { replaceFile } from '../state/files.js';
import { ABSENT } from '../scheduler/freshness.js';
import { ignoredList, reviewedReceipt } from './freeze.js';
import { stateOf, type FailureFacts, type TicketRun } from './ticket-run.js';

/** What the parent took over from a child; from then on only these bytes count. */
export interface SealedWork {
  readonly artifacts: readonly DocumentPointer[];
  readonly receipt?: Receipt;
}

export type SealResult = SealedWork | { readonly failure: FailureFacts };

const failure = (message: string, next?: string): { readonly failure: FailureFacts } => ({
  failure: { kind: 'worker-failed', message, canRetry: true, ...(next === undefined ? {} : { next }) },
});

const outFolder = (run: TicketRun, target: Target): string =>
  join(run.recorder.directory.child(stateOf(run, target).context.child ?? ''), 'out');

/** Copies one file that a child wrote, if it is a regular file of a size that fits into a prompt. */
const copySealed = (from: string, to: string, name: string): DocumentPointer | string => {
  const stat = lstatSync(from, { throwIfNoEntry: false });
  if (stat === undefined) return `\`${name}\` was not written`;
  if (!stat.isFile()) return `\`${name}\` is not a regular file`;
  if (stat.size > PAGE_BYTES) return `\`${name}\` has ${stat.size} bytes; at most ${PAGE_BYTES} fit`;
  const bytes = readFileSync(from);
  if (bytes.length === 0) return `\`${name}\` is empty`;
  replaceFile(to, bytes, { sync: true, mode: 0o444 });
  return { path: name, digest: digestOf(bytes) };
};

const sealPlan = (run: TicketRun, target: Target): SealResult => {
  const sealed = copySealed(
    join(outFolder(run, target), 'plan.md'),
    join(run.recorder.directory.artifacts, 'plan.md'),
    'plan.md',
  );
  if (typeof sealed === 'string') return failure(sealed, 'the worker must write out/plan.md');
  return { artifacts: [sealed, ...sealNotes(run, target)] };
};

/** Notes of one child: at most this many, each small enough to be read. */
const MOST_NOTES = 20;

const sealNotes = (run: TicketRun, target: Target): DocumentPointer[] => {
  const from = join(outFolder(run, target), 'notes');
  if (lstatSync(from, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const names = readdirSync(from)
    .filter((name) => /^[A-Za-z0-9][A-Za-z0-9._-]{0,100}\.md$/.test(name))
    .toSorted()
    .slice(0, MOST_NOTES);
  const to = join(run.recorder.directory.artifacts, 'notes');
  if (names.length > 0) mkdirSync(to, { recursive: true });
  return names
    .map((name) =>
      copySealed(join(from, name), join(to, `${target.name}-${name}`), `notes/${target.name}-${name}`),
    )
    .filter((sealed) => typeof sealed !== 'string');
};

const sealDiff = async (run: TicketRun, target: Target): Promise<SealResult> => {
  const workspace = await run.workspace();
  const snapshot = await workspace.snapshot('seal');
  if (!snapshot.ok) return { failure: { ...snapshot.failure, canRetry: false } };
  const { receipt, diffFile } = snapshot.value;
  const pages = await workspace.pages(diffFile, join(run.recorder.directory.artifacts, 'pages'));
  const artifacts = [
    { path: 'branch.diff', digest: receipt.diff },
    ...sealIgnored(run, snapshot.value.ignored),
    ...sealNotes(run, target),
  ];
  return { artifacts, receipt: { ...receipt, ...planDigest(run), pages: pages.map(({ digest }) => digest) } };
};

/** Names of ignored files that are listed; a build can leave any number. */
const MOST_IGNORED = 500;

/** What lies in the tree and is in no diff, by name, for whoever reviews it. */
const sealIgnored = (run: TicketRun, ignored: readonly string[]): DocumentPointer[] => {
  const path = ignoredList(run.recorder.directory);
  rmSync(path, { force: true });
  if (ignored.length === 0) return [];
  const names = ignored.slice(0, MOST_IGNORED).map((name) => oneLine(name, 4_096));
  const rest = ignored.length - names.length;
  const text = `${[...names, ...(rest > 0 ? [`(and ${rest} more)`] : [])].join('\n')}\n`;
  replaceFile(path, text, { sync: false, mode: 0o444 });
  return [{ path: basename(path), digest: digestOf(text) }];
};

const planDigest = (run: TicketRun): { readonly plan?: Receipt['plan'] & string } => {
  const path = join(run.recorder.directory.artifacts, 'plan.md');
  return run.recorder.run.documents['20_plan_approved.md'] !== undefined && existsSync(path)
    ? { plan: digestOf(readFileSync(path)) }
    : {};
};

const sealFiles = (run: TicketRun, target: Target): SealResult => {
  const missing = target.outputs.filter((path) => run.files.digest(path) === undefined);
  if (missing.length > 0)
    return failure(`it did not make ${missing.map((path) => `\`${path}\``).join(', ')}`);
  const artifacts = target.outputs.map((path) => ({ path, digest: run.files.digest(path) ?? ABSENT }));
  return { artifacts: [...artifacts, ...sealNotes(run, target)] };
};

/** Takes over what the child of this target made, by what the target makes. */
export const sealWork = async (run: TicketRun, target: Target): Promise<SealResult> => {
  switch (target.makes) {
    case 'plan':
      return sealPlan(run, target);
    case 'diff':
      return sealDiff(run, target);
    case 'review': {
      const receipt = stateOf(run, target).context.receipt ?? reviewedReceipt(run, target);
      return { artifacts: sealNotes(run, target), ...(receipt === undefined ? {} : { receipt }) };
    }
    case 'notes':
      return sealedNotesOnly(run, target);
    case 'files':
      return sealFiles(run, target);
  }
};

const sealedNotesOnly = (run: TicketRun, target: Target): SealResult => {
  const artifacts = sealNotes(run, target);
  const nothing = artifacts.length === 0 && stateOf(run, target).context.status !== 'no-change';
  return nothing ? failure('it wrote no note in out/notes and did not say `no-change`') : { artifacts };
};
