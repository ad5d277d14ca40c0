/** `attack` as a user calls it: the built-in pipeline in both tiers, and pipelines of one's own. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contents, createRig, initRepository, until, type Ended, type Rig } from '../helpers/rig.js';

interface Attack {
  readonly id: string;
  readonly tier: string | null;
  readonly result: string;
  readonly by: string;
  readonly reason: string;
}

interface Report {
  readonly passed: boolean;
  readonly tiers: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly attacks: readonly Attack[];
  readonly limits: string;
}

const reportOf = ({ stdout }: Ended): Report => JSON.parse(stdout) as Report;

/** Row by row, the letter of the defence; `-` for what that tier cannot stop. */
const SAME_USER = `V1 P, V2 T, V3a T, V3b N, V4a W, V4b N, 1 P, 2 P, 3 T, 4 T, 5 T, 6 N, 7 N, 8a G, 8b G, 8c G, 9 G, 10 G, 11 W, 12 W,
13a W, 13b F, 13c W, 14 W, 15 W, 16a W, 16b T, 17 W, 18 S, 19 -, 20 -, 21a H, 21b H, 21c H, 21d -, 22 P, 22b -, 23 G, 24a P, 24b P, 25 G,
26 P, 27a P, 27b P, 28 T, 29 T, 30 T, 31 T, 32 T, 33 T, 34 T, 35 T, 36 T, 37 T, 38 T, 39 T, 40 T, 41 T, 42 T, 43 T, 44 T, 45 T, 46 T, 47 T,
48 T, 49 T, 50 -, 51 -, 52 T, 53 T, 54 T, 55 S, 56a G, 56b -, 57 S`;

const SANDBOX = `V1 S, V2 T, V3a T, V3b N, V4a W, V4b S, 1 P, 2 S, 3 T, 4 T, 5 S, 6 N, 7 N, 8a G, 8b G, 8c G, 9 G, 10 G, 11 S, 12 S,
13a W, 13b F, 13c W, 14 S, 15 S, 16a S, 16b S, 17 W, 18 S, 19 S, 20 S, 21a S, 21b S, 21c S, 21d S, 22 S, 22b S, 23 G, 24a S, 24b S, 25 G,
26 S, 27a S, 27b S, 28 T, 29 T, 30 T, 31 T, 32 T, 33 T, 34 T, 35 T, 36 T, 37 T, 38 T, 39 T, 40 T, 41 S, 42 T, 43 T, 44 T, 45 T, 46 T, 47 T,
48 T, 49 T, 50 -, 51 -, 52 T, 53 T, 54 T, 55 S, 56a G, 56b -, 57 S`;

const expected = (text: string): string[] => text.split(/,\s*/).toSorted();

const found = (attacks: readonly Attack[]): string[] =>
  attacks
    .filter(({ result }) => result !== 'not applicable')
    .map(({ id, result, by, reason }) => {
      if (result === 'refused') return `${id} ${by.charAt(0)}`;
      return result === 'not stopped in this tier' ? `${id} -` : `${id} ${result}: ${reason}`;
    })
    .toSorted();

/** Hidden ones have a clean environment, but their folder is below ours. */
const processesBelow = (dir: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(dir, 'tmp'));
    } catch {
      return false;
    }
  });

