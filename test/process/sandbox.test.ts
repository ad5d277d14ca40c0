import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { isAlive, textOf } from '../helpers/child.js';
import { boxed, environmentOf, giveAway, inside, makeWorld, run } from '../helpers/sandboxes.js';
import type { World } from '../helpers/sandboxes.js';

const NOBODY = 65_534;
const CONNECT = `require('node:net').connect(process.argv[1]).on('connect', () => process.exit(0)).on('error', () => process.exit(1))`;

/** What a hostile child tries. Each succeeds without a sandbox, or it would prove nothing. */
const ATTACKS: Readonly<Record<string, string>> = {
  'reads a key of the user': 'grep -q secret "$HOME/.ssh/id"',
  'lists the keys of the user': '[ -n "$(ls -A "$HOME/.ssh")" ]',
  'reads the seal key': 'grep -q secret "$KEY"',
  'reads the tree of another ticket': 'grep -q secret "$TREE/../321/file"',
  'reads the repository': 'grep -q secret "$REPOSITORY/source"',
  'reads the store': 'grep -q secret "$STATE/store.git/HEAD"',
  'reads the journal': 'grep -q secret "$STATE/320/journal.jsonl"',
  'reads the state': 'grep -q secret "$STATE/320/state/00_governance.md"',
  'reads what another child returned': 'grep -q secret "$STATE/320/children/02-plan.1/out/return.json"',
  'reads its own log': 'grep -q secret "$OUT/../stdout.log"',
  'reads through a link that it makes': 'ln -s "$KEY" "$OUT/link" && grep -q secret "$OUT/link"',
  'writes to the journal': 'echo forged >>"$STATE/320/journal.jsonl"',
  'writes to the repository': 'grep -q secret "$REPOSITORY/source" && echo forged >>"$REPOSITORY/source"',
  'writes beside its results': 'echo forged >"$OUT/../forged"',
  'changes a mode of the frozen checkout': 'chmod u+w "$FROZEN/file"',
  'writes to the frozen checkout': 'chmod u+w "$FROZEN/file"; echo forged >>"$FROZEN/file"',
  'adds to the frozen checkout': 'echo forged >"$FROZEN/forged"',
  'takes a second name for a frozen file': 'ln "$FROZEN/file" "$TREE/second"',
  'changes the manual': 'echo forged >>"$MANUAL"',
  'sees a process': '[ -e "/proc/$VICTIM" ]',
  'reads the environment of a process': 'grep -q TOKEN "/proc/$VICTIM/environ"',
  'opens the memory of a process': ': <"/proc/$VICTIM/mem"',
  'finds a process by its arguments': 'grep -qs "victi[m]-process" /proc/[0-9]*/cmdline',
  'talks to a socket': `node -e "${CONNECT}" "$SOCKET"`,
  'signals a process': 'kill -0 "$VICTIM"',
  'kills a process': 'kill -KILL "$VICTIM"',
};

