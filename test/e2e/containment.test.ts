import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { builder, critic, initWithAgents, planner, RETURN } from '../helpers/fake-agents.js';
import { exists } from '../helpers/gate.js';
import { CLI, createRig, type Rig } from '../helpers/rig.js';
import { boxed as test } from '../helpers/sandboxes.js';

const run = (rig: Rig, ...more: string[]) => rig.run(['run', '--ticket', '320', ...more]);

/** Runs the binary on a machine on which bubblewrap is not installed. */
const WITHOUT_SANDBOX = ['bwrap', '--dev-bind', '/', '/', '--ro-bind', '/dev/null', '/usr/bin/bwrap', '--'];

const containmentsOf = (rig: Rig): string[] =>
  rig
    .events()
    .filter((event) => event['containment'] !== undefined)
    .map((event) => {
      const { tier } = event['containment'] as { readonly tier: string };
      return `${event.type} ${event.target ?? ''} ${tier}`;
    });

const nothingLanded = (rig: Rig): void => {
  expect(rig.git('branch', '--list', 'orchestrate/*')).toBe('');
  expect(rig.gitIn(join(rig.dir, 'origin.git'), 'rev-parse', 'main')).toBe(rig.git('rev-parse', 'main'));
};

/** Tries what a worker must not be able to, and puts what worked into the diff. */
const SNOOPER = `
try() { if "$@" >/dev/null 2>&1; then echo "$*" >> a.txt; fi; }
try cat "$HOME/.ssh/id_test"
try ls "$ROOT/.orchestrate/320/journal.jsonl"
try ls "$ROOT/.orchestrate/320/state/00_governance.md"
try ls "$ROOT/.orchestrate/store.git"
try ls "$ROOT/.orchestrate/320/children/02-approved-plan.1"
try ls "$STATE_HOME/key"

try sh -c 'kill -0 $PPID_OF_RUN'
echo "in the tree" >> a.txt
`;

test('in a sandbox a worker has its tree and its results, and neither the record nor the rest of the user', async () => {
  const rig = createRig();
  mkdirSync(join(rig.home, '.ssh'));
  writeFileSync(join(rig.home, '.ssh', 'id_test'), 'secret');
  initWithAgents(rig, {
    sandbox: 'required',
    settings: 'env: [ROOT, STATE_HOME]',
    builder: builder(SNOOPER),
    targets: `  implementation-diff:
    gates: [not-empty, { check: { name: snoop, run: 'test ! -e "$HOME/.ssh" && test ! -e "$ROOT/.orchestrate" && cat a.txt' } }]
`,
  });
  const env = { ROOT: rig.repo, STATE_HOME: rig.env['ORCHESTRATE_HOME'] };
  const ended = await rig.run(['run', '--ticket', '320'], { env });
  expect(ended.code, ended.stderr).toBe(0);
  expect(rig.git('show', 'orchestrate/320:a.txt')).toBe('one\nin the tree');
  expect(containmentsOf(rig)).toEqual([
    'target.started approved-plan sandbox',
    'target.started implementation-diff sandbox',
    'gate.answered implementation-diff sandbox',
    'target.started adversarial-review sandbox',
    'target.started post-mortem sandbox',
  ]);
  expect(rig.read('.orchestrate/320/state/30_critic_summary.md')).toMatch(/^sandbox: bubblewrap \d/m);
});

test('where there is no sandbox, `required` starts nothing, and `auto` warns and has the tier in the record', async () => {
  const rig = createRig();
  initWithAgents(rig, { sandbox: 'required' });
  const refused = await rig.run(['run', '--ticket', '320'], { under: WITHOUT_SANDBOX });
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/sandbox is required, and there is none: .*bubblewrap[\s\S]*next: /);
  expect(rig.has('.orchestrate')).toBe(false);
  rig.write({ 'targets.yaml': rig.read('targets.yaml').replace('sandbox: required', 'sandbox: auto') });
  const warned = await rig.run(['run', '--ticket', '320'], { under: WITHOUT_SANDBOX });
  expect(warned.code, warned.stderr).toBe(0);
  expect(warned.stderr).toMatch(/warning: .*without a sandbox/);
  expect(new Set(containmentsOf(rig).map((line) => line.split(' ')[2]))).toEqual(new Set(['same-user']));
  expect(rig.read('.orchestrate/320/state/30_critic_summary.md')).toMatch(/^without a sandbox: /m);
});

