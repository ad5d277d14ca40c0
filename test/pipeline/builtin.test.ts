import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import type { Pipeline } from '../../orchestrator/model/pipeline.js';
import { loadPipeline } from '../../orchestrator/pipeline/load.js';
import { renderGraph } from '../../orchestrator/pipeline/render.js';
import { createScratch } from '../helpers/pipelines.js';

const PACKAGE = join(import.meta.dirname, '..', '..');

const loadBuiltin = async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'builtin-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return loadPipeline({ root, packageRoot: PACKAGE });
};

const workersOf = ({ targets }: Pipeline) =>
  targets.flatMap(({ name, recipe }) => (recipe.kind === 'worker' ? [`${name}: ${recipe.worker}`] : []));

test('the built-in pipeline is what the design says, without a problem or a warning', async () => {
  const { pipeline, warnings } = await loadBuiltin();
  expect(warnings).toEqual([]);
  expect(renderGraph(pipeline, { format: 'ascii' })).toBe(`ticket: 9 targets

0  read-init-d          builtin
   |
1  ticket               builtin                      needs read-init-d; latch
   |
2  approved-plan        worker archaeologist (plan)  needs ticket; gates: approval by a person; latch
   |
3  implementation-diff  worker builder (diff)        needs approved-plan; gates: not-empty, blast-radius
   |
4  adversarial-review   worker critic (review)       needs implementation-diff; gates: verdict; rejected -> implementation-diff
   |
5  commit               builtin                      needs adversarial-review
   |
6  push                 builtin                      needs commit
   |
7  land                 builtin                      needs push
   |
8  post-mortem          worker scribe (notes)        needs land
`);
});

test('every worker has its own manual, at most four are forked, and only the builder may write', async () => {
  const { pipeline } = await loadBuiltin();
  expect(workersOf(pipeline)).toEqual([
    'approved-plan: archaeologist',
    'implementation-diff: builder',
    'adversarial-review: critic',
    'post-mortem: scribe',
  ]);
  const made = pipeline.targets.filter(({ recipe }) => recipe.kind === 'worker');
  expect(made.map(({ manual }) => manual?.path.split('/').at(-1))).toEqual([
    '02_archaeology.md',
    '03_test_first.md',
    '04_adversarial_review.md',
    '08_post_mortem.md',
  ]);
  expect(made.filter(({ access }) => access === 'write').map(({ name }) => name)).toEqual([
    'implementation-diff',
  ]);
  expect(pipeline.settings.kernel?.path).toBe(join(PACKAGE, 'references', '00_kernel.md'));
  expect(pipeline.settings.pillars).toHaveLength(6);
});

test('its agents are the ones that are there, and the critic is of another family than the builder where it can be', async () => {
  const { workers, settings } = (await loadBuiltin()).pipeline;
  expect(Object.values(workers).map(({ name, adapter, unlike }) => ({ name, adapter, unlike }))).toEqual([
    { name: 'archaeologist', adapter: 'auto', unlike: undefined },
    { name: 'builder', adapter: 'auto', unlike: undefined },
    { name: 'critic', adapter: 'auto', unlike: 'builder' },
    { name: 'scribe', adapter: 'auto', unlike: undefined },
  ]);
  expect(settings.sandbox.mode).toBe('auto');
});

test('the example at its top is a pipeline that extends it', async () => {
  const scratch = createScratch();
  const comment = readFileSync(join(PACKAGE, 'targets.yaml'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('#   '))
    .slice(0, 6)
    .map((line) => line.slice(4));
  scratch.write('repo/targets.yaml', `${comment.join('\n')}\n`);
  const { pipeline } = await loadPipeline({ root: scratch.root, packageRoot: PACKAGE });
  expect(pipeline.name).toBe('ours');
  expect(pipeline.targets.map(({ name }) => name)).not.toContain('post-mortem');
  expect(pipeline.targets[3]?.gates.map(({ kind }) => kind)).toEqual(['not-empty', 'blast-radius', 'check']);
});

test('every example that it keeps in comments is one that the loader takes', async () => {
  const text = readFileSync(join(PACKAGE, 'targets.yaml'), 'utf8')
    .replaceAll('references/', `${PACKAGE}/references/`)
    .replaceAll(/^( *)# (- (?:check|approval): .*|base: .*|env: .*|ignored: .*|budget: .*)$/gm, '$1$2');
  const scratch = createScratch();
  scratch.write('repo/targets.yaml', text);
  const pipeline = await scratch.load();
  expect(pipeline.settings).toMatchObject({ base: 'main', env: ['CI'] });
  expect(pipeline.targets[2]?.gates).toHaveLength(2);
  expect(pipeline.targets[3]?.gates).toHaveLength(4);
});
