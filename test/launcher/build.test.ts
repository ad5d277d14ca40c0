import { existsSync, readFileSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BuiltProject } from '../helpers/built-project.js';

let project: BuiltProject;
beforeEach(() => {
  project = new BuiltProject();
  project.write('orchestrator/index.ts', "export { parse } from 'yaml';");
  ageSources();
});
afterEach(() => {
  project.remove();
});

/** A file that changes while it is built is built again; these were written long before. */
const ageSources = (): void => {
  const path = join(project.root, 'orchestrator');
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }))
    utimesSync(join(path, name), 1, 1);
  utimesSync(join(project.root, 'package.json'), 1, 1);
};
const dist = (name: string): string => join(project.root, 'dist', name);
/** Everything in dist/, folders apart. */
const files = (): readonly string[] =>
  readdirSync(dist(''), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('.'))
    .toSorted();
const built = (): bigint => statSync(dist('orchestrate.cjs'), { bigint: true }).ino;

test('writes the binary, the bundle and the library; the scripted worker when there is one', async () => {
  await project.build();
  expect(files()).toEqual(['index.js', 'main.cjs', 'main.cjs.map', 'orchestrate.cjs']);
  expect(statSync(dist('orchestrate.cjs')).mode & 0o111).toBe(0o111);
  project.write('workers/scripted/main.ts', "process.stdout.write('worker');");
  await project.build();
  expect(readFileSync(dist('scripted-worker.cjs'), 'utf8')).toContain('worker');
});

test('keeps dependencies out of the library, and needs none installed for the program', async () => {
  project.writeMain(
    "const { parse } = await import('yaml'); process.stdout.write(JSON.stringify(parse('a: 1'))); return 0;",
  );
  await project.build();
  expect(readFileSync(dist('index.js'), 'utf8')).toMatch(/from\s*"yaml"/);
  rmSync(join(project.root, 'node_modules'), { recursive: true });
  expect((await project.run(['status'])).stdout).toBe('{"a":1}');
});

test('gives a heavy package a bundle of its own, and takes it away when nobody imports it', async () => {
  project.writeMain('return parse("a: 1").a;', "import { parse } from 'yaml';");
  await project.build();
  expect(files()).toEqual(['index.js', 'main.cjs', 'main.cjs.map', 'orchestrate.cjs', 'vendor/yaml.cjs']);
  expect(statSync(dist('main.cjs')).size).toBeLessThan(5_000);
  expect((await project.run(['status'])).code).toBe(1);
  project.writeMain('return 0;');
  await project.build();
  expect(files()).toEqual(['index.js', 'main.cjs', 'main.cjs.map', 'orchestrate.cjs']);
});

test('does nothing when nothing has changed', async () => {
  await project.build();
  const before = built();
  await project.build();
  expect(built()).toBe(before);
});

test.each([
  ['a source is edited', () => project.writeMain('return 5;')],
  ['an optional entry comes into being', () => project.write('workers/scripted/main.ts', 'export {};')],
  ['an optional entry goes', () => rmSync(join(project.root, 'orchestrator/index.ts'))],
  ['the version changes', () => project.write('package.json', '{ "version": "10.0.0" }')],
  ['an output is gone', () => rmSync(dist('main.cjs'))],
  ['it is forced', () => undefined],
])('builds again when %s', async (why, change) => {
  await project.build();
  const before = built();
  change();
  await project.build(...(why === 'it is forced' ? ['--force'] : []));
  expect(built()).not.toBe(before);
  expect(existsSync(dist('main.cjs'))).toBe(true);
});

test('makes the same bytes each time, also from several processes at once', async () => {
  await project.build();
  const before = readFileSync(dist('main.cjs'));
  await Promise.all([project.build('--force'), project.build('--force'), project.build('--force')]);
  expect(readFileSync(dist('main.cjs')).equals(before)).toBe(true);
  expect(files()).toEqual(['index.js', 'main.cjs', 'main.cjs.map', 'orchestrate.cjs']);
  expect((await project.run(['--version'])).stdout).toBe('9.8.7\n');
});

test('names what is wrong and leaves the last build as it was', async () => {
  await project.build();
  const before = readFileSync(dist('main.cjs'));
  project.write('orchestrator/cli/main.ts', 'export const main = ;');
  await expect(project.build()).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^build: .*\norchestrator\/cli\/main\.ts:1:\d+/) as string,
  });
  expect(readFileSync(dist('main.cjs')).equals(before)).toBe(true);
});

test('a bundle says nothing of the folder that it was built in', async () => {
  await project.build();
  for (const name of files()) expect(readFileSync(dist(name), 'utf8')).not.toContain(project.root);
});