test('a worker that changes how git behaves is found by the fingerprint, and nothing of it is believed', async () => {
  const rig = createRig();
  const change = `git config --file "${rig.repo}/.git/config" core.fsmonitor /bin/true; echo more >> a.txt`;
  initWithAgents(rig, { builder: builder(change) });
  const refused = await run(rig);
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain(
    `the administration of git, or the pipeline, was changed while a child was running: \`${rig.repo}/.git/config\``,
  );
  nothingLanded(rig);
  rig.git('config', '--unset', 'core.fsmonitor');
  rig.program('builder', builder());
  const ended = await run(rig);
  expect(ended.code, ended.stderr).toBe(0);
});

test('a check that writes into the record is found out, and so is one that changes git', async () => {
  const rig = createRig();
  initWithAgents(rig, {
    builder: builder(`printf 'echo forged >> "${rig.repo}/.orchestrate/320/journal.jsonl"\\n' > check.sh`),
    targets: `  implementation-diff:
    gates: [not-empty, { check: sh check.sh }]
`,
  });
  const refused = await run(rig);
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain('the journal was changed while a child was running');
  nothingLanded(rig);
});

test('a check sees the ignored files that the pipeline lists, from the checkout of the user, and no others', async () => {
  const rig = createRig();
  const look = 'echo "$(cat deps/lib.txt) $(ls) $(ls -A cache 2>&1 | head -c 40)"';
  initWithAgents(rig, {
    sandbox: 'auto',
    settings: 'ignored: [deps, missing]',
    builder: builder(
      'cat deps/lib.txt >> a.txt; echo poisoned > deps/lib.txt; mkdir cache; echo c > cache/c',
    ),
    targets: `  implementation-diff:
    gates: [not-empty, { check: { name: look, run: '${look}; grep -qx mine deps/lib.txt && test ! -e cache' } }]
`,
  });
  rig.write({ '.gitignore': 'deps\ncache\n', 'deps/lib.txt': 'mine\n', 'cache/own.txt': 'x\n' });
  rig.git('add', '.gitignore');
  rig.git('commit', '-qm', 'Ignore');
  rig.git('push', '-q');
  const ended = await run(rig);
  expect(ended.code, ended.stderr).toBe(0);
  // The worker had a copy of its own; what it did to it reached neither the check nor the user nor the commit.
  expect(rig.git('show', 'orchestrate/320:a.txt')).toBe('one\nmine');
  expect(rig.read('deps/lib.txt')).toBe('mine\n');
  expect(rig.git('ls-tree', '-r', '--name-only', 'orchestrate/320')).not.toContain('deps');
});

test('a critic without a sandbox that outlived its orchestrator is not believed but asked again', async () => {
  const rig = createRig();
  initWithAgents(rig, { critic: critic(gated(rig)) });
  const first = rig.start(['run', '--ticket', '320']);
  await exists(join(rig.dir, 'there'));
  first.kill('SIGKILL');
  await first.ended;
  writeFileSync(join(rig.dir, 'go'), '');
  const ended = await run(rig);
  expect(ended.code, ended.stderr).toBe(0);
  expect(ended.stdout).toContain(
    'the orchestrator that listened to this critic is gone, so a fresh one is asked',
  );
  expect(
    rig.events().filter(({ type, target }) => type === 'target.started' && target === 'adversarial-review'),
  ).toHaveLength(2);
});

