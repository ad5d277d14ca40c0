import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readTicketFile } from '../../orchestrator/builtins/ticket-file.js';
import { prepareSample, type SampleGit } from '../../orchestrator/demo/sample.js';
import { openGit, run } from '../../orchestrator/git/git.js';
import { Problem } from '../../orchestrator/model/failure.js';
import { fail } from '../../orchestrator/model/result.js';
import { validatePipeline } from '../../orchestrator/pipeline/load.js';
import { workerFor } from '../../workers/registry.js';
import { plainGit } from '../helpers/plain-git.js';
import { temporaryFolder } from '../helpers/scripted-worker.js';

const folder = temporaryFolder();
const shared = join(folder, 'shared');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ask = async (cwd: string, ...args: string[]): Promise<string> => (await plainGit(args, { cwd })).trim();

const failureOf = async (promise: Promise<unknown>): Promise<Problem['failure']> => {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Problem) return error.failure;
  throw new Error(`expected a Problem, got ${String(error)}`);
};

beforeAll(async () => {
  await prepareSample({ dir: shared });
});

describe('the sample repository', () => {
  test('is a clean checkout of main that tracks the bare remote', async () => {
    expect(await ask(shared, 'status', '--porcelain', '--ignored', '--branch')).toBe('## main...origin/main');
    const head = await ask(shared, 'rev-parse', 'HEAD');
    const remote = await ask(shared, 'remote', 'get-url', 'origin');
    expect(remote.startsWith(shared)).toBe(true);
    expect(await ask(shared, '--git-dir', remote, 'rev-parse', '--is-bare-repository', 'main')).toBe(
      `true\n${head}`,
    );
    expect(await ask(shared, 'ls-remote', '--symref', 'origin', 'HEAD')).toContain(
      'ref: refs/heads/main\tHEAD',
    );
    expect(await ask(shared, 'symbolic-ref', 'refs/remotes/origin/HEAD')).toBe('refs/remotes/origin/main');
    expect(await ask(shared, 'fsck', '--strict', '--no-dangling')).toBe('');
  });

  test('has the same commits wherever and whenever it is made, whatever the person has configured', async () => {
    const configuration = join(folder, 'hostile.gitconfig');
    const hooks = join(folder, 'hooks');
    mkdirSync(hooks);
    writeFileSync(join(hooks, 'pre-commit'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    writeFileSync(
      configuration,
      `[commit]\ngpgSign = true\n[gpg]\nprogram = /nonexistent\n[init]\ndefaultBranch = trunk\n[core]\nautocrlf = true\nhooksPath = ${hooks}\n`,
    );
    vi.stubEnv('GIT_CONFIG_GLOBAL', configuration);
    vi.stubEnv('GIT_DIR', '/nonexistent');
    const dir = join(folder, 'configured');
    await prepareSample({ dir }).finally(() => vi.unstubAllEnvs());
    expect(await ask(dir, 'rev-parse', 'HEAD')).toBe(await ask(shared, 'rev-parse', 'HEAD'));
    expect(await ask(dir, 'log', '-1', '--format=%an <%ae> %cn %aI')).toBe(
      'Demo User <demo@example.com> Demo User 2026-01-02T09:00:00+00:00',
    );
    expect(readFileSync(join(dir, 'src/signal.js'), 'utf8')).not.toContain('\r');

    // A person who goes on by hand is not stopped by it either.
    writeFileSync(join(dir, 'mine.txt'), 'mine\n');
    const env = { GIT_CONFIG_GLOBAL: configuration };
    await plainGit(['add', 'mine.txt'], { cwd: dir, env });
    await plainGit(['commit', '--quiet', '-m', 'Mine'], { cwd: dir, env });
    expect(await ask(dir, 'log', '-1', '--format=%an %s')).toBe('Demo User Mine');
  });

  test.each([
    ['320', 'Signals take a custom equality', 3],
    ['321', 'Deep equality for lists, objects, maps and sets', 4],
  ])('has ticket %s, which the ticket source can read', (id, title, criteria) => {
    const { ticket } = readTicketFile(shared, 'tickets/{ticket}.md', id);
    expect(ticket).toMatchObject({ id, title, labels: ['enhancement'] });
    expect(ticket.acceptance).toHaveLength(criteria);
  });

  test.each([
    ['person', { kind: 'approval', by: 'person' }],
    [
      'policy',
      {
        kind: 'approval',
        by: 'policy',
        policy: { paths: ['src/**', 'test/**', 'docs/**'], maxFiles: 6, maxLines: 200 },
      },
    ],
  ] as const)('has a valid pipeline of scripted workers whose plan needs a %s', async (approval, gate) => {
    const dir = join(folder, approval);
    await prepareSample({ dir, approval });
    const { pipeline, problems, warnings } = await validatePipeline({ root: dir, packageRoot: resolve('.') });
    expect([problems, warnings]).toEqual([[], []]);
    expect(pipeline?.targets).toHaveLength(9);
    expect(pipeline?.targets.find(({ name }) => name === 'approved-plan')?.gates).toEqual([gate]);
    const workers = Object.values(pipeline?.workers ?? {});
    expect(workers.map(({ adapter }) => adapter)).toEqual(['scripted', 'scripted', 'scripted', 'scripted']);
    expect(workers.flatMap((worker) => workerFor(worker).problems(worker))).toEqual([]);
  });

  test('passes its own tests', async () => {
    const env = { PATH: process.env['PATH'] ?? '' };
    const { stdout } = await promisify(execFile)(process.execPath, ['--test'], { cwd: shared, env });
    expect(stdout).toMatch(/pass 8\n/);
    expect(stdout).toMatch(/fail 0\n/);
  });

  test('is made in an empty folder that is there, also through a link', async () => {
    mkdirSync(join(folder, 'empty'));
    symlinkSync(join(folder, 'empty'), join(folder, 'link'));
    const { repository } = await prepareSample({ dir: join(folder, 'link') });
    expect(await ask(repository, 'status', '--porcelain')).toBe('');
    expect(existsSync(join(folder, 'empty', 'tickets', '320.md'))).toBe(true);
  });
});

describe('what is refused leaves everything as it was', () => {
  test('a folder that is not empty', async () => {
    const dir = join(folder, 'full');
    mkdirSync(dir);
    writeFileSync(join(dir, 'mine.txt'), 'mine');
    expect(await failureOf(prepareSample({ dir }))).toMatchObject({
      kind: 'usage',
      message: `\`${dir}\` is not empty; the sample repository is only made in an empty folder`,
    });
    expect(readdirSync(dir)).toEqual(['mine.txt']);
  });

  test('a file in place of a folder, or above it', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, 'mine');
    for (const dir of [file, join(file, 'below')]) {
      expect(await failureOf(prepareSample({ dir }))).toMatchObject({
        kind: 'usage',
        message: `\`${dir}\` is not a folder`,
      });
    }
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  test.each(['init', 'fast-import', 'reset', 'push'])('a git that fails at `%s`', async (command) => {
    const real = openGit({ root: folder, mainRoot: folder, gitDir: folder });
    const failing: SampleGit = async (request) =>
      request.args[0] === command
        ? fail({ kind: 'git-failed', message: `no ${command} today` })
        : run(real, request);
    const fresh = join(folder, `fresh-${command}`, 'deep', 'er');
    await expect(prepareSample({ dir: fresh, git: failing })).rejects.toThrow(`no ${command} today`);
    expect(existsSync(join(folder, `fresh-${command}`))).toBe(false);
    const empty = join(folder, `empty-${command}`);
    mkdirSync(empty);
    await expect(prepareSample({ dir: empty, git: failing })).rejects.toThrow(`no ${command} today`);
    expect(readdirSync(empty)).toEqual([]);
  });
});
