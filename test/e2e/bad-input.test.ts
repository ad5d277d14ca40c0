import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builder, initWithAgents, TICKET } from '../helpers/fake-agents.js';
import { CLI, contents, createRig, initRepository, type Ended, type Rig } from '../helpers/rig.js';

/** Everything but the caches in the user's state home. */
const everything = (rig: Rig): Record<string, string> =>
  contents(rig.dir, ['home/orchestrate/cache', 'home/orchestrate', 'tmp']);

/** A clear error: one message, what to do, no stack trace, nothing on stdout. */
const expectRefusal = (ended: Ended, code: number, message: RegExp): void => {
  expect({ code: ended.code, stdout: ended.stdout, stderr: ended.stderr }).toEqual({
    code,
    stdout: '',
    stderr: expect.stringMatching(message) as string,
  });
  expect(ended.stderr).toMatch(/^error: \S/);
  expect(ended.stderr).toMatch(/\n +next: \S/);
  expect(ended.stderr).not.toMatch(/^ +at |undefined|\[object/m);
};

const refuses = async (
  rig: Rig,
  args: readonly string[],
  message: RegExp,
  options: Parameters<Rig['run']>[1] = {},
): Promise<void> => {
  const before = everything(rig);
  expectRefusal(await rig.run(args, options), 2, message);
  expect(everything(rig)).toEqual(before);
};

describe('a ticket', () => {
  test('that is unknown, empty or malformed: exit 2, file and line, nothing created', async () => {
    const rig = createRig();
    initWithAgents(rig);
    mkdirSync(join(rig.repo, 'tickets/folder.md'));
    writeFileSync(
      join(rig.repo, 'tickets/latin1.md'),
      Buffer.from('---\ntitle: Gr\xf6\xdfe\n---\nx\n', 'latin1'),
    );
    symlinkSync('/etc/hostname', join(rig.repo, 'tickets/link.md'));
    const tickets: Record<string, readonly [string | undefined, RegExp]> = {
      999: [undefined, /tickets\/999\.md: ticket `999` is not known/],
      empty: ['', /tickets\/empty\.md: the ticket file is empty/],
      headless: ['Do it.\n', /tickets\/headless\.md:1:1: .*front matter/],
      open: ['---\ntitle: A\nDo it.\n', /tickets\/open\.md/],
      yaml: ['---\ntitle: [A\n---\nDo it.\n', /tickets\/yaml\.md:\d+:\d+: the front matter is not YAML/],
      twice: ['---\ntitle: A\ntitle: B\n---\nDo it.\n', /tickets\/twice\.md:3:1/],
      untitled: ['---\nlabels: [a]\n---\nDo it.\n', /title/],
      says: ['---\ntitle: A\n---\n\n', /says nothing/],
      long: [`---\ntitle: A\n---\n${'x'.repeat(46_080)}\n`, /at most 46080/],
      folder: [undefined, /not a regular file/],
      latin1: [undefined, /UTF-8/],
      link: [undefined, /leads out of the repository/],
    };
    for (const [id, [text]] of Object.entries(tickets))
      if (text !== undefined) rig.write({ [`tickets/${id}.md`]: text });
    for (const [id, [, message]] of Object.entries(tickets)) await refuses(rig, ['run', id], message);
    expect(rig.has('.orchestrate')).toBe(false);
    // One of several: none is started.
    await refuses(rig, ['run', '320', '999'], /`999` is not known/);
  });

  test('id that is not allowed is refused by every command before it names a path', async () => {
    const rig = createRig();
    initWithAgents(rig);
    for (const id of ['../../x', '/etc/passwd', 'a\nb', '-x', '', 'store.git', 'a'.repeat(65)]) {
      await refuses(rig, ['run', `--ticket=${id}`], /ticket id .* is not allowed/);
    }
    for (const command of [['status'], ['boot'], ['tell', 'hello'], ['approve']]) {
      await refuses(rig, [...command, '--ticket=../../x'], /is not allowed/);
    }
    await refuses(rig, ['run', '--ticket', '-x'], /--ticket/);
    expect((await rig.run(['run', '--dry-run', 'a'.repeat(64)])).code).toBe(0);
  });
});

test('wrong YAML: all problems at once, each with file, line, column and what to do, by validate and by run alike', async () => {
  const rig = createRig();
  initRepository(rig, {
    'tickets/320.md': TICKET,
    'targets.yaml': `name: wrong
jbos: 2
workers:
  w: { adapter: comand, command: [true] }
targets:
  a: { command: "true", needs: [c] }
  b: { worker: v, limits: { idle: 10 } }
  c: { needs: [a, nobody], command: "sleep 5" }
  d: { command: "true", builtin: push }
`,
  });
  const expected = [
    /targets\.yaml:2:1: unknown key `jbos`.*\n +fix: did you mean `jobs`\?/,
    /targets\.yaml:4:17: `workers\.w\.adapter` is `comand`.*\n +fix: did you mean `command`\?/,
    /targets\.yaml:6:33: prerequisites go in a circle: a -> c -> a/,
    /targets\.yaml:7:16: there is no worker `v`/,
    /targets\.yaml:7:35: `targets\.b\.limits\.idle` is `10`/,
    /targets\.yaml:8:19: `c` needs `nobody`/,
    /targets\.yaml:8:37: .*sleep 5/,
    /targets\.yaml:9:25: `d` has `command` and `builtin`/,
  ];
  const before = everything(rig);
  for (const args of [['validate'], ['run', '320'], ['run', '320', '--dry-run'], ['graph']]) {
    const { code, stdout, stderr } = await rig.run(args);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
    for (const problem of expected) expect(stderr).toMatch(problem);
  }
  const report = JSON.parse((await rig.run(['validate', '--json'])).stdout) as {
    readonly valid: boolean;
    readonly problems: readonly Record<string, unknown>[];
  };
  expect(report.valid).toBe(false);
  expect(report.problems.length).toBeGreaterThanOrEqual(expected.length);
  await refuses(rig, ['run', '320', '--file', 'gone.yaml'], /gone\.yaml/);
  rig.write({ 'torn.yaml': 'targets:\n  a: { command: "true"\n' });
  expectRefusal(await rig.run(['run', '320', '--file', 'torn.yaml']), 2, /torn\.yaml:\d+:\d+: /);
  rmSync(join(rig.repo, 'torn.yaml'));
  expect(everything(rig)).toEqual(before);
});

describe('a place where no run can be', () => {
  test('not a repository, a bare one, one without commits, without a remote, without an author', async () => {
    const rig = createRig();
    mkdirSync(rig.repo);
    await refuses(rig, ['run', '320'], /is not in a git repository/);
    await refuses(rig, ['status'], /is not in a git repository/);
    rig.git('init', '--quiet', '--initial-branch=main');
    const scripted = ['archaeologist', 'builder', 'critic', 'scribe'].map(
      (name) => `  ${name}: { adapter: scripted }\n`,
    );
    rig.write({
      'tickets/320.md': TICKET,
      'targets.yaml': `extends: builtin\nworkers:\n${scripted.join('')}`,
    });
    await refuses(rig, ['run', '320'], /the repository has no commits/);
    rig.git('add', '--all');
    rig.git('commit', '--quiet', '--message=Start');
    await refuses(rig, ['run', '320'], /needs the remote `origin`/);
    rig.git('remote', 'add', 'origin', rig.dir);
    rig.gitIn(rig.dir, 'config', '--global', '--unset', 'user.email');
    await refuses(rig, ['run', '320'], /user\.email|who/);
    rig.gitIn(rig.dir, 'init', '--quiet', '--bare', 'bare.git');
    await refuses(rig, ['run', '320'], /bare repository/, { cwd: join(rig.dir, 'bare.git') });
    expect(rig.has('.orchestrate')).toBe(false);
  });

  test('no git on the PATH, and no program of a worker', async () => {
    const rig = createRig();
    initWithAgents(rig);
    const before = everything(rig);
    const empty = { PATH: join(rig.dir, 'bin') };
    expectRefusal(await rig.run(['run', '320'], { env: empty }), 2, /git.*(PATH|found)/);
    expectRefusal(await rig.run(['demo', '--dir', '../demo'], { env: empty }), 2, /git/);
    rmSync(join(rig.dir, 'bin/critic'));
    expectRefusal(await rig.run(['run', '320']), 2, /worker `critic` needs the program `critic`/);
    delete before['bin/critic'];
    expect(everything(rig)).toEqual(before);
  });

  test('a state folder, a run folder or a home that cannot be written', async () => {
    const rig = createRig();
    initWithAgents(rig);
    // A file in the place of a folder stops root as well.
    rig.write({ '.orchestrate': 'mine\n' });
    await refuses(rig, ['run', '320'], /\.orchestrate/);
    rmSync(join(rig.repo, '.orchestrate'));
    rig.write({ '.orchestrate/320': 'mine\n' });
    await refuses(rig, ['run', '320'], /\.orchestrate/);
    rmSync(join(rig.repo, '.orchestrate'), { recursive: true });
    writeFileSync(join(rig.dir, 'file'), '');
    await refuses(rig, ['run', '320'], /ORCHESTRATE_HOME/, {
      env: { ORCHESTRATE_HOME: join(rig.dir, 'file/home') },
    });
    // Somebody's link into another place.
    mkdirSync(join(rig.dir, 'elsewhere'));
    symlinkSync(join(rig.dir, 'elsewhere'), join(rig.repo, '.orchestrate'));
    expect((await rig.run(['run', '320'])).code).toBe(4);
    expect(contents(join(rig.dir, 'elsewhere'))).toEqual({});
  });
});

const SETPRIV = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] as const;

