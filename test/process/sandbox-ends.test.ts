import { existsSync, openSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { runCheck } from '../../orchestrator/process/command-check.js';
import { forkChild } from '../../orchestrator/process/fork.js';
import type { ForkRequest } from '../../orchestrator/model/child.js';
import { requestFor, textOf, until } from '../helpers/child.js';
import { argvIn, boxed, environmentOf, inside, makeWorld, start, SYSTEM_PATH } from '../helpers/sandboxes.js';
import type { World } from '../helpers/sandboxes.js';

/** A worker of this world, under the reaper. */
const workerIn = (world: World, text: string, more: Partial<ForkRequest> = {}): ForkRequest => {
  const { env, ...request } = requestFor(world.folder, { prompt: 'do it\n', cwd: world.tree, ...more });
  const inner = { ...environmentOf(world), ...env, PATH: SYSTEM_PATH };
  const argv = argvIn(world, ['/bin/sh', '-c', text], { env: inner });
  return { returnPath: join(world.out, 'return.json'), ...request, env: inner, argv };
};

let names = 0;

/** An argument that no other process has. */
const nameFor = (): string => {
  names += 1;
  return `sandboxed-${process.pid}-${names}`;
};

const running = (name: string): readonly string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        Number(pid) !== process.pid &&
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(name)
      );
    } catch {
      return false;
    }
  });

/** A process that leaves its session, its parents, its environment and all signals behind. */
const daemon = (name: string): string =>
  `( setsid env -i /bin/sh -c "trap '' TERM HUP; ( while :; do sleep 0.01; echo >>late; done ) & echo >daemon; wait" ${name} & ) </dev/null >/dev/null 2>&1
while [ ! -e daemon ]; do :; done
`;

boxed('whatever a child leaves behind is gone when its end is known', async () => {
  const world = makeWorld();
  const name = nameFor();
  const status = await forkChild(workerIn(world, `${daemon(name)}exit 5`)).wait();
  expect(running(name)).toEqual([]);
  expect(status).toMatchObject({ end: { kind: 'exited', code: 5 }, leftovers: 0 });
});

boxed('a child that is asked to stop has its grace, and what it left does not outlive it', async () => {
  const world = makeWorld();
  const name = nameFor();
  const text = `${daemon(name)}trap 'echo bye >bye; exit 3' TERM; echo >ready; while :; do sleep 0.01; done`;
  const request = workerIn(world, text, { limits: { idleMs: 60_000, timeoutMs: 60_000, graceMs: 20_000 } });
  const handle = forkChild(request);
  await until(() => existsSync(join(world.tree, 'ready')));
  const started = performance.now();
  expect(await handle.stop('a person')).toMatchObject({ left: [] });
  expect(performance.now() - started).toBeLessThan(15_000);
  expect(running(name)).toEqual([]);
  expect((await handle.wait()).end).toEqual({ kind: 'stopped', by: 'a person' });
  expect(textOf(join(world.tree, 'bye'))).toBe('bye\n');
  expect(textOf(join(request.dir, 'exit.json'))).toBe('{"status":3}\n');
});

boxed('a child that ignores the question is killed with all that it started', async () => {
  const world = makeWorld();
  const name = nameFor();
  const text = `${daemon(name)}trap '' TERM; echo >ready; while :; do sleep 0.01; done`;
  const request = workerIn(world, text, { limits: { idleMs: 60_000, timeoutMs: 60_000, graceMs: 100 } });
  const handle = forkChild(request);
  await until(() => existsSync(join(world.tree, 'ready')));
  expect(await handle.stop('a person')).toMatchObject({ left: [] });
  expect(running(name)).toEqual([]);
  expect((await handle.wait()).end).toEqual({ kind: 'stopped', by: 'a person' });
  expect(textOf(join(request.dir, 'exit.json'))).toBe('{"status":137}\n');
});

boxed('a sandbox ends with what started it, although nobody looks after it', async () => {
  const world = makeWorld();
  const name = nameFor();
  const argv = argvIn(world, ['/bin/sh', '-c', `${daemon(name)}echo >ready; while :; do sleep 0.01; done`]);
  const reaper = start(['/bin/sh', '-c', '"$@"; :', 'sh', ...argv], {
    cwd: world.tree,
    env: environmentOf(world),
  });
  await until(() => existsSync(join(world.tree, 'ready')));
  expect(running(name)).not.toEqual([]);
  reaper.kill('SIGKILL');
  await until(() => running(name).length === 0, 'the sandbox to end');
});

