/** Runs before each test file: its temporary files go into memory, see `memory.ts`. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';

const memory = process.env['TEST_MEMORY'];
const { testPath } = expect.getState();

/** In a sandbox `/dev` is not as it is outside, and memory is there. */
const needsDisk = (path: string): boolean => /sandbox/i.test(readFileSync(path, 'utf8'));

if (memory !== undefined && testPath !== undefined && !needsDisk(testPath)) process.env['TMPDIR'] = memory;
