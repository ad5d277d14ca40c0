import fc from 'fast-check';
import { expect, test } from 'vitest';
import { targetsBetween } from '../../orchestrator/effects/graph.js';
import { pipelineOf, target } from '../helpers/core.js';

const PIPELINE = pipelineOf([
  target('plan'),
  target('diff', ['plan']),
  target('lint', ['diff']),
  target('docs', ['plan']),
  target('review', ['lint', 'diff']),
  target('commit', ['review', 'docs']),
]);

test.each([
  ['diff', 'review', ['lint', 'review']],
  ['plan', 'review', ['diff', 'lint', 'review']],
  ['plan', 'commit', ['diff', 'lint', 'docs', 'review', 'commit']],
  ['lint', 'review', ['review']],
  ['docs', 'review', []],
  ['review', 'diff', []],
  ['diff', 'diff', []],
  ['none', 'diff', []],
])('between %s and %s: %j', (from, to, names) => {
  expect(targetsBetween(PIPELINE, from, to)).toEqual(names);
});

test('is every target on a path from the one to the other, in order', () => {
  const graphs = fc
    .integer({ min: 2, max: 9 })
    .chain((size) =>
      fc.tuple(
        ...Array.from({ length: size }, (_, index) =>
          fc.subarray(Array.from({ length: index }, (__, at) => `t${at}`)),
        ),
      ),
    );
  fc.assert(
    fc.property(graphs, fc.nat(), fc.nat(), (needs, one, two) => {
      const names = needs.map((_, index) => `t${index}`);
      const [from, to] = [names[one % names.length] ?? '', names[two % names.length] ?? ''];
      const reaches = (above: string, below: string): boolean =>
        above === below || (needs[names.indexOf(below)] ?? []).some((need) => reaches(above, need));
      const expected = names.filter((name) => name !== from && reaches(from, name) && reaches(name, to));
      expect(
        targetsBetween(pipelineOf(needs.map((list, index) => target(`t${index}`, list))), from, to),
      ).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});