const succeeds = ([program, ...args]: readonly [string, ...string[]]): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** Runs it as somebody who may not write there: as we are, or, for root, as nobody, who must be able to read us. */
const asNobody = (): readonly string[] | undefined => {
  if (process.getuid?.() !== 0) return [];
  return succeeds([...SETPRIV, process.execPath, CLI, '--version']) ? SETPRIV : undefined;
};

const NOBODY = asNobody();

describe.skipIf(NOBODY === undefined)(
  'a repository in which one may not write (skipped for root without setpriv)',
  () => {
    test('run is refused, looking works, nothing is half-written', async () => {
      const rig = createRig();
      initWithAgents(rig);
      const home = join(rig.dir, 'own');
      mkdirSync(home);
      chmodSync(home, 0o777);
      chmodSync(rig.dir, 0o755);
      writeFileSync(
        join(home, '.gitconfig'),
        '[user]\n\tname = N\n\temail = n@example.com\n[safe]\n\tdirectory = *\n',
      );
      const options = {
        under: NOBODY ?? [],
        env: { HOME: home, ORCHESTRATE_HOME: join(home, 'o'), TMPDIR: home },
      };
      chmodSync(rig.repo, 0o555);
      const before = contents(rig.repo);
      expectRefusal(await rig.run(['run', '320'], options), 2, /\.orchestrate.*(writ|permission|EACCES)/s);
      expect(await rig.run(['validate'], options)).toMatchObject({ code: 0 });
      expect(await rig.run(['graph'], options)).toMatchObject({ code: 0 });
      expect(contents(rig.repo)).toEqual(before);
    });
  },
);

