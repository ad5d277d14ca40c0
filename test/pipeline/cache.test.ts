import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { loadPipeline } from '../../orchestrator/pipeline/load.js';
import { createScratch, layeredYaml, type Scratch } from '../helpers/pipelines.js';

const YAML = `name: x
kernel: kernel.md
workers: { w: { adapter: scripted }, unused: { adapter: scripted } }
targets:
  ticket: { builtin: ticket }
  diff: { needs: [ticket], worker: w, makes: diff, manual: manual.md, when: { labels: [bug] } }
  review: { needs: [diff], worker: w, makes: review, gates: [verdict], onReject: diff }
`;

const prepared = (): Scratch => {
  const scratch = createScratch();
  scratch.write('repo/targets.yaml', YAML);
  scratch.write('repo/kernel.md', 'kernel');
  scratch.write('repo/manual.md', 'manual');
  scratch.write('package/package.json', '{"version":"1"}');
  return scratch;
};

const load = ({ root, packageRoot, cacheDir }: Scratch, file?: string) =>
  loadPipeline({ root, packageRoot, cacheDir, ...(file === undefined ? {} : { file }) });

const cacheFiles = ({ cacheDir }: Scratch): readonly string[] =>
  readdirSync(cacheDir).map((name) => join(cacheDir, name));

/** Puts a mark into the cached pipeline, so that a test sees whether it was the cache that answered. */
const markCache = async (scratch: Scratch): Promise<void> => {
  const { writeCache, cacheSlot } = await import('../../orchestrator/pipeline/cache.js');
  const { pipeline, warnings } = await load(scratch);
  const [file = ''] = cacheFiles(scratch);
  const { salt } = JSON.parse(readFileSync(file, 'utf8').split('\n')[0] ?? '') as { salt: string };
  expect(cacheSlot(scratch.cacheDir, []).file).not.toBe(file);
  writeCache(
    scratch.cacheDir,
    { file, salt },
    { pipeline: { ...pipeline, name: 'from the cache' }, warnings },
  );
};

const isCached = async (scratch: Scratch, file?: string): Promise<boolean> =>
  (await load(scratch, file)).pipeline.name === 'from the cache';

test('the second load is equal to the first, warnings included, and comes from the cache', async () => {
  const scratch = prepared();
  const first = await load(scratch);
  expect(first.warnings).toHaveLength(1);
  expect(await load(scratch)).toEqual(first);
  await markCache(scratch);
  expect(await isCached(scratch)).toBe(true);
});

test('10,000 targets survive the cache unchanged, in a file not larger than twice the YAML', async () => {
  const scratch = prepared();
  scratch.write('repo/targets.yaml', layeredYaml(100, 100));
  const first = await load(scratch);
  expect(await load(scratch)).toEqual(first);
  const [file = ''] = cacheFiles(scratch);
  expect(statSync(file).size).toBeLessThan(2 * statSync(join(scratch.root, 'targets.yaml')).size);
});

describe('the cache does not answer', () => {
  test.each<[string, (scratch: Scratch) => void]>([
    [
      'after a byte of the YAML changed',
      ({ write }) => write('repo/targets.yaml', YAML.replace('name: x', 'name: y')),
    ],
    ['after a comment was added', ({ write }) => write('repo/targets.yaml', `${YAML}# why\n`)],
    ['after the kernel changed', ({ write }) => write('repo/kernel.md', 'kernel!')],
    ['after a manual changed without changing its size', ({ write }) => write('repo/manual.md', 'MANUAL')],
    ['for another version of the package', ({ write }) => write('package/package.json', '{"version":"2"}')],
    ['for another build of the package', ({ write }) => write('package/dist/orchestrate.cjs', '//')],
  ])('%s', async (_, change) => {
    const scratch = prepared();
    await markCache(scratch);
    change(scratch);
    expect(await isCached(scratch)).toBe(false);
  });

  test('with a manual that is gone: the error is the same as without a cache', async () => {
    const scratch = prepared();
    await markCache(scratch);
    rmSync(join(scratch.root, 'manual.md'));
    await expect(load(scratch)).rejects.toThrow('`targets.diff.manual` cannot be read: no such file');
  });

  test('when the repository gets a targets.yaml of its own, and answers again when it goes', async () => {
    const scratch = prepared();
    rmSync(join(scratch.root, 'targets.yaml'));
    for (const name of ['targets.yaml', 'kernel.md', 'manual.md'])
      scratch.write(`package/${name}`, name === 'targets.yaml' ? YAML : name);
    await markCache(scratch);
    scratch.write('repo/targets.yaml', YAML);
    expect(await isCached(scratch)).toBe(false);
    rmSync(join(scratch.root, 'targets.yaml'));
    expect(await isCached(scratch)).toBe(true);
  });

  test('when the extended file changed', async () => {
    const scratch = prepared();
    scratch.write('package/targets.yaml', YAML);
    scratch.write('package/kernel.md', 'k');
    scratch.write('package/manual.md', 'm');
    scratch.write('repo/targets.yaml', 'extends: builtin\n');
    await markCache(scratch);
    expect(await isCached(scratch)).toBe(true);
    scratch.write('package/targets.yaml', `jobs: 2\n${YAML}`);
    expect((await load(scratch)).pipeline.settings.jobs).toBe(2);
  });

  test('for another file with the same bytes', async () => {
    const scratch = prepared();
    await markCache(scratch);
    scratch.write('repo/other.yaml', YAML);
    expect(await isCached(scratch, 'other.yaml')).toBe(false);
  });

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['empty', () => Buffer.alloc(0)],
    ['cut in the middle', (bytes) => bytes.subarray(0, bytes.length - 40)],
    ['cut after its head', (bytes) => bytes.subarray(0, bytes.indexOf(0x0a))],
    [
      'one bit different',
      (bytes) => Buffer.from(bytes.map((byte, at) => (at === bytes.length - 30 ? byte ^ 1 : byte))),
    ],
    ['something else', () => Buffer.from('null\nnull')],
    ['not text', () => Buffer.from([0xff, 0x0a, 0xfe])],
  ])('when it is %s, and it is made again', async (_, damage) => {
    const scratch = prepared();
    await markCache(scratch);
    const [file = ''] = cacheFiles(scratch);
    writeFileSync(file, damage(readFileSync(file)));
    expect(await isCached(scratch)).toBe(false);
    await markCache(scratch);
    expect(await isCached(scratch)).toBe(true);
    expect(cacheFiles(scratch)).toHaveLength(1);
  });
});

test('a file that was only touched still counts, with its new time', async () => {
  const scratch = prepared();
  await markCache(scratch);
  utimesSync(join(scratch.root, 'manual.md'), 1_000, 1_000);
  const { pipeline } = await load(scratch);
  expect(pipeline.name).toBe('from the cache');
  expect(pipeline.sources.find(({ path }) => path.endsWith('manual.md'))?.mtimeMs).toBe(1_000_000);
});

test('a pipeline with problems is not cached', async () => {
  const scratch = prepared();
  scratch.write('repo/targets.yaml', 'targets: { a: { comand: x } }\n');
  await expect(load(scratch)).rejects.toThrow('comand');
  expect(existsSync(scratch.cacheDir)).toBe(false);
});

test('a cache folder that cannot be made costs time, not the run', async () => {
  const scratch = prepared();
  scratch.write('cache', 'a file in its place');
  expect((await load(scratch)).pipeline.name).toBe('x');
  expect(readFileSync(scratch.cacheDir, 'utf8')).toBe('a file in its place');
});