test('a critic in a sandbox that outlived its orchestrator is waited for again and believed', async () => {
  const rig = createRig();
  const rule = `{ mode: required, write: ["${rig.dir}/meeting"] }`;
  mkdirSync(join(rig.dir, 'meeting'));
  initWithAgents(rig, { sandbox: rule, critic: critic(gated(rig, 'meeting')) });
  const first = rig.start(['run', '--ticket', '320']);
  await exists(join(rig.dir, 'meeting', 'there'));
  first.kill('SIGKILL');
  await first.ended;
  writeFileSync(join(rig.dir, 'meeting', 'go'), '');
  const ended = await run(rig);
  expect(ended.code, ended.stderr).toBe(0);
  expect(
    rig.events().filter(({ type, target }) => type === 'target.started' && target === 'adversarial-review'),
  ).toHaveLength(1);
});

/** JavaScript of a critic that waits, by a change notice, until the test lets it go. */
const gated = (rig: Rig, folder = '.'): string => {
  const dir = join(rig.dir, folder);
  return `fs.writeFileSync('${dir}/there', '');
const go = '${dir}/go';
if (!fs.existsSync(go)) {
  const watcher = fs.watch('${dir}', () => fs.existsSync(go) && (watcher.close(), finish()));
  if (fs.existsSync(go)) { watcher.close(); finish(); }
} else finish();
function finish() {
  const text = JSON.stringify(returned) + '\\n';
  if (process.env.ORCHESTRATE_RETURN === '-') process.stdout.write(text);
  else fs.writeFileSync(process.env.ORCHESTRATE_RETURN, text);
}
if (true) return;`;
};

test('an approval is refused while a worker without a sandbox is alive, and from whoever a worker started', async () => {
  const rig = createRig();
  initWithAgents(rig, {
    planner: planner(),
    targets: `  approved-plan:
    gates: [{ approval: person }]
  beside:
    number: 90
    needs: [ticket]
    worker: beside
    makes: notes
`,
  });
  execFileSync('mkfifo', [join(rig.dir, 'go')]);
  rig.program(
    'beside',
    `#!/bin/sh
env -u ORCHESTRATE_CHILD "${process.execPath}" "${CLI}" approve --ticket 320 --target approved-plan --digest sha256:${'0'.repeat(64)} > "${rig.dir}/tried" 2>&1
echo "exit $?" >> "${rig.dir}/tried"
touch "${rig.dir}/there"
read line < "${rig.dir}/go"
${RETURN.replace('done', 'no-change')}
`,
  );
  rig.write({
    'targets.yaml': rig
      .read('targets.yaml')
      .replace('  scribe: {', '  beside: { adapter: command, command: [beside] }\n  scribe: {')
      .replace(/  approved-plan:\n    gates: .*policy.*\n/, ''),
  });
  const first = rig.start(['run', '--ticket', '320']);
  await exists(join(rig.dir, 'there'));
  const waiting = () =>
    rig.has('.orchestrate/320/artifacts/plan.md') &&
    rig.events().some(({ type }) => type === 'gate.answered');
  await expect.poll(waiting, { timeout: 20_000 }).toBe(true);
  expect(readFileSync(join(rig.dir, 'tried'), 'utf8')).toMatch(
    /an approval cannot come from inside a worker[\s\S]*exit 4/,
  );
  first.kill('SIGKILL');
  await first.ended;
  const asked = rig.events().find(({ type }) => type === 'gate.answered');
  const approve = [
    'approve',
    '--ticket',
    '320',
    '--target',
    'approved-plan',
    '--digest',
    String(asked?.['digest']),
  ];
  const refused = await rig.run(approve);
  expect(refused.code).toBe(4);
  expect(refused.stderr).toMatch(
    /an answer does not count while a worker without a sandbox is alive: `90-beside\.1` of ticket `320` \(process \d+\)/,
  );
  writeFileSync(join(rig.dir, 'go'), 'go\n');
  await exists(join(rig.repo, '.orchestrate/320/children/90-beside.1/exit.json'));
  await expect.poll(async () => (await rig.run(approve)).code, { timeout: 10_000 }).toBe(0);
  expect(rig.events().find(({ type }) => type === 'approval.answered')).toMatchObject({
    how: 'command',
    from: expect.stringMatching(/^host \S+, no terminal$/),
  });
});
