import { describe, expect, test } from 'vitest';

import { problemsOf } from '../helpers/pipelines.js';

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

test('all problems of a file come at once, sorted, each with file, line, column and a fix', async () => {
  const problems = await problemsOf(`name: bad
jbos: 3
jobs: 1.5
limits: { idle: 10 minutes }
workers:
  critic: { adapter: comand, command: [x] }
targets:
  a:
    needs: [b]
    wrker: critc
    command: sleep 5
  b:
    needs: [a, tikcet]
    worker: critc
  ticket:
    builtin: tiket
    number: 0
`);
  expect(problems.join('\n'))
    .toBe(`targets.yaml:2:1: unknown key \`jbos\` in the file; expected one of \`attempts\`, \`base\`, \`branch\`, \`budget\`, \`env\`, \`extends\`, \`ignored\`, \`jobs\`, \`kernel\`, \`limits\`, \`name\`, \`pillars\`, \`remote\`, \`rounds\`, \`sandbox\`, \`targets\`, \`tickets\`, \`version\`, \`workers\`
  fix: did you mean \`jobs\`?
targets.yaml:3:7: \`jobs\` is \`1.5\`; expected a whole number from 1 to 1024
  fix: write a whole number from 1 to 1024
targets.yaml:4:17: \`limits.idle\` is \`10 minutes\`; expected a duration such as \`500ms\`, \`30s\`, \`10m\` or \`2h\`
  fix: write a duration such as \`500ms\`, \`30s\`, \`10m\` or \`2h\`
targets.yaml:6:22: \`workers.critic.adapter\` is \`comand\`; expected one of \`command\`, \`scripted\`, \`auto\`, \`claude\`, \`codex\`, \`gemini\`, \`opencode\`, \`pi\`, \`qwen\`, \`copilot\`
  fix: did you mean \`command\`?
targets.yaml:9:13: prerequisites go in a circle: a -> b -> a (each needs the next)
  fix: remove one of these \`needs\`
targets.yaml:10:5: unknown key \`wrker\` in \`targets.a\`; expected one of \`access\`, \`attempts\`, \`builtin\`, \`command\`, \`foreach\`, \`gates\`, \`inputs\`, \`latch\`, \`limits\`, \`makes\`, \`manual\`, \`needs\`, \`number\`, \`onReject\`, \`outputs\`, \`when\`, \`worker\`
  fix: did you mean \`worker\`?
targets.yaml:11:14: the command of \`a\` waits by \`sleep 5\`; a recipe never sleeps, because waiting is by events and timers of the orchestrator
  fix: let the orchestrator wait: use a command that ends by itself when the thing is there, or \`attempts\` and \`limits\`
targets.yaml:13:16: \`b\` needs \`tikcet\`, and there is no such target
  fix: did you mean \`ticket\`?
targets.yaml:14:13: there is no worker \`critc\`; expected one of \`critic\`
  fix: did you mean \`critic\`?
targets.yaml:16:14: \`targets.ticket.builtin\` is \`tiket\`; expected one of \`read-init-d\`, \`ticket\`, \`commit\`, \`push\`, \`land\`
  fix: did you mean \`ticket\`?`);
});

describe('graph', () => {
  test.each<[string, string, readonly string[]]>([
    ['a target that needs itself', 'a: { needs: [a], command: x }', ['targets.yaml:3:16: `a` needs itself']],
    [
      'a longer cycle, and what stands behind it',
      'a: { needs: [c], command: x }\n  b: { needs: [a], command: x }\n  c: { needs: [b], command: x }\n  d: { needs: [c], command: x }',
      [
        'targets.yaml:3:16: prerequisites go in a circle: a -> c -> b -> a (each needs the next); `d` can never be made either',
      ],
    ],
    [
      'two cycles',
      'a: { needs: [b], command: x }\n  b: { needs: [a], command: x }\n  c: { needs: [d, b], command: x }\n  d: { needs: [c], command: x }',
      [
        'targets.yaml:3:16: prerequisites go in a circle: a -> b -> a (each needs the next)',
        'targets.yaml:5:16: prerequisites go in a circle: c -> d -> c (each needs the next)',
      ],
    ],
    [
      'a number used twice',
      'a: { number: 4, command: x }\n  b: { number: 4, command: x }',
      ['targets.yaml:4:16: `b` has the number 4, as `a` has'],
    ],
    [
      'a foreach over nothing, and who waits for it',
      'a: { foreach: [], command: x }\n  b: { needs: [a], command: x }',
      ['targets.yaml:3:17: `foreach` of `a` has no items, so `b` can never be made'],
    ],
    [
      'a foreach item that makes no name',
      'a: { foreach: [Tests], command: x }',
      [
        'targets.yaml:3:17: `foreach` of `a` makes the name "a-Tests"; expected items of lower-case letters, digits and `-`',
      ],
    ],
    [
      'a foreach item that makes the name of another target',
      'a: { foreach: [b], command: x }\n  a-b: { command: x }',
      ['targets.yaml:3:17: `foreach` of `a` makes a second `a-b`'],
    ],
    ['no targets', '', ['targets.yaml:2:9: `targets` is empty; expected a map of names']],
  ])('%s', async (_, targets, expected) => {
    expect(await heads(`name: x\ntargets:\n  ${targets}\n`)).toEqual(expected);
  });

  test('a pipeline without targets says what to add', async () => {
    expect(await problemsOf('name: x\n')).toEqual([
      'targets.yaml:1:1: the pipeline has no targets; expected `targets:` with at least one\n  fix: add one, or `extends: builtin`',
    ]);
  });
});

