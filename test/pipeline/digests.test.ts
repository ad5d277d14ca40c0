import { describe, expect, test } from 'vitest';

import type { Pipeline } from '../../orchestrator/model/pipeline.js';
import { createScratch, loadText } from '../helpers/pipelines.js';

const YAML = `name: x
workers:
  w: { adapter: command, command: [claude, -p], env: { A: "1", B: "2" } }
targets:
  ticket: { builtin: ticket }
  diff: { needs: [ticket], worker: w, makes: diff, gates: [not-empty] }
  review: { needs: [diff], worker: w, makes: review, gates: [verdict], onReject: diff }
  lint: { needs: [diff], command: npm run lint, inputs: [src/**] }
`;

const digests = ({ targets }: Pipeline): Readonly<Record<string, string>> =>
  Object.fromEntries(targets.map(({ name, recipeDigest }) => [name, recipeDigest]));

/** Names of the targets whose recipe differs between the two texts. */
const changed = async (before: string, after: string): Promise<readonly string[]> => {
  const [a, b] = [digests(await loadText(before)), digests(await loadText(after))];
  return Object.keys(a).filter((name) => a[name] !== b[name]);
};

describe('a recipe digest changes with', () => {
  test.each<[string, string, string, readonly string[]]>([
    ['the command', 'npm run lint', 'npm run lint2', ['lint']],
    ['the inputs', 'src/**', 'lib/**', ['lint']],
    ['a gate', '[not-empty]', '[not-empty, { check: npm test }]', ['diff']],
    ['a prerequisite', 'lint: { needs: [diff]', 'lint: { needs: [ticket]', ['lint']],
    ['the argument of its worker', 'claude, -p', 'claude, -p, -v', ['diff', 'review']],
    ['a variable of its worker', 'A: "1"', 'A: "2"', ['diff', 'review']],
    ['the pillars, for a review', 'name: x', 'name: x\npillars: [tests]', ['review']],
    [
      'the place of tickets, for the ticket target',
      'name: x',
      'name: x\ntickets: { path: "t/{ticket}" }',
      ['ticket'],
    ],
    ['the branch, for the ticket target', 'name: x', 'name: x\nbranch: "x/{ticket}"', ['ticket']],
  ])('%s', async (_, from, to, expected) => {
    expect(await changed(YAML, YAML.replace(from, to))).toEqual(expected);
  });
});

describe('a recipe digest does not change with', () => {
  test.each<[string, (yaml: string) => string]>([
    ['comments and empty lines', (yaml) => yaml.replaceAll('\n', ' # why\n\n')],
    [
      'the order of keys',
      (yaml) =>
        yaml
          .replace(
            '{ needs: [diff], command: npm run lint, inputs: [src/**] }',
            '{ inputs: [src/**], command: npm run lint, needs: [diff] }',
          )
          .replace('{ A: "1", B: "2" }', '{ B: "2", A: "1" }'),
    ],
    ['the way a text is written', (yaml) => yaml.replace('npm run lint', '"npm run lint"')],
    ['its number', (yaml) => yaml.replace('targets:\n', 'targets:\n  zero: { command: x }\n')],
    [
      'defaults that are written out',
      (yaml) =>
        yaml.replace(
          'command: npm run lint',
          'command: npm run lint, makes: files, access: write, latch: false',
        ),
    ],
    ['attempts and limits', (yaml) => yaml.replace('name: x', 'name: x\nattempts: 9\nlimits: { idle: 99m }')],
    [
      'jobs, rounds and the name of the pipeline',
      (yaml) => yaml.replace('name: x', 'name: y\njobs: 1\nrounds: 1'),
    ],
  ])('%s', async (_, edit) => {
    expect(edit(YAML)).not.toBe(YAML);
    expect(await changed(YAML, edit(YAML))).toEqual([]);
  });
});

test('kernel and manual count by their bytes, for workers; another path with the same bytes is the same', async () => {
  const scratch = createScratch();
  const write = (kernel: string, manual: string, path = 'm.md') => {
    scratch.write('repo/k.md', kernel);
    scratch.write(`repo/${path}`, manual);
    scratch.write(
      'repo/targets.yaml',
      YAML.replace('name: x', 'name: x\nkernel: k.md').replace('makes: diff', `makes: diff, manual: ${path}`),
    );
    return scratch.load().then(digests);
  };
  const first = await write('kernel', 'manual');
  const differs = (other: Readonly<Record<string, string>>) =>
    Object.keys(first).filter((name) => first[name] !== other[name]);
  expect(differs(await write('kernel 2', 'manual'))).toEqual(['diff', 'review']);
  expect(differs(await write('kernel', 'manual 2'))).toEqual(['diff']);
  expect(differs(await write('kernel', 'manual', 'sub/other.md'))).toEqual([]);
});

test('the digest of the pipeline changes with every setting, and not with comments or places', async () => {
  const { digest } = await loadText(YAML);
  expect((await loadText(`# comment\n${YAML}`)).digest).toBe(digest);
  for (const line of [
    'jobs: 3',
    'rounds: 3',
    'attempts: 3',
    'limits: { grace: 1s }',
    'env: [CI]',
    'remote: upstream',
    'base: dev',
    'pillars: [tests]',
  ]) {
    expect((await loadText(`${line}\n${YAML}`)).digest).not.toBe(digest);
  }
});
