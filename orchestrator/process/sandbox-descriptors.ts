/** Files that the orchestrator was started with and does not know of. */
import { openSync, readFileSync, readdirSync } from 'node:fs';

/** `O_CLOEXEC` in the octal flags of a descriptor. Source: proc(5), open(2); the same on every architecture that Node runs on but SPARC. */
const CLOSES_ON_EXEC = 0o2_000_000;

const isHandedOn = (fd: number): boolean => {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSES_ON_EXEC) === 0;
  } catch {
    // It was the descriptor of the folder that was being read.
    return false;
  }
};

const handedOn = (): readonly number[] => {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((fd) => fd > 2 && isHandedOn(fd));
  } catch {
    return [];
  }
};

let rest: readonly (number | 'ignore')[] | undefined;

/**
 * What `spawn` is given as `stdio` after the first three, so that a child gets nothing else: terminals and editors leave files open
 * in what they start (the other side of the user's terminal among them), and Node closes only those that it opened. In their
 * place the child has an empty file. Looked for once a process.
 */
export const noFurtherDescriptors = (): readonly (number | 'ignore')[] => {
  rest ??= replaced(handedOn());
  return rest;
};

const replaced = (fds: readonly number[]): readonly (number | 'ignore')[] => {
  if (fds.length === 0) return [];
  const empty = openSync('/dev/null', 'r');
  return Array.from({ length: Math.max(...fds) - 2 }, (_, index) =>
    fds.includes(index + 3) ? empty : 'ignore',
  );
};
