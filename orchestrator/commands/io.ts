/** Where a command's words go. `cli` makes one from the process; tests make their own. */
export interface Io {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
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

export const printJson = (io: Io, value: unknown): void =>
  io.stdout(`${JSON.stringify(value, undefined, 2)}\n`);

export const usesColour = (io: Io, stream: 'stdout' | 'stderr'): boolean =>
  !io.env['NO_COLOR'] && io.env['TERM'] !== 'dumb' && (stream === 'stdout' ? io.stdoutIsTty : io.stderrIsTty);
