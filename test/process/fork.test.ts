import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forkChild } from '../../orchestrator/process/fork.js';
import { PATH, requestFor, shell, temporaryFolder, textOf, until, worker } from '../helpers/child.js';

const endOf = async (request: Parameters<typeof forkChild>[0]) => (await forkChild(request).wait()).end;

test('every exit status comes back, and one that names a deadly signal is a signal', async () => {
  const folder = temporaryFolder();
  const ends = [];
  for (let code = 0; code <= 255; code += 1) ends.push(await endOf(shell(folder, `exit ${code}`)));
  const codes = ends.map((end) => (end.kind === 'exited' ? end.code : end.kind));
  const { SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGCHLD } = constants.signals;
  expect(codes.slice(0, 129)).toEqual(Array.from({ length: 129 }, (_, code) => code));
  expect([SIGHUP, SIGINT, SIGKILL, SIGTERM].map((signal) => codes[128 + signal])).toEqual(
    Array(4).fill('signalled'),
  );
  expect(codes[128 + SIGCHLD]).toBe(128 + SIGCHLD);
  expect(codes[255]).toBe(255);
});

test.each(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGSEGV', 'SIGABRT', 'SIGUSR1', 'SIGPIPE'])(
  'a child that ends by %s is signalled, and the shell remarks nothing in its log',
  async (signal) => {
    const request = worker(temporaryFolder(), `kill -${signal.slice(3)} $$`);
    expect(await endOf(request)).toEqual({ kind: 'signalled', signal });
    expect(textOf(join(request.dir, 'stderr.log'))).toBe('');
  },
);

test('a program that a shell does not find is its exit status 127', async () => {
  expect(await endOf(shell(temporaryFolder(), 'no-such-program-anywhere'))).toEqual({
    kind: 'exited',
    code: 127,
  });
});

test('a wait status says when, how much and by whom', async () => {
  const request = worker(temporaryFolder(), 'printf 12345; printf 123 >&2');
  const before = Date.now();
  const handle = forkChild(request);
  const status = await handle.wait();
  expect(status).toMatchObject({
    end: { kind: 'exited', code: 0 },
    stdoutBytes: 5,
    stderrBytes: 3,
    leftovers: 0,
  });
  expect(status.identity).toEqual(handle.identity);
  expect(Date.parse(status.startedAt)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(status.endedAt)).toBeGreaterThanOrEqual(Date.parse(status.startedAt));
  expect(await handle.wait()).toEqual(status);
});

test('the claim names the reaper, and the end is recorded beside it', async () => {
  const request = shell(temporaryFolder(), 'exit 7');
  const handle = forkChild(request);
  await handle.wait();
  expect(JSON.parse(textOf(join(request.dir, 'proc.json')))).toMatchObject({ ...handle.identity });
  expect(textOf(join(request.dir, 'exit.json'))).toBe('{"status":7}\n');
});

test('a plain command leaves three files, and both its streams in the order in which they were written', async () => {
  const request = shell(temporaryFolder(), 'echo one; echo two >&2; echo three');
  await forkChild(request).wait();
  expect(readdirSync(request.dir).toSorted()).toEqual(['exit.json', 'proc.json', 'stdout.log']);
  expect(textOf(join(request.dir, 'stdout.log'))).toBe('one\ntwo\nthree\n');
});

test('a worker leaves its intent read-only, without the values of its variables', async () => {
  const request = worker(temporaryFolder(), 'true', {
    env: { PATH, ANTHROPIC_API_KEY: 'very-secret-value' },
  });
  await forkChild(request).wait();
  expect(readdirSync(request.dir).toSorted()).toEqual(
    ['exit.json', 'job.json', 'out', 'proc.json', 'prompt.md', 'stderr.log', 'stdout.log'].toSorted(),
  );
  const job = textOf(join(request.dir, 'job.json'));
  expect(JSON.parse(job)).toMatchObject({
    ticket: '320',
    argv: request.argv,
    env: ['ANTHROPIC_API_KEY', 'PATH'],
    returnPath: request.returnPath,
    limits: request.limits,
  });
  expect(job + textOf(join(request.dir, 'proc.json'))).not.toContain('very-secret-value');
  expect(statSync(join(request.dir, 'job.json')).mode & 0o777).toBe(0o444);
  expect(statSync(join(request.dir, 'prompt.md')).mode & 0o777).toBe(0o400);
});