/** In a mount namespace of its own, so that nothing is left mounted. */
const UNSHARE = ['unshare', '--mount', 'sh', '-c'] as const;
const canMount = succeeds([...UNSHARE, 'mount -t tmpfs -o size=64k none /mnt']);

describe.skipIf(!canMount)('a disk without space (skipped where nothing can be mounted)', () => {
  test.each([4, 48, 96, 160])(
    'of %i KiB: a clear error; with space the run goes on to the same end',
    async (size) => {
      const rig = createRig();
      // What ran when there was no space for its end is made again, so it must not matter how often.
      initWithAgents(rig, { builder: builder("printf 'one\\nmore\\n' > a.txt") });
      const state = join(rig.repo, '.orchestrate');
      const kept = join(rig.dir, 'kept');
      mkdirSync(state);
      // What was written until then survives the small disk, as it would a full one that is emptied.
      const script = `mount -t tmpfs -o size=${size}k none "$0" && "$@"; code=$?; cp -a "$0" ${kept}; exit $code`;
      const { code, stderr } = await rig.run(['run', '320'], {
        under: [...UNSHARE, script, state],
      });
      expect([1, 2]).toContain(code);
      expect(stderr).toMatch(/^error: /m);
      expect(stderr).toMatch(/space|ENOSPC/);
      expect(stderr).not.toMatch(/^ +at /m);
      expect(rig.processes()).toEqual([]);
      rmSync(state, { recursive: true });
      execFileSync('mv', [kept, state]);
      expect((await rig.run(['run', '320'])).code).toBe(0);
      expect(rig.gitIn(join(rig.dir, 'origin.git'), 'show', 'main:a.txt')).toBe('one\nmore');
    },
  );
});
