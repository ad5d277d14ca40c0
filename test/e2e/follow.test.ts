import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLI, createRig, initRepository, makeGate, until, type Rig } from '../helpers/rig.js';

const LINE = 'a line of output that a build prints, of eighty characters or so, again and again\n';
const BYTES = 16 * 1024 * 1024;

/** As npm and others do it: it lends its own standard output, and as a stream of Node's that no longer waits when it is full. */
const LENDER = `
const child = require('node:child_process').spawn(process.execPath, process.argv.slice(1), { stdio: 'inherit' });
child.on('exit', (code) => { process.exitCode = code; });
process.stdout;
process.send(child.pid);
process.disconnect();
`;

/** A follower whose standard output is a pipe of which is read only what is asked for. */
const startUnread = async (rig: Rig, args: readonly string[]) => {
  const path = join(rig.dir, 'unread');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  const lender = spawn(process.execPath, ['-e', LENDER, CLI, ...args], {
    cwd: rig.repo,
    env: rig.env,
    stdio: ['ignore', writer, 'ignore', 'ipc'],
  });
  closeSync(writer);
  const ended = once(lender, 'close');
  const [pid] = (await once(lender, 'message')) as [number];
  const buffer = Buffer.alloc(65_536);
  return {
    ended,
    read: (): string => {
      try {
        return buffer.toString('utf8', 0, readSync(reader, buffer));
      } catch {
        return '';
      }
    },
    close: () => closeSync(reader),
    /** Bytes that it has read of anything. */
    hasRead: (): number => Number(/^rchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0),
  };
};

/** A number that has stopped to change for as long as any of this takes. */
const settled = async (value: () => number): Promise<number> => {
  let [last, same] = [value(), 0];
  await until(() => {
    const now = value();
    same = now === last ? same + 1 : 0;
    last = now;
    return same === 30;
  }, 'a number that stays');
  return last;
};

test.skipIf(!existsSync('/proc/self/io'))(
  'a log of megabytes is followed as fast as it is read and no faster, to a signal or to the end of its reader',
  async () => {
    const rig = createRig();
    const [first, second] = [makeGate(rig, 'first'), makeGate(rig, 'second')];
    rig.program(
      'print',
      `#!/bin/sh\necho begin; read x < ${first.path}
yes '${LINE.trimEnd()}' | head -c ${BYTES}; printf '\\n\\033[31mred\\033[0m \\342\\202\\254\\r\\nend\\n'
read x < ${second.path}\n`,
    );
    initRepository(rig, { 'targets.yaml': 'targets: { work: { command: [print] } }\n' }, { remote: false });
    const running = rig.start(['run', 'x']);
    const log = '.orchestrate/x/children/00-work.1/stdout.log';
    await until(() => rig.has(log) && rig.read(log) === 'begin\n', 'its output');

    const follow = ['logs', 'x', '--follow'];
    const [read, unread] = [rig.start(follow), await startUnread(rig, follow)];
    await until(() => read.stdout() === 'begin\n', 'one follower');
    await until(() => unread.read() === 'begin\n', 'the other follower');
    const before = unread.hasRead();
    await first.open();
    await until(() => read.stdout().endsWith('end\n'), 'all of it');
    const whole = LINE.repeat(Math.ceil(BYTES / LINE.length)).slice(0, BYTES);
    expect(read.stdout() === `begin\n${whole}\nred €\nend\n`).toBe(true);
    read.kill('SIGTERM');
    expect((await read.ended).code).toBe(130);

    expect((await settled(unread.hasRead)) - before).toBeLessThan(BYTES / 8);
    expect(unread.read().startsWith(LINE)).toBe(true);
    unread.close();
    expect(await unread.ended).toEqual([0, null]);
    await second.open();
    expect((await running.ended).code).toBe(0);
  },
);