test('without a prompt standard input is at its end', async () => {
  const request = shell(temporaryFolder(), 'cat | wc -c');
  expect(await endOf(request)).toEqual({ kind: 'exited', code: 0 });
  expect(textOf(join(request.dir, 'stdout.log')).trim()).toBe('0');
});

test('a prompt of a megabyte, not all ASCII, arrives whole and then ends', async () => {
  const prompt = 'Grüße – 你好 \u{1F600}\n'.repeat(50_000);
  const request = requestFor(temporaryFolder(), { argv: ['cat'], prompt });
  expect(Buffer.byteLength(prompt)).toBeGreaterThan(1_000_000);
  expect(await endOf(request)).toEqual({ kind: 'exited', code: 0 });
  expect(textOf(join(request.dir, 'stdout.log'))).toBe(prompt);
});

test('arguments arrive as they were given', async () => {
  const args = ['', ' a  b ', '$HOME', '`id`', "it's", '"', '*', 'ünï', '-n', 'line\nbreak', '\\'];
  const request = requestFor(temporaryFolder(), { argv: ['printf', '[%s]', ...args] });
  await forkChild(request).wait();
  expect(textOf(join(request.dir, 'stdout.log'))).toBe(args.map((arg) => `[${arg}]`).join(''));
});

test('the environment is exactly the one that was asked for', async () => {
  const env = { PATH, ORCHESTRATE_CHILD: 'x.y.1', EMPTY: '', TEXT: 'a=b c\nd', s: '1', pid: '2' };
  const request = requestFor(temporaryFolder(), { argv: ['env', '-0'], env });
  await forkChild(request).wait();
  const entries = textOf(join(request.dir, 'stdout.log'))
    .split('\0')
    .filter((entry) => entry !== '' && !entry.startsWith('_='));
  expect(entries.toSorted()).toEqual(
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}`)
      .toSorted(),
  );
});

test('it runs in the folder that was asked for, whatever that is called', async () => {
  const cwd = join(temporaryFolder(), 'a "b" $c\nd');
  mkdirSync(cwd);
  const request = requestFor(temporaryFolder(), { argv: ['pwd', '-P'], cwd });
  await forkChild(request).wait();
  expect(textOf(join(request.dir, 'stdout.log'))).toBe(`${cwd}\n`);
});

test('a program whose name is a builtin of the shell is the program', async () => {
  const folder = temporaryFolder();
  expect(await endOf(requestFor(folder, { argv: ['test', '-n', ''] }))).toEqual({ kind: 'exited', code: 1 });
  expect(await endOf(requestFor(folder, { argv: ['exit', '3'] }))).toMatchObject({ kind: 'not-started' });
});

test.each([
  ['its own pid', 'kill -0 $$ && [ "$(cut -d" " -f4 /proc/$$/stat)" = "$PPID" ] && echo $0', '/bin/sh\n'],
  ['no arguments', 'echo "$#[$*]$0"', '0[]/bin/sh\n'],
  ['an EXIT trap', "trap 'echo bye' EXIT; echo hi", 'hi\nbye\n'],
  ['exec', 'exec echo replaced', 'replaced\n'],
  ['a comment at its end', 'echo a # b', 'a\n'],
  ['several lines', 'for i in 1 2\ndo echo $i\ndone\ncat <<E\n$((1+1))\nE', '1\n2\n2\n'],
  ['the folder', 'cd / && pwd', '/\n'],
  ['redirections over files that exist', 'echo 1 >f; echo 2 >f; cat f', '2\n'],
])('shell text has %s as in a shell of its own', async (_name, text, output) => {
  const request = shell(temporaryFolder(), text);
  expect(await endOf(request)).toEqual({ kind: 'exited', code: 0 });
  expect(textOf(join(request.dir, 'stdout.log'))).toBe(output);
});

test('shell text that does not parse is exit status 2 with a message', async () => {
  const request = shell(temporaryFolder(), 'if true; then (');
  expect(await endOf(request)).toEqual({ kind: 'exited', code: 2 });
  expect(textOf(join(request.dir, 'stdout.log'))).toMatch(/[Ss]yntax error/);
});

test.each([
  [
    'a program that does not exist',
    { argv: ['no-such-program-anywhere'] },
    /`no-such-program-anywhere` is not on/,
  ],
  ['a path that does not exist', { argv: ['./nothing'] }, /`\.\/nothing` does not exist/],
  [
    'a file that is not executable',
    { argv: ['./plain.txt'] },
    /`\.\/plain\.txt` does not exist or is not an executable/,
  ],
  ['a folder as program', { argv: ['/usr'] }, /not an executable file/],
  ['no program at all', { argv: [] }, /program ``/],
  ['a folder that does not exist', { cwd: '/no/such/folder' }, /working directory `\/no\/such\/folder`/],
  ['a file as folder', { cwd: '/etc/passwd' }, /working directory/],
  ['an argument that is too long', { argv: ['echo', 'x'.repeat(140_000)] }, /argument list too long/],
  ['an argument with NUL', { argv: ['echo', 'a\0b'] }, /NUL/],
])('%s is not started, and says why', async (_name, wanted, detail) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'plain.txt'), 'x');
  const request = requestFor(folder, wanted);
  const handle = forkChild(request);
  const status = await handle.wait();
  expect(status.end).toEqual({ kind: 'not-started', detail: expect.stringMatching(detail) });
  expect(handle.identity).toBeUndefined();
  expect(readdirSync(request.dir)).not.toContain('proc.json');
  expect(await handle.stop('nobody')).toEqual({ ended: 0, left: [] });
});

test('a folder that cannot be written is a problem with its path', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'children'), 'a file');
  expect(() => forkChild(shell(folder, 'true'))).toThrowError(
    expect.objectContaining({ failure: expect.objectContaining({ kind: 'not-writable' }) }),
  );
});

test('a thousand forks one after another leave no descriptor, no listener and no timer', async () => {
  const folder = temporaryFolder();
  await forkChild(shell(folder, 'true')).wait();
  const count = () => ({
    descriptors: readdirSync('/proc/self/fd').length,
    listeners: process.eventNames().map((name) => process.listenerCount(name)),
  });
  const before = count();
  for (let index = 0; index < 1_000; index += 1) {
    const status = await forkChild(shell(folder, 'true')).wait();
    if (status.end.kind !== 'exited') throw new Error(status.end.kind);
  }
  expect(count()).toEqual(before);
  // One may be the test runner's own.
  expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBeLessThan(3);
});

test('a child that prints 300 MB changes nothing of our memory', async () => {
  const request = shell(temporaryFolder(), 'head -c 300000000 /dev/zero');
  const before = process.memoryUsage().rss;
  let peak = before;
  const watcher = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
  const status = await forkChild(request).wait();
  clearInterval(watcher);
  expect(status).toMatchObject({ end: { kind: 'exited', code: 0 }, stdoutBytes: 300_000_000 });
  expect(peak - before).toBeLessThan(16_000_000);
});

test('children run side by side', async () => {
  const folder = temporaryFolder();
  const meet = (mine: string, other: string) => `: >${mine}; while [ ! -e ${other} ]; do :; done`;
  const first = forkChild(shell(folder, meet('a', 'b')));
  const second = forkChild(shell(folder, meet('b', 'a')));
  expect([(await first.wait()).end, (await second.wait()).end]).toEqual(
    Array(2).fill({ kind: 'exited', code: 0 }),
  );
});

test('what a child appends while it runs can be read at once', async () => {
  const folder = temporaryFolder();
  const request = shell(folder, 'echo ready; while [ ! -e go ]; do :; done');
  const handle = forkChild(request);
  await until(() => textOf(join(request.dir, 'stdout.log')) === 'ready\n');
  writeFileSync(join(folder, 'go'), '');
  expect((await handle.wait()).end).toEqual({ kind: 'exited', code: 0 });
});
