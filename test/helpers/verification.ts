/** What `verify` says of a rig's ticket, and records that were forged by somebody who has the key. */
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { composeJournal } from '../../orchestrator/state/journal.js';
import type { JournalLine, RunEvent } from '../../orchestrator/model/event.js';
import { expect } from 'vitest';
import { builder, critic, initWithAgents, REJECT } from './fake-agents.js';
import type { Rig, RunOptions } from './rig.js';
import { copyFolder, savedStates } from './saved-states.js';

export interface Row {
  readonly name: string;
  readonly ok: boolean | null;
  readonly detail: string;
}

export interface Verification {
  readonly code: number | null;
  readonly ok: boolean;
  readonly rows: readonly Row[];
  /** `NAME: DETAIL` of the rows that failed. */
  readonly failed: readonly string[];
  /** Their names alone. */
  readonly failedNames: readonly string[];
}

export const verify = async (rig: Rig, options: RunOptions = {}, ticket = '320'): Promise<Verification> => {
  const { code, stdout, stderr } = await rig.run(['verify', '--ticket', ticket, '--json'], options);
  if (stdout === '') throw new Error(stderr);
  const { ok, checks } = JSON.parse(stdout) as { readonly ok: boolean; readonly checks: readonly Row[] };
  const bad = checks.filter((row) => row.ok === false);
  return {
    code,
    ok,
    rows: checks,
    failed: bad.map(({ name, detail }) => `${name}: ${detail}`),
    failedNames: bad.map(({ name }) => name),
  };
};

/** The run directory as it was is put back when `during` is over. */
export const restoring = async (rig: Rig, during: () => Promise<void>): Promise<void> => {
  const [folder, copy] = [join(rig.repo, '.orchestrate'), join(rig.dir, 'kept')];
  copyFolder(folder, copy);
  try {
    await during();
  } finally {
    rmSync(folder, { recursive: true, force: true });
    renameSync(copy, folder);
  }
};

/** Overwrites a file of the repository that may be read-only. */
export const overwrite = (rig: Rig, path: string, change: (text: string) => string): void => {
  const file = join(rig.repo, path);
  chmodSync(file, 0o644);
  writeFileSync(file, change(readFileSync(file, 'latin1')), 'latin1');
};

/** Rewrites the journal with the rig's own key: chain and seals hold, whatever it says now. */
export const forge = (rig: Rig, change: (event: RunEvent, seq: number) => RunEvent): void => {
  const path = join(rig.repo, '.orchestrate/320/journal.jsonl');
  const lines = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JournalLine);
  const key = readFileSync(join(rig.home, 'orchestrate/key'));
  writeFileSync(
    path,
    composeJournal(
      lines.map(({ event, seq, at }) => ({ event: change(event, seq), at })),
      key,
    ).text,
  );
  // They would tell of the old journal, which is another check.
  rmSync(join(rig.repo, '.orchestrate/320/checkpoint.json'), { force: true });
  rmSync(join(rig.repo, '.orchestrate/320/state/99_next_action.md'), { force: true });
};

export const RUN = '.orchestrate/320';

export const inRun = (rig: Rig, path: string): string => join(rig.repo, RUN, path);

const finished = savedStates({
  ticket: async (rig) => {
    initWithAgents(rig, {
      critic: critic(`if (process.env.ORCHESTRATE_ROUND === '1') { ${REJECT} }`),
      builder: builder('echo "$ORCHESTRATE_ROUND" >> a.txt'),
    });
    expect((await rig.run(['run', '320', '--until', 'approved-plan'])).code).toBe(0);
    expect((await rig.run(['tell', '320', 'mind the gap'])).code).toBe(0);
    expect(await rig.run(['run', '320'])).toMatchObject({ code: 0, stderr: '' });
  },
});

/** Two rounds, a directive, a landed commit; made once for a file. */
export const finishedTicket = (): Promise<Rig> => finished('ticket');

export const storeObject = (rig: Rig, revision: string): { readonly id: string; readonly path: string } => {
  const id = rig.git('--git-dir=.orchestrate/store.git', 'rev-parse', revision);
  return { id, path: join(rig.repo, '.orchestrate/store.git/objects', id.slice(0, 2), id.slice(2)) };
};

export const commitOf = (rig: Rig): string => rig.git('rev-parse', 'orchestrate/320');
