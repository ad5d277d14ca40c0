import { expect, test } from 'vitest';
import { builder, initWithAgents } from '../helpers/fake-agents.js';
import { createRig, makeGate, prepareDemo, until, type Event, type Rig } from '../helpers/rig.js';

const remote = (rig: Rig, ...args: string[]): string =>
  rig.gitIn(rig.git('remote', 'get-url', 'origin'), ...args);

test(
  "two tickets of the sample run side by side with --jobs 2 by a policy of one's own; both land, nothing is mixed",
  { timeout: 60_000 },
  async () => {
    const rig = createRig();
    await prepareDemo(rig);
    rig.write({
      'own.yaml': `extends: targets.yaml
name: by-policy
targets:
  approved-plan:
    gates: [{ approval: { policy: { paths: ["src/**", "test/**", "docs/**"], maxFiles: 6, maxLines: 200 } } }]
`,
    });
    const { code, stdout } = await rig.run([
      'run',
      '--file',
      'own.yaml',
      '--ticket',
      '320',
      '--ticket',
      '321',
      '--jobs',
      '2',
    ]);
    expect(code).toBe(0);
    // Each line says whose it is.
    const lines = stdout.trimEnd().split('\n');
    expect(lines.filter((line) => !/^32[01] {2}/.test(line))).toEqual([]);
    expect(lines.filter((line) => line.includes('9 of 9 targets are up to date'))).toHaveLength(2);

    const tree = (ticket: string): string =>
      /receipt: tree ([0-9a-f]{40})[\s\S]*?\n\n?$/.exec(
        rig.read(`.orchestrate/${ticket}/state/30_critic_summary.md`).split('## Round').at(-1) ?? '',
      )?.[1] ?? '';
    for (const [own, other] of [
      ['320', '321'],
      ['321', '320'],
    ] as const) {
      const branch = `refs/heads/orchestrate/${own}`;
      expect(remote(rig, 'rev-parse', `${branch}^{tree}`)).toBe(tree(own));
      expect(remote(rig, 'merge-base', '--is-ancestor', branch, 'main')).toBe('');
      expect(remote(rig, 'log', '-1', '--format=%(trailers:key=Ticket,valueonly)', branch).trim()).toBe(own);
      expect(
        rig
          .events(own)
          .filter((event) => event['ticket'] !== undefined)
          .map((event) => event['ticket']),
      ).toEqual([own]);
      const record = [
        'journal.jsonl',
        'state/10_ticket.md',
        'state/20_plan_approved.md',
        'state/99_next_action.md',
      ].map((path) => rig.read(`.orchestrate/${own}/${path}`));
      for (const text of [
        ...record,
        rig.read(`.orchestrate/${own}/children/03-implementation-diff.1/prompt.md`),
      ]) {
        expect(text).not.toContain(`orchestrate/${other}`);
        expect(text).not.toContain(`ticket ${other}`);
        expect(text).not.toContain(`"${other}"`);
      }
    }
    expect(rig.git('status', '--porcelain')).toBe('?? own.yaml');
  },
);

/** From the start of each child of a ticket to its end, as the journal has it. */
const spans = (rig: Rig, ticket: string): readonly (readonly [string, string])[] => {
  const lines = rig
    .read(`.orchestrate/${ticket}/journal.jsonl`)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly at: string; readonly event: Event });
  const found: [string, string][] = [];
  for (const { at, event } of lines) {
    if (event.type === 'target.started' && event['child'] !== undefined) found.push([at, '']);
    if (event.type === 'child.ended') found.push([found.pop()?.[0] ?? '', at]);
  }
  return found;
};

test('--jobs is for the children of all tickets together; a ticket that fails does not stop the other', async () => {
  const rig = createRig();
  initWithAgents(rig, { builder: builder('echo more >> a.txt; [ "$ORCHESTRATE_TICKET" = 320 ] || exit 1') });
  const { code, stdout, stderr } = await rig.run(['run', '320', '321', '--jobs', '1']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^321 {2}error: implementation-diff: exit status 1\n/);
  expect(stdout).toMatch(/^320 {2}9 of 9 targets are up to date$/m);
  const all = [...spans(rig, '320'), ...spans(rig, '321')].toSorted(([a], [b]) => (a < b ? -1 : 1));
  expect(all).toHaveLength(4 + 3);
  for (const [index, [, end]] of all.slice(0, -1).entries())
    expect((all[index + 1]?.[0] ?? '') >= end).toBe(true);
});

test('with --jobs 2 two builders are there at the same time', async () => {
  const rig = createRig();
  const met = (ticket: string): string => `[ -e ${rig.dir}/met-${ticket} ]`;
  initWithAgents(rig, {
    builder: builder(
      `touch ${rig.dir}/met-$ORCHESTRATE_TICKET; until ${met('320')} && ${met('321')}; do :; done; echo more >> a.txt`,
    ),
  });
  expect((await rig.run(['run', '320', '321', '--jobs', '2', '--until', 'implementation-diff'])).code).toBe(
    0,
  );
});

test('a second run of a ticket that is being run is busy: 5, with pid and start time; another ticket is not', async () => {
  const rig = createRig();
  const gate = makeGate(rig);
  initWithAgents(rig, {
    builder: builder(
      `echo more >> a.txt; [ "$ORCHESTRATE_TICKET" = 321 ] || { echo > ${rig.dir}/there; read line < ${gate.path}; }`,
    ),
  });
  const first = rig.start(['run', '320']);
  await until(() => rig.has('../there'), 'the builder of 320');
  const second = await rig.run(['run', '320']);
  expect(second.code).toBe(5);
  expect(second.stderr).toMatch(new RegExp(`being run by process ${first.pid} \\(start time \\d+, since 20`));
  expect((await rig.run(['approve', '320', '--digest', `sha256:${'a'.repeat(64)}`])).code).toBe(5);
  expect((await rig.run(['run', '321'])).code).toBe(0);
  const status = JSON.parse((await rig.run(['status', '--json'])).stdout) as {
    readonly runs: readonly { readonly ticket: string; readonly state: string }[];
  };
  expect(status.runs.map(({ ticket, state }) => [ticket, state])).toEqual([
    ['320', 'running'],
    ['321', 'done'],
  ]);
  await gate.open();
  expect((await first.ended).code).toBe(0);
});
