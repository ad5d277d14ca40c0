import { appendFileSync, chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { planner } from '../helpers/fake-agents.js';
import { createRig, initRepository, type Ended, type Rig } from '../helpers/rig.js';

/** Its plan names the attempt, so that each plan has other bytes; the prompt is kept. */
const PLANNER = planner()
  .replace('cat > /dev/null', 'cat > "$ORCHESTRATE_OUT/prompt"')
  .replace('The plan.', "Plan '$ORCHESTRATE_ATTEMPT'.");

/** Ticket, plan with an airlock, and a command behind it that leaves a trace. */
const initAirlock = (rig: Rig): void => {
  rig.program('planner', PLANNER);
  initRepository(rig, {
    'tickets/320.md': '---\ntitle: A\n---\nDo it.\n',
    'targets.yaml': `name: own
workers: { planner: { adapter: command, command: [planner] } }
targets:
  ticket: { builtin: ticket }
  plan: { needs: [ticket], worker: planner, makes: plan, gates: [approval: person], latch: true }
  behind: { needs: [plan], command: touch ${rig.dir}/behind }
`,
  });
};

const waiting = async (
  rig: Rig,
  options: { readonly cwd?: string; readonly args?: readonly string[] } = {},
) => {
  const ended = await rig.run([...(options.args ?? []), 'run', '--ticket', '320'], options);
  expect(ended).toMatchObject({ code: 3, stderr: '' });
  return printed(ended);
};

/** The commands that a waiting run prints, as words for the binary. */
const printed = ({ stdout }: Ended) => {
  const commands = [...stdout.matchAll(/^ {2}orchestrate (\S.*)$/gm)].map(([, line]) => line ?? '');
  const digest = /sha256:[0-9a-f]{64}/.exec(commands[0] ?? '')?.[0] ?? '';
  return {
    approve: commands[0] ?? '',
    reject: commands[1] ?? '',
    goOn: /go on with `orchestrate ([^`]*)`/.exec(stdout)?.[1] ?? '',
    digest,
  };
};

const approveWith = (rig: Rig, digest: string, ...more: string[]): Promise<Ended> =>
  rig.run(['approve', '--ticket', '320', '--target', 'plan', '--digest', digest, ...more]);

const OTHER = `sha256:${'a'.repeat(64)}`;

describe('a run that needs a person', () => {
  test('exits 3 and prints the very commands that answer it and go on', async () => {
    const rig = createRig();
    initAirlock(rig);
    const { approve, goOn } = await waiting(rig);
    expect(existsSync(join(rig.dir, 'behind'))).toBe(false);
    expect(await rig.run(approve.split(' '))).toMatchObject({ code: 0, stderr: '' });
    expect(await rig.run(goOn.split(' '))).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(join(rig.dir, 'behind'))).toBe(true);
    expect(rig.events().filter(({ type }) => type === 'approval.answered')).toEqual([
      expect.objectContaining({ answer: 'approved', by: 'person ada', how: 'command' }),
    ]);
    expect(rig.read('.orchestrate/320/state/20_plan_approved.md')).toMatch(/^approvedBy: "person ada"$/m);
  });

  test('the printed commands work where the user stands: elsewhere with -C', async () => {
    const rig = createRig();
    initAirlock(rig);
    const cwd = join(rig.dir, 'else where');
    mkdirSync(cwd);
    const { approve, reject, goOn } = await waiting(rig, { cwd, args: ['-C', '../repo'] });
    expect(approve).toMatch(/^-C \.\.\/repo approve /);
    expect(reject).toMatch(/^-C \.\.\/repo reject /);
    const status = JSON.parse(
      (await rig.run(['-C', '../repo', 'status', '--ticket', '320', '--json'], { cwd })).stdout,
    ) as {
      readonly waitingFor: { readonly command: string };
    };
    expect(status.waitingFor.command).toBe(`orchestrate ${approve}`);
    expect(await rig.run(approve.split(' '), { cwd })).toMatchObject({ code: 0, stderr: '' });
    expect(await rig.run(goOn.split(' '), { cwd })).toMatchObject({ code: 0, stderr: '' });
  });

  test('a second run asks again and starts nothing', async () => {
    const rig = createRig();
    initAirlock(rig);
    const first = await waiting(rig);
    const events = rig.events();
    expect(await waiting(rig)).toEqual(first);
    expect(rig.events()).toEqual(events);
  });
});

describe('approve', () => {
  test('another digest is refused with 4, and the message has the right one', async () => {
    const rig = createRig();
    initAirlock(rig);
    const { digest } = await waiting(rig);
    const { code, stdout, stderr } = await approveWith(rig, OTHER);
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain(digest);
    expect((await rig.run(['run', '320'])).code).toBe(3);
  });

  test('off a terminal the digest is required; what is typed into a pipe is no answer', async () => {
    const rig = createRig();
    initAirlock(rig);
    const { approve } = await waiting(rig);
    const { code, stderr } = await rig.run(['approve', '--ticket', '320', '--target', 'plan'], {
      stdin: 'approve\n',
    });
    expect(code).toBe(2);
    expect(stderr).toContain(`next: orchestrate ${approve}\n`);
    expect((await rig.run(['run', '320'], { stdin: 'approve\n' })).code).toBe(3);
  });

  test('an answer counts once', async () => {
    const rig = createRig();
    initAirlock(rig);
    const { digest } = await waiting(rig);
    expect((await approveWith(rig, digest, '--note', 'good')).code).toBe(0);
    const again = await approveWith(rig, digest);
    expect(again.code).toBe(4);
    expect(again.stderr).toContain('answered');
    expect(rig.events().filter(({ type }) => type === 'approval.answered')).toHaveLength(1);
  });

  test('a plan that was changed on the disk cannot be approved', async () => {
    const rig = createRig();
    initAirlock(rig);
    const { digest } = await waiting(rig);
    const plan = join(rig.repo, '.orchestrate/320/artifacts/plan.md');
    chmodSync(plan, 0o644);
    appendFileSync(plan, 'And one thing more.\n');
    const { code, stderr } = await approveWith(rig, digest);
    expect(code).toBe(4);
    expect(stderr).toContain('plan.md');
    // Rejected, it is made again.
    expect(
      (await rig.run(['reject', '320', 'plan', '--digest', digest, '--note', 'somebody changed it'])).code,
    ).toBe(0);
    const again = await waiting(rig);
    expect(again.digest).not.toBe(digest);
    expect(existsSync(join(rig.dir, 'behind'))).toBe(false);
  });

  test('files that a command made: the answer is for their bytes; changed after it, they are refused and made again', async () => {
    const rig = createRig();
    initRepository(rig, {
      'targets.yaml': `targets:
  build: { command: echo built > app.out, outputs: [app.out], gates: [approval: person] }
  deploy: { needs: [build], command: cp app.out ${rig.dir}/deployed }
`,
    });
    const ask = async (): Promise<string> => {
      const ended = await rig.run(['run', 'x']);
      expect(ended).toMatchObject({ code: 3, stderr: '' });
      expect(ended.stdout).toContain(
        'waiting for a person: look at `app.out` (`orchestrate logs --ticket x build`), then\n',
      );
      return printed(ended).approve;
    };
    expect((await rig.run((await ask()).split(' '))).code).toBe(0);
    rig.write({ 'app.out': 'evil' });
    const { code, stderr } = await rig.run(['run', 'x']);
    expect(code).toBe(4);
    expect(stderr).toContain('`app.out` was changed after it was made');
    expect(rig.has('../deployed')).toBe(false);
    expect((await rig.run((await ask()).split(' '))).code).toBe(0);
    expect((await rig.run(['run', 'x'])).code).toBe(0);
    expect(rig.read('../deployed')).toBe('built\n');
  });

  test('nothing that runs inside a worker can answer', async () => {
    const rig = createRig();
    initAirlock(rig);
    const { approve, reject } = await waiting(rig);
    for (const command of [approve, reject, 'tell --ticket 320 let-me-in']) {
      const { code, stderr } = await rig.run(command.split(' '), {
        env: { ORCHESTRATE_CHILD: '320.plan.1.1' },
      });
      expect(code).toBe(4);
      expect(stderr).toContain('inside a worker');
    }
    expect((await rig.run(['run', '320'])).code).toBe(3);
  });

  test('what cannot be understood is usage, and records nothing', async () => {
    const rig = createRig();
    initAirlock(rig);
    const { digest } = await waiting(rig);
    const answer = (target: string, value: string) => [
      '--ticket',
      '320',
      '--target',
      target,
      '--digest',
      value,
    ];
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [['approve', ...answer('plan', 'sha256:12')], /`sha256:12` is not a digest/],
      [['approve', ...answer('plan', 'latest')], /`latest` is not a digest/],
      [['approve', ...answer('plan', '')], /is not a digest/],
      [['approve', ...answer('behind', OTHER)], /`behind` does not wait/],
      [['approve', ...answer('plam', OTHER)], /no target `plam`/],
      [
        ['approve', '--ticket', '999', '--target', 'plan', '--digest', OTHER],
        /no run here \(there are: 320\)/,
      ],
      [['approve', '--target', 'plan', '--digest', OTHER], /no ticket was named/],
      [['approve', '--yes', '--ticket', '320'], /no option `--yes`/],
      [['reject', ...answer('plan', digest)], /--note/],
      [['reject', ...answer('plan', digest), '--note', ''], /--note/],
      [['reject', ...answer('plan', digest), '--note', '  '], /--note/],
    ];
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await rig.run(args);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toMatch(message);
    }
    expect(rig.read('.orchestrate/320/journal.jsonl')).not.toContain('approval.answered');
  });
});

describe('reject', () => {
  // FIELD: reject + redraft, next `run` auto-resumed and treated the gate as approved; side effects fired.
  test('the next run plans again with the note in its prompt, asks about the new bytes, and does nothing else', async () => {
    const rig = createRig();
    initAirlock(rig);
    const first = await waiting(rig);
    const note = 'keep the old name: "größe"';
    expect(
      (
        await rig.run([
          'reject',
          '--ticket',
          '320',
          '--target',
          'plan',
          '--digest',
          first.digest,
          '--note',
          note,
        ])
      ).code,
    ).toBe(0);
    const second = await waiting(rig);
    expect(second.digest).not.toBe(first.digest);
    expect(rig.read('.orchestrate/320/children/01-plan.2/prompt.md')).toContain(
      `| rejected by person ada: ${note}\n`,
    );
    expect(rig.read('.orchestrate/320/children/01-plan.2/out/prompt')).toContain(note);
    expect(existsSync(join(rig.dir, 'behind'))).toBe(false);
    expect(rig.has('.orchestrate/320/state/20_plan_approved.md')).toBe(false);

    // The old digest opens nothing, and neither does another run.
    expect((await approveWith(rig, first.digest)).code).toBe(4);
    expect((await rig.run(['run', '320'])).code).toBe(3);
    expect((await approveWith(rig, second.digest)).code).toBe(0);
    expect((await rig.run(['run', '320'])).code).toBe(0);
    expect(rig.events().filter(({ type }) => type === 'approval.answered')).toEqual([
      expect.objectContaining({ answer: 'rejected', note }),
      expect.objectContaining({ answer: 'approved', digest: second.digest }),
    ]);
  });
});
