/** Other processes that take locks and write directives: real ones, driven by hand. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildSync } from 'esbuild';
import { afterAll, onTestFinished } from 'vitest';

let program: string | undefined;

afterAll(() => {
  if (program !== undefined) rmSync(dirname(program), { recursive: true, force: true });
});

const built = (): string => {
  if (program !== undefined) return program;
  const folder = mkdtempSync(join(tmpdir(), 'core-holder-'));
  program = join(folder, 'holder.cjs');
  buildSync({
    entryPoints: [join(import.meta.dirname, '..', 'fixtures', 'state', 'holder.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: program,
    logLevel: 'error',
  });
  return program;
};

/** Waits for a condition; the limit of the test is the limit. */
export const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
};

export interface Holder {
  readonly pid: number;
  /** Sends a command; the answer comes when the process has done it. */
  readonly ask: (command: string) => Promise<string>;
  readonly kill: (signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') => Promise<void>;
}

/** State letter of a process, from procfs. */
const stateOf = (pid: number): string =>
  readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.[0] ?? '';

export const startHolder = async (folder: string): Promise<Holder> => {
  const child = spawn(process.execPath, [built(), folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const answers: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const next = waiting.shift();
    if (next === undefined) answers.push(line);
    else next(line);
  });
  const ask = (command: string): Promise<string> => {
    child.stdin.write(`${command}\n`);
    return new Promise((resolve) => {
      const line = answers.shift();
      if (line === undefined) waiting.push(resolve);
      else resolve(line);
    });
  };
  // It is ready when it has answered once.
  const pid = Number(await ask('pid'));
  return {
    pid,
    ask,
    kill: async (signal) => {
      child.kill(signal);
      if (signal === 'SIGKILL') await exited;
      if (signal === 'SIGSTOP') await until(() => stateOf(pid) === 'T');
    },
  };
};
