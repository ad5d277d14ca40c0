import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contents, createRig } from '../helpers/rig.js';
import { found as sandbox } from '../helpers/sandboxes.js';

/** Where there is no sandbox that is said, and nothing else is. */
const SAID = sandbox.kind === 'bubblewrap' ? /^$/ : /^warning: workers run without a sandbox[^\n]*\n$/;

describe('demo', () => {
  test(
    'ships ticket 320 through two critic rounds to a landed commit of exactly the reviewed tree',
    { timeout: 60_000 },
    async () => {
      const rig = createRig();
      const { code, stdout, stderr } = await rig.run(['demo', '--dir', rig.repo], { cwd: rig.dir });
      expect(code).toBe(0);
      expect(stderr).toMatch(SAID);

      const rounds = rig.read('.orchestrate/320/state/30_critic_summary.md');
      expect(rounds.match(/^## Round .*$/gm)).toEqual([
        '## Round 1: REJECTED, 1 blockers',
        '## Round 2: APPROVED, 0 blockers',
      ]);
      const reviewed = rounds
        .match(/^receipt: tree [0-9a-f]{40}/gm)
        ?.at(-1)
        ?.slice('receipt: tree '.length);
      expect(rig.git('--git-dir', '.git/origin.git', 'rev-parse', 'main^{tree}')).toBe(reviewed);
      expect(rig.git('--git-dir', '.git/origin.git', 'log', '--format=%s', 'main').split('\n')[0]).toBe(
        'Signals take a custom equality',
      );
      expect(rig.git('status', '--porcelain', '--ignored')).toBe('!! .orchestrate/');

      const approvals = rig.events().filter(({ type }) => type === 'approval.answered');
      expect(approvals).toEqual([expect.objectContaining({ answer: 'approved', how: 'policy' })]);
      expect(String(approvals[0]?.['by'])).toMatch(/^policy \(/);
      const plan = rig.read('.orchestrate/320/state/20_plan_approved.md');
      expect(plan).toMatch(/^how: "policy"$/m);
      expect(plan).toMatch(/^approvedBy: "policy \(/m);

      // Every line that names a worker says what it is.
      const workers = (stdout.split('Look next')[0] ?? '')
        .split('\n')
        .filter((line) => /archaeologist|builder|critic|scribe/.test(line));
      expect(workers.length).toBeGreaterThanOrEqual(6);
      expect(workers.filter((line) => !line.includes('scripted worker, not a model'))).toEqual([]);
      expect(stdout).toMatch(
        /9 of 9 targets are up to date\n\nLook next\n {2}orchestrate -C repo status --ticket 320/,
      );

      const status = JSON.parse((await rig.run(['status', '320', '--json'])).stdout) as {
        readonly targets: readonly { readonly summary: readonly string[] }[];
      };
      for (const number of [2, 3, 4, 8])
        expect(status.targets[number]?.summary[0]).toMatch(/^scripted worker, not a model: /);

      // What it says next is true, word by word.
      const next = [...stdout.matchAll(/^ {2}orchestrate (\S.*?)(?: {3,}.*)?$/gm)].map(
        ([, words]) => words ?? '',
      );
      expect(next).toHaveLength(4);
      for (const words of next) {
        expect({ words, ...(await rig.run(words.split(' '), { cwd: rig.dir })) }).toMatchObject({ code: 0 });
      }
      expect((await rig.run(['run', '--ticket', '320'])).stdout).toBe(
        'nothing to do: 9 of 9 targets are up to date\n',
      );
    },
  );

  test('without --dir works in a temporary folder and leaves the current one alone', async () => {
    const rig = createRig();
    const here = join(rig.dir, 'here');
    mkdirSync(here);
    const { code, stdout } = await rig.run(['demo', '--prepare'], { cwd: here });
    expect(code).toBe(0);
    expect(readdirSync(here)).toEqual([]);
    expect(stdout).toContain(join(rig.dir, 'tmp', 'orchestrate-demo-'));
  });

  test('--prepare only makes the repository, and its pipeline asks a person', async () => {
    const rig = createRig();
    const { code, stdout } = await rig.run(['demo', '--dir', 'repo', '--prepare', '--json'], {
      cwd: rig.dir,
    });
    expect(code).toBe(0);
    const made = JSON.parse(stdout) as { readonly repository: string; readonly remote: string };
    expect(made).toEqual({
      repository: rig.repo,
      remote: rig.git('remote', 'get-url', 'origin'),
      tickets: ['320', '321'],
    });
    expect(rig.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main');
    expect(rig.gitIn(made.remote, 'rev-parse', '--is-bare-repository', 'main')).toBe(
      `true\n${rig.git('rev-parse', 'HEAD')}`,
    );
    expect(rig.git('status', '--porcelain', '--ignored')).toBe('');
    expect(['tickets/320.md', 'tickets/321.md', 'targets.yaml', '.orchestrate'].map(rig.has)).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(readFileSync(join(rig.repo, 'targets.yaml'), 'utf8')).toMatch(/approval: person/);
    expect((await rig.run(['validate'])).code).toBe(0);
  });

  test.each([
    [
      'a folder that is not empty',
      (path: string) => (mkdirSync(path), writeFileSync(join(path, 'mine.txt'), 'mine')),
    ],
    ['a file', (path: string) => writeFileSync(path, 'mine')],
  ])('--dir that is %s is refused and left as it was', async (_, make) => {
    const rig = createRig();
    make(rig.repo);
    const before = contents(rig.dir, ['home']);
    for (const more of [[], ['--prepare']]) {
      const { code, stdout, stderr } = await rig.run(['demo', '--dir', rig.repo, ...more], { cwd: rig.dir });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/^error: .*\n {2}next: name a new or an empty folder\n$/);
    }
    expect(contents(rig.dir, ['home'])).toEqual(before);
  });
});
