import type { Halt, TicketRun } from '../effects/ticket-run.js';
import type { Io } from './io.js';

export interface SignalWatch {
  /** Name of the first signal, if one came. */
  readonly caught: () => string | undefined;
  readonly unsubscribe: () => void;
}

/**
 * The first signal starts nothing new and ends the children in grace, the second ends them at once; what they were is
 * recorded, then we go.
 */
export const stopOnSignal = (io: Io, halt: Halt, running: ReadonlySet<TicketRun>): SignalWatch => {
  let caught: string | undefined;
  const unsubscribe = io.onSignal((signal) => {
    const isFirst = caught === undefined;
    caught ??= signal;
    halt.halt(signal);
    if (isFirst) io.stderr(`\n${signal}: ending the children; state is kept, \`orchestrate run\` resumes\n`);
    for (const run of running) {
      run.abort.abort();
      for (const child of run.children) void (isFirst ? child.stop(signal) : child.kill(signal));
    }
  });
  return { caught: () => caught, unsubscribe };
};
