import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { fileSchema, jsonSchema } from '../../orchestrator/pipeline/schema.js';

const PATH = join(import.meta.dirname, '..', '..', 'targets.schema.json');

test('targets.schema.json is what the schema of the loader generates (UPDATE=1 writes it)', () => {
  if (process.env['UPDATE'] === '1') {
    writeFileSync(PATH, `${JSON.stringify(jsonSchema(), null, 2)}\n`);
    execFileSync('npx', ['oxfmt', PATH]);
  }
  expect(JSON.parse(readFileSync(PATH, 'utf8'))).toEqual(jsonSchema());
});

test('the schema for editors refuses unknown keys at every level and describes its keys', () => {
  const text = JSON.stringify(jsonSchema());
  const objects = text.match(/"type":"object","properties"/g) ?? [];
  const closed = text.match(/"additionalProperties":false/g) ?? [];
  expect(objects.length).toBeGreaterThan(8);
  expect(closed.length).toBe(objects.length);
  expect(text).toContain('"description":"No new output for so long ends the child. Default 10m."');
});

test.each([
  ['a target', { targets: { lint: { command: 'x', colour: 'red' } } }],
  ['a worker', { workers: { builder: { adapter: 'command', shell: true } } }],
  ['limits', { limits: { wall: '1h' } }],
  ['a gate', { targets: { lint: { command: 'x', gates: [{ check: 'y', retries: 2 }] } } }],
  [
    'a policy',
    {
      targets: {
        lint: { gates: [{ approval: { policy: { paths: ['x'], maxFiles: 1, maxLines: 1, users: [] } } }] },
      },
    },
  ],
  ['the file', { name: 'x', parallel: 3 }],
])('an unknown key in %s is refused', (_, value) => {
  expect(fileSchema.safeParse(value).success).toBe(false);
});

test('null stands for a dropped target or worker, and for nothing else', () => {
  expect(fileSchema.safeParse({ targets: { lint: null }, workers: { critic: null } }).success).toBe(true);
  expect(fileSchema.safeParse({ targets: null }).success).toBe(false);
  expect(fileSchema.safeParse({ targets: { lint: { command: null } } }).success).toBe(false);
});
