import { spawnSync } from 'node:child_process';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { beforeAll, expect, test } from 'vitest';
import { findSandbox, sandboxProblem } from '../../orchestrator/process/sandbox.js';
import type { Found } from '../../orchestrator/process/sandbox.js';
import type { SandboxRule } from '../../orchestrator/model/pipeline.js';
import { temporaryFolder } from '../helpers/child.js';
import { boxed, found, run, SYSTEM_PATH } from '../helpers/sandboxes.js';

const RULE: SandboxRule = { mode: 'required', network: true, read: [], write: [] };
const NONE = { kind: 'none', why: 'bubblewrap is not installed', fix: 'install it' } as const;

const BWRAP = found.kind === 'bubblewrap' ? found.program : '';

/** The machine without its /proc, so that the one that a test mounts is the only one. */
const EVERYTHING = readdirSync('/', { withFileTypes: true })
  .filter(({ name }) => !['proc', 'dev', 'sys'].includes(name))
  .flatMap((entry) =>
    entry.isSymbolicLink()
      ? ['--symlink', readlinkSync(`/${entry.name}`), `/${entry.name}`]
      : ['--bind', `/${entry.name}`, `/${entry.name}`],
  )
  .concat('--dev-bind', '/dev', '/dev');

const HOST_PROC = ['--bind', '/proc', '/proc'];

let bundle = '';

beforeAll(() => {
  const { outputFiles } = buildSync({
    entryPoints: [join(import.meta.dirname, '../../orchestrator/process/sandbox-probe.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    logLevel: 'error',
  });
  bundle = outputFiles[0]?.text ?? '';
});

/** What is found by an orchestrator that is in a `bwrap` of these options itself. */
const foundIn = async (options: readonly string[], path = SYSTEM_PATH): Promise<Found> => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'probe.cjs'), bundle);
  const code =
    'require("./probe.cjs").findSandbox(process.env).then((found) => console.log(JSON.stringify(found)))';
  const argv = [BWRAP, ...EVERYTHING, ...options, '--', process.execPath, '-e', code];
  const ended = await run(argv, { cwd: folder, env: { PATH: path } });
  if (ended.code !== 0) throw new Error(ended.stderr);
  return JSON.parse(ended.stdout) as Found;
};

test('a bubblewrap that works is found, and one that does not is explained', async () => {
  const text = 'bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc true';
  const { status } = spawnSync('/bin/sh', ['-c', text]);
  const works = { kind: 'bubblewrap', version: expect.stringMatching(/^\d+\.\d+/) as string };
  const not = { kind: 'none', why: expect.any(String) as string, fix: expect.any(String) as string };
  expect(found).toMatchObject(status === 0 ? works : not);
  expect(await findSandbox(process.env)).toBe(found);
});

boxed('where it is not installed, the package is named', async () => {
  const hidden = [...HOST_PROC, '--ro-bind', '/dev/null', BWRAP];
  expect(await foundIn(hidden)).toEqual({
    kind: 'none',
    why: 'bubblewrap is not installed',
    fix: expect.stringContaining('apt install bubblewrap') as string,
  });
});

/** An ordinary user with namespaces of its own, as in a container. */
const CONTAINED = '--unshare-user --uid 1000 --gid 1000 --unshare-pid --cap-drop ALL --proc /proc'.split(' ');

boxed('where namespaces are forbidden, the setting is named', async () => {
  const answer = await foundIn([...CONTAINED, '--disable-userns']);
  expect(answer).toMatchObject({
    kind: 'none',
    why: expect.stringMatching(/^`.+\/bwrap` does not work here: .+ \(bwrap: .+\)$/) as string,
    fix: expect.stringContaining('sysctl -w user.max_user_namespaces') as string,
  });
});

boxed('in a container that hides parts of /proc, the option of the container is named', async () => {
  const answer = await foundIn([...CONTAINED, '--ro-bind', '/dev/null', '/proc/cmdline']);
  expect(answer).toMatchObject({
    kind: 'none',
    why: expect.stringContaining('hides parts of /proc') as string,
    fix: expect.stringContaining('systempaths=unconfined') as string,
  });
});

boxed('an ordinary user in a container that hides nothing has the same as outside', async () => {
  expect(await foundIn(CONTAINED)).toEqual(found);
});

boxed('one that the packages of a project bring is not taken', async () => {
  const folder = temporaryFolder();
  const bin = join(folder, 'node_modules/.bin');
  const { status } = spawnSync('/bin/sh', [
    '-c',
    `mkdir -p ${bin} && printf '#!/bin/sh\\nexit 0\\n' >${bin}/bwrap && chmod 755 ${bin}/bwrap`,
  ]);
  expect(status).toBe(0);
  const answer = await foundIn(
    [...HOST_PROC, '--ro-bind', '/dev/null', BWRAP],
    `${bin}:relative:${SYSTEM_PATH}`,
  );
  expect(answer).toMatchObject({ kind: 'none', why: 'bubblewrap is not installed' });
});

test('only a rule that requires a sandbox is refused without one', () => {
  expect(sandboxProblem(RULE, NONE)).toEqual({
    kind: 'sandbox-missing',
    message: 'a sandbox is required, and there is none: bubblewrap is not installed',
    next: 'install it',
  });
  expect(sandboxProblem({ ...RULE, mode: 'auto' }, NONE)).toBeUndefined();
  expect(sandboxProblem({ ...RULE, mode: 'off' }, NONE)).toBeUndefined();
  const some = { kind: 'bubblewrap', program: '/usr/bin/bwrap', version: '0.8.0', userOptions: [] } as const;
  expect(sandboxProblem(RULE, some)).toBeUndefined();
});
