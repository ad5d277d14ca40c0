import { readFileSync } from 'node:fs';
import { digestOf } from '../model/digest.js';
import { Problem } from '../model/failure.js';
import type { Target } from '../model/pipeline.js';
import { readDirectives } from '../state/inbox.js';
import type { FailureFacts, TicketRun } from './ticket-run.js';

/** Directives that have been read and that no worker has been given yet, as they were told. */
export const undelivered = (run: TicketRun): { readonly id: number; readonly text: string }[] => {
  const { directivesRead, directivesDelivered } = run.recorder.run;
  const wanted = directivesRead.filter(({ id }) => !directivesDelivered.includes(id));
  if (wanted.length === 0) return [];
  const found = new Map(
    readDirectives(run.recorder.directory.inbox).map((directive) => [directive.id, directive]),
  );
  return wanted.map(({ id, digest }) => {
    const directive = found.get(id);
    if (directive?.digest === digest) return { id, text: directive.text };
    throw new Problem({
      kind: 'record-refused',
      message: `directive ${id} is ${directive === undefined ? 'gone' : 'not what was told'}: the journal has its digest`,
      where: run.recorder.directory.inbox,
      next: `restore the file, or say it again with \`orchestrate tell --ticket ${run.ticket} …\` after \`run --rebuild\``,
    });
  });
};

/** The kernel and the manual must be the bytes that the pipeline was validated with. */
export const changedResident = (run: TicketRun, target: Target): FailureFacts | undefined => {
  for (const manual of [run.pipeline.settings.kernel, target.manual]) {
    if (manual === undefined || digestOf(readFileSync(manual.path)) === manual.digest) continue;
    return {
      kind: 'record-refused',
      message: `\`${manual.path}\` changed while the run was going on`,
      next: 'look at the change; `orchestrate run` again takes the new bytes and makes again what they touch',
      canRetry: false,
    };
  }
  return undefined;
};