describe('what makes a target', () => {
  test.each<[string, string, string]>([
    [
      'nothing',
      'a: { needs: [ticket] }',
      '8:3: nothing makes `a`; expected `command`, `worker` or `builtin`',
    ],
    [
      'two things',
      'a: { command: x, worker: w }',
      '8:20: `a` has `command` and `worker`; expected exactly one of them',
    ],
    [
      'a command that makes a review',
      'a: { needs: [diff], command: x, makes: review }',
      '8:42: a plain command cannot make a review: only a worker has a return file and an `out/` folder',
    ],
    [
      'a builtin that makes a diff',
      'a: { builtin: read-init-d, makes: diff }',
      '8:37: `a` is built in and makes no diff',
    ],
    [
      'a diff without write access',
      'a: { needs: [ticket], worker: w, makes: diff, access: read-only }',
      '8:57: `a` makes a diff, but may not write',
    ],
    [
      'a review that writes',
      'a: { needs: [diff], worker: w, makes: review, access: write, gates: [verdict] }',
      '8:57: `a` is a review, and a review never writes',
    ],
    [
      'an output outside the tree',
      'a: { command: x, outputs: [ok, ../x] }',
      '8:34: `../x` leads out of the tree; expected a path below the tree, without `..`',
    ],
    [
      'an absolute input',
      'a: { command: x, inputs: [/etc/passwd] }',
      '8:29: `/etc/passwd` leads out of the tree; expected a path below the tree, without `..`',
    ],
    [
      'a check that sleeps',
      'a: { command: x, gates: [{ check: x && sleep 5 }] }',
      '8:37: a check of `a` waits by `sleep 5`; a recipe never sleeps, because waiting is by events and timers of the orchestrator',
    ],
    [
      'a list that sleeps',
      'a: { command: [sleep, "5"] }',
      '8:17: the command of `a` waits by `sleep 5`; a recipe never sleeps, because waiting is by events and timers of the orchestrator',
    ],
    [
      'a timer that Node would fire at once',
      'a: { command: x, limits: { timeout: 900h } }',
      '8:39: `targets.a.limits.timeout` is `900h`; expected between `1ms` and `596h`',
    ],
  ])('%s', async (_, target, expected) => {
    expect(await heads(`${base}  ${target}\n`)).toEqual([`targets.yaml:${expected}`]);
  });

  test('a command may make a diff: its tree is what counts', async () => {
    expect(
      await heads(
        `${base}  codemod: { needs: [plan], command: npx codemod, makes: diff, gates: [blast-radius] }\n`,
      ),
    ).toEqual([]);
  });
});

