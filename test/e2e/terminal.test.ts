import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { planner } from '../helpers/fake-agents.js';
import { createRig, initRepository, TERMINAL, until, type Rig, type Running } from '../helpers/rig.js';

const PROMPT = /type "approve", "reject: WHY", or press Enter to decide later: $/;
const ESCAPE = '\u001B';

const initAirlock = (rig: Rig): void => {
  rig.program('planner', planner().replace('The plan.', "Plan '$ORCHESTRATE_ATTEMPT'. \\033[31mred\\033[0m"));
  initRepository(rig, {
    'tickets/320.md': '---\ntitle: A\n---\nDo it.\n',
    'targets.yaml': `name: own
workers: { planner: { adapter: command, command: [planner] } }
targets:
  ticket: { builtin: ticket }
  plan: { needs: [ticket], worker: planner, makes: plan, gates: [approval: person] }
  behind: { needs: [plan], command: "true" }
`,
  });
};

/** What a person reads there. */
const screen = (running: Running): string => stripVTControlCharacters(running.stdout());

/** Waits for a prompt after `from`; returns where the text ends now. */
const asks = async (running: Running, prompt: RegExp, from = 0): Promise<number> => {
  await until(() => prompt.test(screen(running).slice(from)), `${String(prompt)} at the end of the screen`);
  expect(screen(running)).not.toContain('Warning');
  return screen(running).length;
};

const answersIn = (rig: Rig) => rig.events().filter(({ type }) => type === 'approval.answered');

describe.skipIf(TERMINAL === undefined)(
  'at a terminal (skipped without `script` of util-linux or python3)',
  () => {
    test('run shows the bytes and asks; only the word approves, and it goes on', async () => {
      const rig = createRig();
      initAirlock(rig);
      const running = rig.start(['run', '320'], { terminal: true });
      let seen = await asks(running, PROMPT);
      expect(running.stdout()).toContain('| Plan 1.');
      expect(running.stdout()).not.toContain(`${ESCAPE}[31mred`);
      for (const answer of ['yes', 'y', 'APPROVE', 'approve it', 'reject', 'reject: ']) {
        running.type(`${answer}\r`);
        seen = await asks(running, PROMPT, seen);
        expect(answersIn(rig)).toEqual([]);
      }
      running.type('approve\r');
      expect((await running.ended).code).toBe(0);
      expect(answersIn(rig)).toEqual([
        expect.objectContaining({ answer: 'approved', by: 'person ada', how: 'tty' }),
      ]);
    });

    test('a rejection with its reason has the plan made again and asks about the new one; Enter decides later', async () => {
      const rig = createRig();
      initAirlock(rig);
      const running = rig.start(['run', '320'], { terminal: true });
      const seen = await asks(running, PROMPT);
      running.type('reject: too wide\r');
      const again = await asks(running, PROMPT, seen);
      expect(screen(running).slice(seen)).toContain('| Plan 2.');
      expect(rig.read('.orchestrate/320/children/01-plan.2/prompt.md')).toContain(
        '| rejected by person ada: too wide\n',
      );
      running.type('\r');
      expect((await running.ended).code).toBe(3);
      expect(screen(running).slice(again)).toContain(
        'orchestrate approve --ticket 320 --target plan --digest sha256:',
      );
      expect(answersIn(rig)).toEqual([
        expect.objectContaining({ answer: 'rejected', note: 'too wide', how: 'tty' }),
      ]);
    });

    test('approve shows the bytes and asks; silence and other words record nothing', async () => {
      const rig = createRig();
      initAirlock(rig);
      expect((await rig.run(['run', '320'])).code).toBe(3);
      for (const answer of ['yes\r', '\r', '\u0004']) {
        const running = rig.start(['approve', '320', 'plan'], { terminal: true });
        await asks(running, /type "approve" to record your answer for exactly these bytes: $/);
        expect(running.stdout()).toContain('| Plan 1.');
        running.type(answer);
        expect((await running.ended).code).toBe(3);
      }
      expect(answersIn(rig)).toEqual([]);
      const running = rig.start(['approve', '320', 'plan'], { terminal: true });
      await asks(running, /exactly these bytes: $/);
      running.type('approve\r');
      expect((await running.ended).code).toBe(0);
      expect(answersIn(rig)).toEqual([expect.objectContaining({ answer: 'approved', how: 'tty' })]);
    });

    test('an airlock on plain files shows them by digest, and the end of the output', async () => {
      const rig = createRig();
      initRepository(rig, {
        'targets.yaml':
          'targets: { build: { command: "echo built > app.out; echo all good", outputs: [app.out], gates: [approval: person] } }\n',
      });
      const running = rig.start(['run', 'x'], { terminal: true });
      await asks(running, PROMPT);
      expect(screen(running)).toMatch(/\| app\.out sha256:[0-9a-f]{64}\r?\n\|\r?\n\| all good\r?\n/);
      running.type('approve\r');
      expect((await running.ended).code).toBe(0);
    });

    test.each([
      ['run', PROMPT],
      ['approve', /exactly these bytes: $/],
    ])('Ctrl-C at the question of `%s` interrupts, and the airlock stays shut', async (command, prompt) => {
      const rig = createRig();
      initAirlock(rig);
      await rig.run(['run', '320']);
      const running = rig.start([command, '320'], { terminal: true });
      await asks(running, prompt);
      running.type('\u0003');
      expect((await running.ended).code).toBe(130);
      expect((await rig.run(['run', '320'])).code).toBe(3);
      expect(answersIn(rig)).toEqual([]);
    });

    test('--json asks nobody; colour is for terminals, never with NO_COLOR', async () => {
      const rig = createRig();
      initAirlock(rig);
      const json = await rig.run(['run', '320', '--json'], { terminal: true, stdin: '' });
      expect(json.code).toBe(3);
      expect(json.stdout).not.toMatch(PROMPT);
      const status = (env: Record<string, string>) =>
        rig.run(['status', '320'], { terminal: true, stdin: '', env });
      expect((await status({ TERM: 'xterm' })).stdout).toContain(ESCAPE);
      expect((await status({ TERM: 'xterm', NO_COLOR: '1' })).stdout).not.toContain(ESCAPE);
      expect((await status({ TERM: 'dumb' })).stdout).not.toContain(ESCAPE);
    });
  },
);
