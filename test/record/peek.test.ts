import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { peekPipelineFile } from '../../orchestrator/record/peek.js';
import { folder, newRun, opened, started } from '../helpers/core.js';

test('the first line says which pipeline file the run was started with', () => {
  const run = newRun();
  const recorder = run.open();
  const { pipeline } = opened();
  recorder.record(
    opened('320', {
      pipeline: { ...pipeline, file: 'pipelines/own.yaml' },
      documents: [{ name: '00_governance.md', text: 'ü'.repeat(100_000) }],
    }),
  );
  recorder.record(started('plan'));
  recorder.close();
  expect(peekPipelineFile(run.directory.journal)).toBe('pipelines/own.yaml');
});

test.each([
  ['no journal', undefined],
  ['an empty one', ''],
  ['a torn first line', '{"v":1,"seq":1,"event":{"type":"run.opened","pipeline":{"file":"x"}}}'],
  ['garbage', 'garbage\n'],
  ['another event', '{"event":{"type":"run.finished"}}\n'],
  ['JSON that is no line', 'null\n'],
])('%s tells nothing', (_, text) => {
  const path = join(folder(), 'journal.jsonl');
  if (text !== undefined) writeFileSync(path, text);
  expect(peekPipelineFile(path)).toBeUndefined();
});
