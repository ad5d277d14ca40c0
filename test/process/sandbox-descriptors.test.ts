import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/child.js';

const LEAKED = 20;

/** Starts a shell once as it is, and once without further descriptors; each says what it has of the leaked folder. */
const CODE = `
import { spawnSync } from 'node:child_process';
import { noFurtherDescriptors } from './sandbox-descriptors.js';
const text = 'ls /proc/self/fd/${LEAKED}/ 2>/dev/null; ls /proc/self/fd';
for (const more of [[], noFurtherDescriptors()]) {
  const { stdout } = spawnSync('/bin/sh', ['-c', text], { stdio: ['ignore', 'pipe', 'pipe', ...more] });
  console.log(String(stdout).split('\\n').join(' '));
}`;

test('a child does not get what the orchestrator was started with', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'private'));
  writeFileSync(join(folder, 'private/secret'), '');
  const program = join(folder, 'program.cjs');
  buildSync({
    stdin: { contents: CODE, resolveDir: join(import.meta.dirname, '../../orchestrator/process') },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: program,
    logLevel: 'error',
  });
  const leaked = openSync(join(folder, 'private'), 'r');
  const between = Array.from({ length: LEAKED - 3 }, () => 'ignore' as const);
  const child = spawn(process.execPath, [program], {
    stdio: ['ignore', 'pipe', 'inherit', ...between, leaked],
  });
  closeSync(leaked);
  let text = '';
  for await (const chunk of child.stdout ?? []) text += String(chunk);
  const [as = '', closed = ''] = text.split('\n');
  expect(as).toContain('secret');
  expect(closed).not.toContain('secret');
});