describe('a gate that nobody can pass', () => {
  const policy = '{ approval: { policy: { paths: [src/**], maxFiles: 1, maxLines: 1 } } }';
  test.each<[string, string, string]>([
    [
      'verdict without a review',
      'a: { needs: [diff], worker: w, makes: diff, gates: [not-empty, verdict] }',
      '8:66: nobody can pass `verdict` here: `a` gives none',
    ],
    [
      'blast-radius without a diff',
      'a: { needs: [plan], command: x, gates: [blast-radius] }',
      '8:43: nobody can pass `blast-radius` here: `a` makes no diff',
    ],
    [
      'not-empty without a diff',
      'a: { needs: [plan], worker: w, makes: notes, gates: [not-empty] }',
      '8:56: nobody can pass `not-empty` here: `a` makes no diff',
    ],
    [
      'blast-radius without a plan before it',
      'a: { needs: [ticket], worker: w, makes: diff, gates: [blast-radius] }',
      '8:57: nobody can pass `blast-radius` here: nothing before `a` makes a plan',
    ],
    [
      'a policy with nothing to judge',
      `a: { needs: [ticket], command: x, gates: [${policy}] }`,
      '8:45: no policy can approve `a`: neither it nor anything before it makes a plan or a diff',
    ],
    [
      'a policy without paths',
      'a: { needs: [plan], command: x, gates: [{ approval: { policy: { paths: [], maxFiles: 1, maxLines: 1 } } }] }',
      '8:74: `targets.a.gates[0].approval.policy.paths` is an empty list; expected at least one glob, otherwise nothing can pass',
    ],
    [
      'a policy with a limit of zero',
      'a: { needs: [plan], command: x, gates: [{ approval: { policy: { paths: [x], maxFiles: 0, maxLines: 1 } } }] }',
      '8:89: `targets.a.gates[0].approval.policy.maxFiles` is `0`; expected a whole number from 1 to 1000000',
    ],
    [
      'a policy without a limit',
      'a: { needs: [plan], command: x, gates: [{ approval: { policy: { paths: [x], maxFiles: 1 } } }] }',
      '8:57: `targets.a.gates[0].approval.policy.maxLines` is missing; expected a whole number from 1 to 100000000',
    ],
    [
      'a review without a diff',
      'a: { needs: [plan], worker: w, makes: review, gates: [verdict] }',
      '8:15: `a` reviews a diff, but nothing before it has `makes: diff`',
    ],
    [
      'a check that is no command',
      'a: { command: x, gates: [{ check: false }] }',
      '8:37: `targets.a.gates[0].check` is `false`; expected a command line, a list, or `{ name, run, timeout }`',
    ],
    [
      'two gates in one',
      'a: { command: x, gates: [{ check: x, approval: person }] }',
      '8:28: `targets.a.gates[0]` says more than one thing; expected `blast-radius`, `not-empty`, `verdict`, `approval: …` or `check: …`',
    ],
    [
      'a gate that does not exist',
      'a: { command: x, gates: [not-emtpy] }',
      '8:28: `targets.a.gates[0]` is `not-emtpy`; expected `blast-radius`, `not-empty`, `verdict`, `approval: …` or `check: …`',
    ],
  ])('%s', async (_, target, expected) => {
    expect(await heads(`${base}  ${target}\n`)).toEqual([`targets.yaml:${expected}`]);
  });

  test('a review with no pillars has nothing to answer', async () => {
    expect(await heads(`pillars: []\n${base}`)).toEqual([
      'targets.yaml:1:10: `pillars` is empty, so `review` has nothing to answer',
    ]);
  });
});

describe('steps', () => {
  test.each<[string, string, string]>([
    [
      'commit without a diff',
      'a: { needs: [plan], builtin: commit }',
      '8:15: `a` commits what was made and reviewed, but nothing before it has `makes: diff`',
    ],
    [
      'push without commit',
      'a: { needs: [review], builtin: push }',
      '8:15: `a` pushes the commit, but nothing before it has `builtin: commit`',
    ],
    [
      'land without push',
      'c: { needs: [review], builtin: commit }\n  a: { needs: [c], builtin: land }',
      '9:15: `a` lands what was pushed, but nothing before it has `builtin: push`',
    ],
    ['a second ticket', 'a: { builtin: ticket }', '8:17: `a` is a second `builtin: ticket` after `ticket`'],
    [
      'a plan beside the ticket instead of after it',
      'a: { worker: w, makes: plan }',
      '8:3: `a` needs a tree, but nothing before it has `builtin: ticket`',
    ],
    [
      'onReject to a target that does not exist',
      'a: { needs: [diff], worker: w, makes: review, gates: [verdict], onReject: dif }',
      '8:77: `onReject` of `a` is `dif`, and there is no such target',
    ],
    [
      'onReject to a target beside it',
      'a: { needs: [diff], worker: w, makes: review, gates: [verdict], onReject: review }',
      '8:77: `onReject` of `a` is `review`, which does not come before it; expected a target that it needs, directly or not',
    ],
    [
      'onReject to itself',
      'a: { needs: [diff], worker: w, makes: review, gates: [verdict], onReject: a }',
      '8:77: `onReject` of `a` is `a`, which does not come before it; expected a target that it needs, directly or not',
    ],
    [
      'onReject where nothing rejects',
      'a: { needs: [diff], command: x, onReject: diff }',
      '8:35: `onReject` of `a` has no effect: it has no gate and is no review',
    ],
    [
      'onReject to a foreach',
      'f: { foreach: [x, y], needs: [diff], command: x }\n  a: { needs: [f], command: x, gates: [{ check: y }], onReject: f }',
      '9:65: `onReject` of `a` is `f`, which stands for several targets',
    ],
  ])('%s', async (_, target, expected) => {
    expect(await heads(`${base}  ${target}\n`)).toEqual([`targets.yaml:${expected}`]);
  });

  test('everything that needs a tree asks for a ticket target', async () => {
    const text = base.replace('  ticket: { builtin: ticket }\n', '').replace('needs: [ticket]', 'needs: []');
    expect(await heads(`${text}  c: { needs: [review], builtin: commit }\n`)).toEqual(
      ['plan', 'diff', 'review', 'c'].map(
        (name, at) =>
          `targets.yaml:${at + 4}:${name.length + 14}: \`${name}\` needs a tree, but nothing before it has \`builtin: ticket\``,
      ),
    );
  });

  test('a name that nobody has is said once, not again by every rule behind it', async () => {
    expect(
      await heads(
        `${base.replace('needs: [plan]', 'needs: [plna]')}  c: { needs: [review], builtin: commit }\n`,
      ),
    ).toEqual(['targets.yaml:6:19: `diff` needs `plna`, and there is no such target']);
  });
});
