import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { childMarker } from '../../orchestrator/model/child.js';
import { initWithAgents } from '../helpers/fake-agents.js';
import { quickEnv, quickTicket } from '../helpers/quick-ticket.js';
import { createRig } from '../helpers/rig.js';

const QUICK = join(import.meta.dirname, '../fixtures/agents/quick-agent.sh');

const RUN = '"$ORCHESTRATE_OUT/../../.."';

test.each([
  [
    'rewrites 10',
    `chmod u+w ${RUN}/state/10_ticket.md; echo more >>${RUN}/state/10_ticket.md`,
    '10_ticket.md',
  ],
  [
    'approves itself in 30',
    `echo '## Round 1: APPROVED, 0 blockers' >>${RUN}/state/30_critic_summary.md`,
    undefined,
  ],
  [
    'moves the program counter',
    `sed -i 's/^Next Permitted Action: .*/Next Permitted Action: push/' ${RUN}/state/99_next_action.md`,
    '99_next_action.md',
  ],
  ['removes the laws', `rm -f ${RUN}/state/00_governance.md`, '00_governance.md'],
  ['adds to the journal', `echo '{"v":1}' >>${RUN}/journal.jsonl`, 'journal'],
])(
  'a builder that %s is refused with 4 when it ends, by name, and nothing is committed',
  async (_, deed, named) => {
    const rig = createRig();
    const agent = join(rig.dir, 'agent.sh');
    writeFileSync(agent, `#!/bin/sh\n[ "$ORCHESTRATE_MAKES" != diff ] || { ${deed}; }\nexec ${QUICK}\n`);
    chmodSync(agent, 0o755);
    quickTicket(rig, { agent });
    const ended = await rig.run(['run', '--ticket', '1'], { env: quickEnv(rig) });
    expect(ended.code, ended.stdout).toBe(4);
    expect(ended.stderr).toContain(named ?? '30_critic_summary.md');
    expect(ended.stdout).not.toContain('gate');
    expect(rig.git('branch', '--list', 'orchestrate/*')).toBe('');
    const again = await rig.run(['run', '--ticket', '1'], { env: quickEnv(rig) });
    expect(again.code, again.stdout).toBe(4);
  },
);

test('no critic is asked while a process of the builder is there that could not be ended', async () => {
  const rig = createRig();
  initWithAgents(rig);
  const stray = spawn('sleep', ['60'], {
    env: { ...rig.env, ORCHESTRATE_CHILD: `${childMarker(rig.repo, '320', 'implementation-diff')}9.1` },
    stdio: 'ignore',
  });
  await once(stray, 'spawn');
  const refused = await rig.run(['run', '--ticket', '320']);
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain(
    `a process of \`implementation-diff\` is still there and could not be ended: ${stray.pid}`,
  );
  stray.kill('SIGKILL');
  await once(stray, 'exit');
  const ended = await rig.run(['run', '--ticket', '320']);
  expect(ended.code, ended.stderr).toBe(0);
});
