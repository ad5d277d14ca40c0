import { describe, expect, test } from 'vitest';

import { createScratch, problemsOf, warningsOf } from '../helpers/pipelines.js';

/** First line of each problem: where and what. */
const heads = async (text: string): Promise<readonly string[]> =>
  (await problemsOf(text)).map((problem) => problem.split('\n')[0] ?? '');

const base = `name: x
workers: { w: { adapter: command, command: [claude, -p] } }
targets:
  ticket: { builtin: ticket }
  plan: { needs: [ticket], worker: w, makes: plan }
  diff: { needs: [plan], worker: w, makes: diff }
  review: { needs: [diff], worker: w, makes: review, gates: [verdict] }
`;

describe('settings', () => {
  test.each<[string, string]>([
    [
      'tickets: { path: tickets/320.md }',
      '1:18: `tickets.path` is `tickets/320.md`, the same for every ticket; expected a path with `{ticket}`',
    ],
    [
      'tickets: { path: "../{ticket}.md" }',
      '1:18: `tickets.path` is `../{ticket}.md` and leads out of the repository; expected a path below the repository, without `..`',
    ],
    [
      'tickets: { path: "/t/{ticket}.md" }',
      '1:18: `tickets.path` is `/t/{ticket}.md` and leads out of the repository; expected a path below the repository, without `..`',
    ],
    ['tickets: { source: jira }', '1:20: `tickets.source` is `jira`; expected `file`'],
    ['branch: work', '1:9: `branch` is `work`, the same for every ticket; expected a name with `{ticket}`'],
    [
      'branch: "a..b/{ticket}"',
      '1:9: `branch` is `a..b/{ticket}`, which git does not take as a branch; expected what `git check-ref-format --branch` accepts',
    ],
    [
      'branch: "{ticket}.lock"',
      '1:9: `branch` is `{ticket}.lock`, which git does not take as a branch; expected what `git check-ref-format --branch` accepts',
    ],
    [
      'base: "my branch"',
      '1:7: `base` is `my branch`, which git does not take as a branch; expected a branch name',
    ],
    [
      'remote: --upload-pack=x',
      '1:9: `remote` is `--upload-pack=x`; expected the name of a git remote such as `origin`',
    ],
    ['env: [A-B]', '1:7: `env[0]` is `A-B`; expected the name of an environment variable'],
    ['pillars: [tests, tests]', '1:18: `tests` is listed twice'],
    ['version: "1"', '1:10: `version` is `1`; expected `1`'],
    ['attempts: 0', '1:11: `attempts` is `0`; expected a whole number from 1 to 1000'],
    [
      'sandbox: maybe',
      '1:10: `sandbox` is `maybe`; expected `auto`, `required`, `off` or `{ mode, network, read, write }`',
    ],
    ['sandbox: { network: no }', '1:21: `sandbox.network` is `no`; expected one of `on`, `off`'],
    [
      'sandbox: { nework: off }',
      '1:12: unknown key `nework` in `sandbox`; expected one of `mode`, `network`, `read`, `write`',
    ],
    ['ignored: [../secrets]', '1:11: `ignored[0]` is `../secrets`; expected a relative path without `..`'],
    ['ignored: [/etc]', '1:11: `ignored[0]` is `/etc`; expected a relative path without `..`'],
    ['budget: { costUsd: 0 }', '1:20: `budget.costUsd` is `0`; expected more than 0'],
    ['jobs:', '1:6: `jobs` is empty; expected a whole number from 1 to 1024'],
  ])('%s', async (line, expected) => {
    expect(await heads(`${line}\n${base}`)).toEqual([`targets.yaml:${expected}`]);
  });

  test.each<[string, string]>([
    [
      '{ adapter: command }',
      '2:12: worker `v` has no command; expected a list of the program and its arguments',
    ],
    [
      '{ command: [x] }',
      '2:12: worker `v` has no adapter; expected `auto`, `command` or the name of an agent',
    ],
    ['{ adapter: claude, command: [x] }', '2:34: worker `v` is started by `claude`'],
    ['{ adapter: claude, agents: [codex] }', '2:34: `agents` is only for `adapter: auto`'],
    [
      '{ adapter: auto, agents: [cursor] }',
      '2:41: `workers.v.agents[0]` is `cursor`; expected one of `claude`, `codex`, `gemini`, `opencode`, `pi`, `qwen`, `copilot`',
    ],
    ['{ adapter: auto, unlike: u }', '2:32: there is no other worker `u`'],
    [
      '{ adapter: command, command: [x], args: [y] }',
      '2:49: `args` is only for agents, and worker `v` is none',
    ],
    ['{ adapter: scripted, command: [x] }', '2:36: worker `v` is scripted and runs no command'],
    ['{ adapter: command, command: [] }', '2:44: `workers.v.command` is an empty list; expected a text'],
    [
      '{ adapter: command, command: claude }',
      '2:44: `workers.v.command` is `claude`; expected a list that starts with the program',
    ],
    ['{ adapter: command, command: [x, 3] }', '2:48: `workers.v.command[1]` is `3`; expected a text'],
    [
      '{ adapter: scripted, env: { ORCHESTRATE_OUT: x } }',
      '2:43: `ORCHESTRATE_OUT` is set by the orchestrator itself',
    ],
    ['{ adapter: scripted, env: { A: 1 } }', '2:46: `workers.v.env.A` is `1`; expected a text'],
    [
      '{ adapter: scripted, env: { A-B: x } }',
      '2:43: `A-B` in `workers.v.env` is not a name; expected the name of an environment variable',
    ],
  ])('worker %s', async (worker, expected) => {
    const text = base.replace('workers: { w:', `workers: { v: ${worker}, w:`);
    expect((await heads(text)).slice(0, 1)).toEqual([`targets.yaml:${expected}`]);
  });

  test('a name that is no name is refused with one that is, and what stands under it is looked at too', async () => {
    expect(await problemsOf('name: x\ntargets:\n  Lint It: { comand: x }\n')).toEqual([
      'targets.yaml:3:3: `Lint It` in `targets` is not a name; expected a name of 1 to 64 lower-case letters, digits and `-`, starting with a letter or digit\n  fix: rename it to `lint-it`',
      expect.stringContaining('targets.yaml:3:14: unknown key `comand` in `targets.Lint It`'),
    ]);
  });
});