/** The same where success would change the machine that runs the tests. */
const ONLY_INSIDE: Readonly<Record<string, string>> = {
  'writes to the root': ': >/forged',
  'writes to the system': ': >/usr/forged || : >/etc/forged || : >/opt/forged',
  'writes to another home': 'mkdir /home/forged || mkdir /forged /var/forged',
  mounts: 'mount --bind "$TREE" "$FROZEN" || mount -o remount,rw / || mount -t tmpfs none "$FROZEN"',
  'makes a namespace in which it may mount': 'unshare -Ur true || unshare -m true',
  'makes a device': 'mknod "$TREE/device" b 8 0',
  'has a capability, or may get one':
    '! grep -q "^NoNewPrivs:.*1" /proc/self/status || grep -q "^Cap[PEBA].*[1-9a-f]$" /proc/self/status',
  'may change a setting of the kernel': '[ -n "$(find /proc/sys /proc/sysrq-trigger -type f -writable)" ]',
  'reads passwords': 'grep -q . /etc/shadow || grep -q . /etc/gshadow',
  'leaves by the root of process 1':
    'grep -q secret "/proc/1/root$KEY" || grep -q secret "/proc/1/cwd/../321/file"',
  'holds a folder open': 'for file in /proc/[0-9]*/fd/*; do [ -d "$file/" ] && exit 0; done; exit 1',
  'runs a program of the outside':
    'for file in /proc/[0-9]*/exe; do case $(readlink "$file") in */bwrap) exit 0;; esac; done; exit 1',
  'finds a socket': '[ -n "$(find /run /tmp /var /dev /etc -type s)" ]',
  'sees more than itself': '[ "$(ls -d /proc/[0-9]* | wc -l)" -gt 8 ]',
  'knows its terminal': ': </dev/tty',
};

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const scriptOf = (
  attacks: Readonly<Record<string, string>>,
  variables: Readonly<Record<string, string>>,
): string =>
  [
    ...Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`),
    ...Object.entries(attacks).map(
      ([name, text]) => `( ${text} ) >/dev/null 2>&1 </dev/null && echo ${quoted(name)}`,
    ),
    'exit 0',
  ].join('\n');

const listen = async (path: string): Promise<Server> => {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(path, ready));
  onTestFinished(() => void server.close());
  return server;
};

/** A process of the same user, outside. */
const startVictim = (uid: number | undefined): number => {
  const child = spawn('/bin/sh', ['-c', 'while :; do sleep 60; done', 'victim-process'], {
    env: { PATH: '/usr/bin:/bin', TOKEN: 'secret' },
    stdio: 'ignore',
    detached: true,
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const pid = child.pid ?? 0;
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(-pid, 'SIGKILL');
  });
  return pid;
};

const targetsIn = async (world: World, uid: number | undefined): Promise<Record<string, string>> => {
  const socket = join(world.folder, 'agent.sock');
  await listen(socket);
  if (uid !== undefined) giveAway(world.folder, uid);
  return {
    KEY: world.key,
    TREE: world.tree,
    OUT: world.out,
    STATE: world.state,
    REPOSITORY: world.repository,
    FROZEN: world.frozen,
    MANUAL: world.manual,
    SOCKET: socket,
    VICTIM: String(startVictim(uid)),
  };
};

const everyFile = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(
      ({ parentPath, name }) => `${join(parentPath, name)}: ${readFileSync(join(parentPath, name), 'utf8')}`,
    )
    .toSorted();

const asRoot = process.getuid?.() === 0;

boxed.each(asRoot ? ['this user', 'another user'] : ['this user'])(
  'a hostile child of %s reaches nothing',
  async (user) => {
    const uid = user === 'another user' ? NOBODY : undefined;
    const world = makeWorld();
    const variables = await targetsIn(world, uid);
    const before = everyFile(world.folder);
    const script = scriptOf({ ...ATTACKS, ...ONLY_INSIDE }, variables);
    const ended = await inside(world, script, uid === undefined ? {} : { uid });
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(everyFile(world.folder)).toEqual(before);
    expect(isAlive(Number(variables['VICTIM']))).toBe(true);
  },
);

boxed('without the sandbox the same child reaches everything', async () => {
  const world = makeWorld();
  const variables = await targetsIn(world, undefined);
  const script = scriptOf(ATTACKS, variables);
  const ended = await run(['/bin/sh', '-c', script], { cwd: world.tree, env: environmentOf(world) });
  expect(ended.stdout.trim().split('\n')).toEqual(Object.keys(ATTACKS));
});

const WORK = `
set -e
echo made >file; echo result >"$OUT/return.json"; echo scratch >"$HOME/notes"; echo scratch >"$(mktemp)"
[ -z "$TMPDIR" ] || echo scratch >"$TMPDIR/x"
cat "$FROZEN/file" "$MANUAL"
[ "$(pwd)" = "$TREE" ] && [ "$(ls -A "$HOME")" = ".local
notes" ]
grep -q . /etc/resolv.conf; grep -q root /etc/passwd
node -e 'console.log("node", require("node:os").homedir() === process.env.HOME)'
npm --version >/dev/null
git init -q . && git add file && git -c user.name=a -c user.email=a@b commit -qm one && git log --oneline | wc -l
mkdir empty && rmdir empty && chmod 600 file && mv file moved
`;

boxed.each(asRoot ? ['this user', 'another user'] : ['this user'])('a child of %s can work', async (user) => {
  const uid = user === 'another user' ? NOBODY : undefined;
  const world = makeWorld();
  const { OUT = '', FROZEN = '', MANUAL = '', TREE = '' } = await targetsIn(world, uid);
  const env = { ...environmentOf(world), OUT, FROZEN, MANUAL, TREE, TMPDIR: join(world.folder, 'tmp') };
  const ended = await inside(world, WORK, { env, ...(uid === undefined ? {} : { uid }) });
  expect(ended).toEqual({ code: 0, stdout: 'frozen\nmanual\nnode true\n1\n', stderr: '' });
  expect(textOf(join(world.out, 'return.json'))).toBe('result\n');
  expect(textOf(join(world.tree, 'moved'))).toBe('made\n');
  expect(readdirSync(world.home).toSorted()).toEqual(['.local', '.ssh']);
  expect(readdirSync(world.folder)).not.toContain('tmp');
});

boxed('the network is there, or only a loopback of its own', async () => {
  const world = makeWorld();
  const server = createServer((socket) => socket.end());
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const text = `node -e "${CONNECT}" ${port}`;
  expect((await inside(world, text)).code).toBe(0);
  expect((await inside(world, text, { network: false })).code).toBe(1);
  const own = `node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => s.close())"`;
  expect((await inside(world, own, { network: false })).code).toBe(0);
});

boxed(
  'what is hidden stays hidden when what is around it is listed, and what is listed in it is there',
  async () => {
    const world = makeWorld();
    mkdirSync(join(world.repository, 'library'));
    writeFileSync(join(world.repository, 'library/code'), 'code\n');
    const text = `cat source library/code; ls -A .orchestrate/320/children; ls .orchestrate; echo x >.orchestrate/x; echo x >library/x; echo done >"${world.out}/x"`;
    const { stdout, stderr } = await inside(world, text, {
      cwd: world.repository,
      read: ['.', 'library'].map((path) => join(world.repository, path)),
    });
    expect(stdout).toBe('secret\ncode\n03-diff.1\n320\n');
    expect(stderr.match(/Read-only file system/g)).toHaveLength(2);
    expect(textOf(join(world.out, 'x'))).toBe('done\n');
  },
);
