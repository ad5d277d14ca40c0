import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rowIds } from '../../orchestrator/attack/attack.js';
import { RESIDUAL } from '../../orchestrator/attack/rows/residual.js';
import { openMutants, replaceOnce, type Mutants } from '../helpers/mutant.js';
import { createRig, writeFiles, type Rig } from '../helpers/rig.js';
import { found as sandbox } from '../helpers/sandboxes.js';
import { RECORD_TWINS } from './defences.js';
import { GIT_TWINS } from './git-defences.js';
import type { Twin } from './twin.js';

const TWINS = [...RECORD_TWINS, ...GIT_TWINS];

/** What a sandbox alone stops is shown where there is one. */
const PLAYED = TWINS.filter(({ tier }) => tier !== 'sandbox' || sandbox.kind === 'bubblewrap');

const targets = (plan: boolean, check: boolean): string => `
  ticket: { number: 1, builtin: ticket }
${plan ? '  approved-plan: { number: 2, needs: [ticket], worker: w, makes: plan, gates: [{ approval: person }] }\n' : ''}
  implementation-diff: { number: 3, needs: [${plan ? 'approved-plan' : 'ticket'}], worker: w, makes: diff, gates: [not-empty${check ? ', { check: "true" }' : ''}] }
  adversarial-review: { number: 4, needs: [implementation-diff], worker: w, makes: review, gates: [verdict], onReject: implementation-diff }
  commit: { number: 5, needs: [adversarial-review], builtin: commit }
  push: { number: 6, needs: [commit], builtin: push }
`;

/** As few targets as the attacks need: a twin shows one thing. */
const pipelineOf = ({ pipeline, tier }: Twin): string => `name: lean
sandbox: ${tier === 'sandbox' ? 'required' : 'off'}
attempts: 1
workers: { w: { adapter: command, command: [none] } }
kernel: kernel.md
targets:${targets(pipeline === 'planned', pipeline === 'checked')}`;

interface Answer {
  readonly code: number;
  readonly attacks: readonly { readonly id: string; readonly result: string; readonly reason: string }[];
}

let mutants: Mutants;
let rig: Rig;
const cleanups: (() => void)[] = [];

beforeAll(async () => {
  mutants = await openMutants([...new Set(TWINS.flatMap(({ pieces }) => pieces.map(({ file }) => file)))]);
  rig = createRig((clean) => cleanups.push(clean));
  mkdirSync(rig.repo);
  rig.git('init', '--quiet');
});
afterAll(async () => {
  for (const clean of cleanups) clean();
  await mutants.remove();
});

const run = promisify(execFile);

/** Each starts several processes. */
const limit = pLimit(2);

const attackWith = (twin: Twin, index: number): Promise<Answer> => limit(() => attackIn(twin, index));

const attackIn = async (twin: Twin, index: number): Promise<Answer> => {
  const root = await mutants.make(twin.pieces);
  const folder = join(rig.dir, `pipeline-${index}`);
  writeFiles(folder, { 'targets.yaml': pipelineOf(twin), 'kernel.md': '# Kernel\n' });
  const args = ['attack', '--json', '--file', join(folder, 'targets.yaml'), '--only', twin.rows.join(',')];
  try {
    const { stdout } = await run(process.execPath, [join(root, 'dist/orchestrate.cjs'), ...args], {
      cwd: rig.repo,
      env: rig.env,
    });
    return { code: 0, attacks: (JSON.parse(stdout) as Answer).attacks };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    if (stdout === '') throw new Error(stderr, { cause: error });
    return { code, attacks: (JSON.parse(stdout) as Answer).attacks };
  }
};

describe('an attack gets through when the one defence against it is taken out:', () => {
  test.concurrent.each(PLAYED.map((twin, index) => [twin.name, twin, index] as const))(
    '%s',
    async (_, twin, index) => {
      const { code, attacks } = await attackWith(twin, index);
      const results = Object.fromEntries(
        attacks.map(({ id, result, reason }) => [id, `${result}: ${reason}`]),
      );
      expect(results).toEqual(
        Object.fromEntries(
          twin.rows.map((id) => [
            id,
            expect.stringMatching(
              /^got through: (?!nothing refused|it was not carried out|it could not)/,
            ) as string,
          ]),
        ),
      );
      expect(code).toBe(1);
    },
    // Several at a time, each a whole ticket or more.
    120_000,
  );
});

test('every row that can be refused has a twin', () => {
  const known = new Set(TWINS.flatMap(({ rows }) => rows));
  const residual = new Set(RESIDUAL.map(({ id }) => id));
  expect(rowIds().filter((id) => !known.has(id) && !residual.has(id))).toEqual([]);
});

test('a twin whose text is not there any more, or is there twice, is no twin', () => {
  const piece = { file: 'a.ts', old: 'b', new: 'c' };
  expect(replaceOnce('abd', piece)).toBe('acd');
  for (const text of ['ad', 'abbd']) expect(() => replaceOnce(text, piece)).toThrow(/a twin takes it out/);
});