describe('the built-in pipeline', () => {
  const cleanups: (() => void)[] = [];
  const ended = new Map<string, Ended>();
  let rig: Rig;
  let before: Record<string, string>;

  beforeAll(async () => {
    rig = createRig((clean) => cleanups.push(clean));
    initRepository(rig, {
      'off.yaml': 'name: off\nextends: builtin\nsandbox: off\n',
      'README.md': '# Mine\n',
    });
    before = contents(rig.dir, ['tmp']);
    const attack = async (name: string, ...more: readonly string[]): Promise<void> => {
      ended.set(name, await rig.run(['attack', '--json', ...more]));
    };
    await attack('sandbox');
    await attack('same-user', '--file', 'off.yaml');
  }, 120_000);
  afterAll(() => {
    for (const clean of cleanups) clean();
  });

  test.each([
    ['same-user', SAME_USER],
    ['sandbox', SANDBOX],
  ])(
    'in the tier %s: everything that applies is refused, each by its defence, with the reason',
    (tier, by) => {
      const report = reportOf(ended.get(tier) as Ended);
      // Without bubblewrap both are the same.
      const isHere = report.tiers[0] === tier;
      expect(found(report.attacks)).toEqual(expected(isHere ? by : SAME_USER));
      expect(report.attacks.filter(({ result }) => result === 'not applicable').map(({ id }) => id)).toEqual([
        '32b',
      ]);
      expect(report.attacks.filter(({ reason }) => reason === '')).toEqual([]);
      expect(report).toMatchObject({ passed: true, counts: { gotThrough: 0, notApplicable: 1 } });
      expect(ended.get(tier)?.code).toBe(0);
    },
  );

  test('the report says what the tier cannot do', () => {
    expect(reportOf(ended.get('same-user') as Ended).limits).toMatch(
      /Workers ran as you, without a sandbox\. .*it is not prevented.*In no tier is a critic proof/,
    );
  });

  test("nothing of the person's is touched, and nothing is left", async () => {
    expect(contents(rig.dir, ['tmp'])).toEqual(before);
    expect(readdirSync(join(rig.dir, 'tmp'))).toEqual([]);
    await until(() => processesBelow(rig.dir).length === 0, 'the hidden processes to end');
  });
});

const OWN = `name: own
sandbox: off
workers: { w: { adapter: command, command: [no-such-agent] } }
pillars: [security, tests]
targets:
  start: { builtin: ticket }
  lint: { needs: [start], command: [npm, run, lint], outputs: [lint.txt] }
  make: { needs: [lint], worker: w, makes: diff, gates: [not-empty, { check: npm test }], attempts: 1 }
  judge: { needs: [make], foreach: pillars, worker: w, makes: review, gates: [verdict], onReject: make, attempts: 1 }
  keep: { needs: [judge], builtin: commit, when: { labels: [bug] } }
`;

describe("a pipeline of one's own", () => {
  test('is played as it is: several critics, checks, commands and labels, without its programs', async () => {
    const rig = createRig();
    initRepository(rig, { 'targets.yaml': OWN }, { remote: false });
    const rows = ['V2', 'V3b', '13a', '18', '32b', '45', 'V1', '54'];
    const { code, stdout } = await rig.run(['attack', '--json', '--only', rows.join(',')]);
    const results = Object.fromEntries(
      (JSON.parse(stdout) as Report).attacks.map(({ id, result, by }) => [
        id,
        result === 'refused' ? by.charAt(0) : result,
      ]),
    );
    expect(results).toEqual({
      V1: 'not applicable',
      V2: 'T',
      V3b: 'N',
      '13a': 'W',
      18: 'S',
      '32b': 'C',
      45: 'T',
      54: 'not applicable',
    });
    expect(code).toBe(0);
  });

  test('as a table: one line a row, a summary and what it cannot do; kept when it is asked for', async () => {
    const rig = createRig();
    initRepository(rig, { 'targets.yaml': OWN }, { remote: false });
    const { code, stdout } = await rig.run(['attack', '--only', '18,56b', '--keep']);
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^row +attack +channel +tier +result +refused by +reason$/);
    expect(lines[1]).toMatch(
      /^18 +secrets .* env +same-user +refused +S allowlist of variables +`\w+` is not in the environment$/,
    );
    expect(lines[2]).toMatch(/^56b .* – +not stopped in this tier +– +in no tier: /);
    expect(stdout).toContain(
      '\n2 attacks: 1 refused, 0 got through, 1 not stopped in this tier, 0 not applicable\n',
    );
    const kept = /are in (\S+)$/m.exec(stdout)?.[1] ?? '';
    expect(readdirSync(kept)).toContain('arena-1');
  });

  test('that is not valid, a row that there is not, and a call from inside a worker are refused before anything is made', async () => {
    const rig = createRig();
    mkdirSync(rig.repo);
    rig.git('init', '--quiet');
    rig.write({ 'bad.yaml': 'targets: { one: { worker: nobody } }\n' });
    const { code, stderr } = await rig.run(['attack', '--file', 'bad.yaml']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('bad.yaml:1:') as string });
    expect(await rig.run(['attack', '--only', '58'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no row `58`') as string,
    });
    expect(await rig.run(['attack'], { env: { ORCHESTRATE_CHILD: '1.a.1.1' } })).toMatchObject({ code: 4 });
    expect(readdirSync(join(rig.dir, 'tmp'))).toEqual([]);
  });
});
