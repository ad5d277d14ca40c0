import { describeFailure, type Failure } from '../model/failure.js';
import { jsonText, quote, visible, visibleLine } from '../model/text.js';

/** Where a command's words go. `cli` makes one from the process; tests make their own. */
export interface Io {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** `stdout` for what has no end: resolves when there is room for more, so that a slow reader costs no memory. Bytes are UTF-8. */
  readonly show: (text: string | Uint8Array) => Promise<void>;
  /** Width of the terminal that is written to by `stderr`; absent where there is none. */
  readonly columns?: number | undefined;
  /** Empties the screen that `stdout` is shown on; absent where there is none. */
  readonly clear?: (() => void) | undefined;
  /** Nobody reads standard output any more. What only shows something ends then; a run goes on. */
  readonly isClosed: () => boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly stdinIsTty: boolean;
  readonly stdoutIsTty: boolean;
  readonly stderrIsTty: boolean;
  /** Asks at the terminal; `undefined` when the person closed it without an answer. */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** Calls back on SIGINT, SIGTERM and SIGHUP with the signal's name, until the returned function is called. */
  readonly onSignal: (listener: (signal: string) => void) => () => void;
}

export const printJson = (io: Io, value: unknown): void => io.stdout(`${jsonText(value, 2)}\n`);

/**
 * A failure as `describeFailure` has it. The message may quote git, an agent or a file's name: its further lines are marked
 * as quoted, so that none of them can be taken for `next:` or for a line of the run.
 */
export const failureText = (failure: Failure): string =>
  describeFailure({
    ...failure,
    message: messageText(failure),
    ...(failure.where === undefined ? {} : { where: visibleLine(failure.where) }),
    ...(failure.next === undefined ? {} : { next: visible(failure.next) }),
  });

const messageText = ({ kind, message }: Failure): string => {
  // Each line is a problem with its place, for an editor to jump to; the loader made them.
  if (kind === 'pipeline-invalid') return visible(message);
  const [first = '', ...rest] = visible(message).split('\n');
  return rest.length === 0 ? first : `${first}\n${quote(rest.join('\n')).replaceAll(/^/gm, '  ')}`;
};

/** Words of ours in several lines: what a name in them makes of a line is not at column 0. */
export const noteText = (text: string): string => visible(text).replaceAll(/\n[ \t]*/g, '\n  ');

export const usesColour = (io: Io, stream: 'stdout' | 'stderr'): boolean =>
  !io.env['NO_COLOR'] && io.env['TERM'] !== 'dumb' && (stream === 'stdout' ? io.stdoutIsTty : io.stderrIsTty);
