/**
 * Runs before each test file. Files run one after the other in a few processes, as a process for each would take a third of a second to
 * start: what a file could leave to the next one is put back here. Our modules are evaluated again for each, packages are not.
 * Its temporary files go into memory, see `memory.ts`.
 */
import { readFileSync } from 'node:fs';
import { expect, vi } from 'vitest';

vi.resetModules();

/** As it was before the first file of this process. */
const world = globalThis as { testEnvironment?: NodeJS.ProcessEnv };
world.testEnvironment ??= { ...process.env };
for (const name of Object.keys(process.env)) delete process.env[name];
Object.assign(process.env, world.testEnvironment);

const memory = process.env['TEST_MEMORY'];
const { testPath } = expect.getState();

/** In a sandbox `/dev` is not as it is outside, and memory is there. */
const needsDisk = (path: string): boolean => /sandbox/i.test(readFileSync(path, 'utf8'));

if (memory !== undefined && testPath !== undefined && !needsDisk(testPath)) process.env['TMPDIR'] = memory;
