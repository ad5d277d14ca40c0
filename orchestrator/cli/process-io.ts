import { once } from 'node:events';
import { fstatSync, statSync, writeSync } from 'node:fs';
// Loaded when it is first used (orchestrator/launcher/lazy-require.ts); a dynamic import would have Node warn on the terminal.
import { createInterface } from 'node:readline';
import { isatty } from 'node:tty';
import { usesColour, type Io } from '../commands/io.js';
import { isPlain, terminalText } from '../model/text.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Set when standard output's reader went away (`| head`). */
let isClosed = false;

interface Writer {
  readonly write: (bytes: Uint8Array) => void;
  readonly drained: () => Promise<void>;
}

/**
 * Writes at once and whole, so that nothing is lost when the process ends; a closed pipe ends us quietly. The stream is
 * not touched, as making it costs a millisecond, unless a slow reader has to be waited for.
 */
const writerFor = (fd: 1 | 2): Writer => {
  let stream: NodeJS.WriteStream | undefined;
  const onClosed = (): void => {
    isClosed ||= fd === 1;
  };
  const write = (bytes: Uint8Array): void => {
    let done = 0;
    while (stream === undefined && done < bytes.length) {
      try {
        done += writeSync(fd, bytes, done);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EPIPE') return onClosed();
        if (code !== 'EAGAIN') throw error;
        stream = fd === 1 ? process.stdout : process.stderr;
        stream.on('error', onClosed);
      }
    }
    // From the first full pipe on everything goes through the stream, so that the order is kept. It may keep them: they are copied.
    if (done < bytes.length) stream?.write(Buffer.from(bytes.subarray(done)));
  };
  const drained = async (): Promise<void> => {
    if (stream?.writableNeedDrain === true) await once(stream, 'drain').catch(onClosed);
  };
  return { write, drained };
};

const ask = (question: string): Promise<string | undefined> => {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  // The line editor takes Ctrl-C as a key: it is the signal all the same, and who listens hears it before the question ends.
  reader.on('SIGINT', () => {
    if (process.listenerCount('SIGINT') > 0) process.once('SIGINT', () => reader.close());
    else reader.close();
    process.kill(process.pid, 'SIGINT');
  });
  return new Promise((resolve) => {
    let answer: string | undefined;
    reader.on('close', () => resolve(answer));
    reader.question(question, (text) => {
      answer = text;
      reader.close();
    });
  });
};

/** Asked only when somebody wants to know: `isatty` loads the network's streams, which costs five milliseconds. */
const isTerminal = (fd: 0 | 1 | 2): boolean => {
  try {
    const stat = fstatSync(fd);
    return stat.isCharacterDevice() && stat.rdev !== statSync('/dev/null').rdev && isatty(fd);
  } catch {
    return false;
  }
};

const CLEAR = '\u001B[2J\u001B[H';

/** Of what a command writes, whatever it has done to it. Whether there is a terminal is asked only when something is coloured. */
const shown = (io: Io, stream: 'stdout' | 'stderr', text: string | Uint8Array): Uint8Array => {
  if (typeof text !== 'string') return isPlain(text) ? text : shown(io, stream, Buffer.from(text).toString());
  return Buffer.from(terminalText(text, text.includes('\u001B') && usesColour(io, stream)));
};

/** The process as a command's surroundings. */
export const processIo = (): Io => {
  const [out, err] = [writerFor(1), writerFor(2)];
  const io: Io = {
    stdout: (text) => out.write(shown(io, 'stdout', text)),
    stderr: (text) => err.write(shown(io, 'stderr', text)),
    show: async (text) => {
      out.write(shown(io, 'stdout', text));
      await out.drained();
    },
    isClosed: () => isClosed,
    env: process.env,
    cwd: process.cwd(),
    get stdinIsTty() {
      return isTerminal(0);
    },
    get stdoutIsTty() {
      return isTerminal(1);
    },
    get stderrIsTty() {
      return isTerminal(2);
    },
    get columns() {
      // A terminal that does not know its size says 0.
      return isTerminal(2) ? process.stderr.columns || undefined : undefined;
    },
    get clear() {
      return isTerminal(1) ? () => out.write(Buffer.from(CLEAR)) : undefined;
    },
    ask,
    onSignal: (listener) => {
      for (const signal of SIGNALS) process.on(signal, listener);
      return () => {
        for (const signal of SIGNALS) process.off(signal, listener);
      };
    },
  };
  return io;
};