describe('kernel and manuals', () => {
  const workers = 'workers: { w: { adapter: command, command: [x] } }';
  const files = (
    kernel: Uint8Array | string,
    manual: Uint8Array | string,
    target = 'a: { worker: w, manual: m.md }',
  ) => {
    const scratch = createScratch();
    scratch.write('repo/targets.yaml', `name: x\nkernel: k.md\n${workers}\ntargets:\n  ${target}\n`);
    scratch.write('repo/k.md', kernel);
    scratch.write('repo/m.md', manual);
    return scratch;
  };

  test('42,000 resident bytes pass, 42,001 do not, and bytes are not characters', async () => {
    expect(await files('k'.repeat(20_000), 'm'.repeat(22_000)).problems()).toEqual([]);
    expect(await files('é'.repeat(10_000), 'm'.repeat(22_000)).problems()).toEqual([]);
    expect(await files('é'.repeat(10_000), `é${'m'.repeat(21_999)}`).problems()).toEqual([
      {
        file: 'targets.yaml',
        line: 5,
        column: 27,
        message: 'kernel and manual of `a` have 20000 + 22001 = 42001 of 42000 bytes, which is too many',
        fix: 'shorten the kernel or the manual',
      },
    ]);
  });

  test('a manual of 46,080 bytes passes where nothing is resident, one byte more does not', async () => {
    const target = 'a: { command: x, manual: m.md }';
    expect(await files('', 'm'.repeat(46_080), target).problems()).toEqual([]);
    expect(await files('', 'm'.repeat(46_081), target).problems()).toMatchObject([
      { line: 5, column: 28, message: '`targets.a.manual` has 46081 bytes, 1 more than the 46080 that fit' },
    ]);
  });

  test('a kernel that is too large by itself is said once', async () => {
    expect(await files('k'.repeat(42_001), 'm').problems()).toMatchObject([
      { line: 2, column: 9, message: '`kernel` has 42001 bytes, more than the 42000 that may be resident' },
    ]);
  });

  test('missing files and folders in their place are named with the reason', async () => {
    const scratch = createScratch();
    scratch.write(
      'repo/targets.yaml',
      `name: x\nkernel: no/k.md\n${workers}\ntargets:\n  a: { worker: w, manual: . }\n`,
    );
    expect(
      (await scratch.problems()).map(({ line, column, message }) => `${line}:${column} ${message}`),
    ).toEqual([
      '2:9 `kernel` cannot be read: no such file',
      '5:27 `targets.a.manual` cannot be read: it is not a file',
    ]);
  });

  test('more than 80 % is a warning', async () => {
    expect(await files('k'.repeat(20_000), 'm'.repeat(13_600)).warnings()).toEqual([]);
    expect(await files('k'.repeat(20_000), 'm'.repeat(13_601)).warnings()).toMatchObject([
      { line: 5, column: 27, message: 'kernel and manual of `a` have 20000 + 13601 = 33601 of 42000 bytes' },
    ]);
  });
});

describe('warnings', () => {
  test('a fifth worker on the happy path', async () => {
    const notes = (name: string) => `  ${name}: { needs: [review], worker: w, makes: notes }\n`;
    expect(await warningsOf(base + notes('four'))).toEqual([]);
    expect(await warningsOf(base + notes('four') + notes('five'))).toEqual([
      'targets.yaml:9:36: the happy path forks 5 workers: `plan`, `diff`, `review`, `four`, `five`; expected at most 4, since every fork pays its cold start again\n  fix: let one worker do more, or use `command` where no judgement is needed',
    ]);
  });

  test('a review that stops nothing, a commit that nobody reviewed, a worker without work', async () => {
    const text = base
      .replace(', gates: [verdict]', '')
      .replace('workers: { w:', 'workers: { idle: { adapter: scripted }, w:');
    expect(
      (await warningsOf(`${text}  c: { needs: [diff], builtin: commit }\n`)).map(
        (line) => line.split('\n')[0],
      ),
    ).toEqual([
      'targets.yaml:2:12: no target uses the worker `idle`',
      'targets.yaml:7:3: `review` is a review without the gate `verdict`: a REJECTED stops nothing',
      'targets.yaml:8:15: `c` commits what nobody has reviewed',
    ]);
  });
});