boxed('a signal to its own group stays inside: the end is recorded', async () => {
  const world = makeWorld();
  const request = workerIn(world, 'kill -KILL 0');
  expect((await forkChild(request).wait()).end).toEqual({ kind: 'signalled', signal: 'SIGKILL' });
  expect(textOf(join(request.dir, 'exit.json'))).toBe('{"status":137}\n');
  expect(await inside(world, 'kill -KILL 1; kill -KILL -1; exit 4')).toMatchObject({ code: 4 });
});

boxed('a check has its grace too, and is killed with all that it started', async () => {
  const world = makeWorld();
  const name = nameFor();
  const env = environmentOf(world);
  const stopCheck = async (text: string, graceMs: number) => {
    const abort = new AbortController();
    const ready = join(world.tree, `ready-${graceMs}`);
    const ended = runCheck({
      argv: argvIn(world, ['/bin/sh', '-c', `rm -f daemon; ${daemon(name)}${text}`], { env }),
      cwd: world.tree,
      env: { ...env, READY: ready },
      timeoutMs: 60_000,
      graceMs,
      outputFile: join(world.folder, 'check.log'),
      signal: abort.signal,
    });
    await until(() => existsSync(ready));
    abort.abort();
    return ended;
  };
  const loop = 'echo >"$READY"; while :; do sleep 0.01; done';
  const asked = await stopCheck(`trap 'echo bye; exit 0' TERM; ${loop}`, 20_000);
  expect(asked).toMatchObject({ end: { kind: 'stopped' }, leftovers: 0 });
  expect(asked.tail).toContain('bye');
  const killed = await stopCheck(`trap '' TERM; ${loop}`, 50);
  expect(killed).toMatchObject({ end: { kind: 'stopped' }, leftovers: 0 });
  expect(running(name)).toEqual([]);
});

boxed('exit statuses come through, and a signal inside is one outside', async () => {
  const world = makeWorld();
  const codes = await Promise.all(
    [0, 1, 7, 126, 145, 255].map(async (code) => (await inside(world, `exit ${code}`)).code),
  );
  expect(codes).toEqual([0, 1, 7, 126, 145, 255]);
  const ends = await Promise.all(
    ['TERM', 'KILL', 'SEGV'].map(async (signal) => forkChild(workerIn(world, `kill -${signal} $$`)).wait()),
  );
  expect(ends.map(({ end }) => end)).toEqual(
    ['SIGTERM', 'SIGKILL', 'SIGSEGV'].map((signal) => ({ kind: 'signalled', signal })),
  );
});

boxed('arguments, environment, standard input and large outputs come through as they are', async () => {
  const world = makeWorld();
  const odd = ['', ' two  words ', "it's", '"$HOME"', '*', '--', '-c', 'line\nline', 'é\u{1F600}'];
  const env = { ...environmentOf(world), ODD: "a b'c\n$d", EMPTY: '' };
  const prompt = 'x'.repeat(3_000_000);
  const input = join(world.folder, 'prompt');
  writeFileSync(input, prompt);
  const script = `
    const { readFileSync, writeFileSync, writeSync } = require('node:fs');
    const { PWD, ...env } = process.env;
    writeFileSync('seen.json', JSON.stringify({ argv: process.argv.slice(1), env }));
    process.stdout.write(readFileSync(0));
    writeSync(2, 'e'.repeat(1000));`;
  const request = {
    ...requestFor(world.folder, { prompt, cwd: world.tree, env }),
    argv: argvIn(world, [process.execPath, '-e', script, '--', ...odd], { env }),
  };
  const status = await forkChild(request).wait();
  expect(status).toMatchObject({
    end: { kind: 'exited', code: 0 },
    stdoutBytes: 3_000_000,
    stderrBytes: 1000,
  });
  expect(textOf(join(request.dir, 'stdout.log'))).toBe(prompt);
  expect(JSON.parse(textOf(join(world.tree, 'seen.json')))).toEqual({ argv: odd, env });
  expect(await inside(world, 'wc -c', { stdin: openSync(input, 'r') })).toMatchObject({
    stdout: '3000000\n',
  });
});
