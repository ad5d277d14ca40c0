import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Gate, Pipeline, Target } from '../../orchestrator/model/pipeline.js';
import { oneLine } from '../../orchestrator/model/text.js';
import { renderGraph } from '../../orchestrator/pipeline/render.js';
import { pipelineOf, target } from '../helpers/core.js';
import { ACTS, hostile, LINE_ENDS } from '../helpers/hostile.js';
import { layeredYaml, loadText } from '../helpers/pipelines.js';
import { readXml } from '../helpers/xml.js';

const YAML = `name: demo
workers: { w: { adapter: scripted } }
targets:
  ticket: { builtin: ticket, latch: true }
  plan: { needs: [ticket], worker: w, makes: plan, gates: [approval: person] }
  diff: { needs: [plan], worker: w, makes: diff, gates: [not-empty, { check: 'echo "a<b>" && x' }] }
  critic: { foreach: [a, b], needs: [diff], worker: w, makes: review, gates: [verdict], onReject: diff }
  end: { needs: [critic], builtin: commit, when: { labels: [bug] } }
`;

const status = { ticket: 'done', plan: 'waiting', diff: 'running' };

const draw = async (format: 'ascii' | 'mermaid' | 'dot' | 'svg', more = {}): Promise<string> =>
  renderGraph(await loadText(YAML), { format, ...more });

/** A pipeline whose free texts try to break out of every format. */
const breakingOut = async (): Promise<Pipeline> => {
  const pipeline = await loadText(YAML);
  const name = '"];<script>&\u001b[31m\n%%{init}%%`#';
  const gates = [{ kind: 'check' as const, name, argv: ['x'], timeoutMs: 1 }];
  return { ...pipeline, name, targets: pipeline.targets.map((target) => ({ ...target, gates })) };
};

describe('ascii', () => {
  test('one line a target, layer by layer', async () => {
    expect(await draw('ascii')).toBe(`demo: 6 targets

0  ticket       builtin            latch
   |
1  plan         worker w (plan)    needs ticket; gates: approval by a person
   |
2  diff         worker w (diff)    needs plan; gates: not-empty, check echo "a<b>" && x
   |
3  +- critic-a  worker w (review)  needs diff; gates: verdict; rejected -> diff
4  \`- critic-b  worker w (review)  needs diff; gates: verdict; rejected -> diff
   |
5  end          builtin commit     needs critic-a, critic-b; when bug
`);
  });

  test('with a status, each line begins with its mark', async () => {
    expect(await draw('ascii', { status })).toContain(`
[x] done     0  ticket       builtin            latch
                |
[?] waiting  1  plan         worker w (plan)    needs ticket; gates: approval by a person
                |
[>] running  2  diff `);
    expect(await draw('ascii', { status })).toContain('\n[ ] pending  3  +- critic-a');
  });

  test('colour only when asked for, and only around the mark', async () => {
    expect(await draw('ascii', { status })).not.toContain('\u001b');
    expect(await draw('ascii', { status, colour: true })).toContain(
      '\u001b[32m[x] done   \u001b[0m  0  ticket ',
    );
  });

  test('a thousand targets side by side and a join are a thousand short lines', async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `t${at}`);
    const text = `targets:\n${names.map((name) => `  ${name}: { command: x }`).join('\n')}\n  join: { needs: [${names.join(', ')}], command: x }\n`;
    const lines = renderGraph(await loadText(text), { format: 'ascii' }).split('\n');
    expect(lines).toHaveLength(1005);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(80);
    expect(lines.at(-2)).toContain('needs t0, t1, t2 and 997 more');
  });
});

describe('mermaid', () => {
  test('is a flowchart with a node a target, a class a status and the way back dotted', async () => {
    expect(await draw('mermaid', { status })).toBe(`flowchart TD
  t0["0 ticket<br/>builtin"]:::is-done
  t1{{"1 plan<br/>worker w (plan)<br/>approval by a person"}}:::is-waiting
  t2["2 diff<br/>worker w (diff)<br/>not-empty<br/>check echo #quot;a#lt;b#gt;#quot; #amp;#amp; x"]:::is-running
  t3["3 critic-a<br/>worker w (review)<br/>verdict"]:::is-pending
  t4["4 critic-b<br/>worker w (review)<br/>verdict"]:::is-pending
  t5["5 end<br/>builtin commit"]:::is-pending
  t0 --> t1
  t1 --> t2
  t2 --> t3
  t3 -. rejected .-> t2
  t2 --> t4
  t4 -. rejected .-> t2
  t3 --> t5
  t4 --> t5
  classDef is-done fill:#dafbe1,stroke:#1a7f37,color:#1f2328
  classDef is-pending fill:#f6f8fa,stroke:#8c959f,color:#1f2328
  classDef is-running fill:#ddf4ff,stroke:#0969da,color:#1f2328
  classDef is-waiting fill:#fff8c5,stroke:#9a6700,color:#1f2328
`);
  });

  test('no text leaves its label', async () => {
    const text = renderGraph(await breakingOut(), { format: 'mermaid', status: { ticket: 'x y;z' } });
    for (const line of text.split('\n').filter((part) => /^ {2}t\d+[[{]/.test(part))) {
      expect(line).toMatch(/^ {2}t\d+\["[^"`%]*"\]:::is-[A-Za-z0-9-]+$/);
    }
    expect(text).toContain(':::is-x-y-z');
    expect(text).not.toContain('<script>');
    expect(text).not.toContain('\u001b');
  });
});

describe('dot', () => {
  test('has a node a target and an edge a prerequisite', async () => {
    const text = await draw('dot', { status });
    expect(text).toMatch(/^digraph "demo" \{\n {2}rankdir=TB;\n/);
    expect(text).toContain(
      '  "ticket" [label="0 ticket\\nbuiltin", fillcolor="#dafbe1", color="#1a7f37"];\n',
    );
    expect(text).toContain('  "critic-b" -> "end";\n');
    expect(text).toContain('  "critic-a" -> "diff" [style=dashed, label="rejected", constraint=false];\n');
    expect(text.match(/ -> /g)).toHaveLength(8);
    expect(text.endsWith('}\n')).toBe(true);
  });

  test('no text leaves its quotes', async () => {
    const text = renderGraph(await breakingOut(), { format: 'dot' });
    for (const line of text.split('\n').filter((part) => part.includes('label="0'))) {
      expect(line).toMatch(
        /^ {2}"ticket" \[label="(?:[^"\\]|\\.)*", fillcolor="#ffffff", color="#57606a"\];$/,
      );
    }
    expect(text).toContain('digraph "\\"];<script>&');
  });
});

describe('svg', () => {
  test('is one well-formed picture with a box a target and a line an edge', async () => {
    const text = await draw('svg', { status });
    expect(text.match(/<rect /g)).toHaveLength(6);
    expect(text.match(/<path /g)).toHaveLength(8);
    expect(text.match(/class="back"/g)).toHaveLength(2);
    expect(text).toContain('fill="#dafbe1"');
    expect(text).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="\d+" height="\d+" /);
    expect(text).not.toContain('NaN');
  });

  test('boxes of one layer stand side by side, layers below each other', async () => {
    const boxes = [
      ...(await draw('svg')).matchAll(/<title>\d+ ([a-z-]+)[^<]*<\/title><rect x="([\d.]+)" y="([\d.]+)"/g),
    ];
    const at = Object.fromEntries(boxes.map(([, name, x, y]) => [name, { x: Number(x), y: Number(y) }]));
    expect(at['critic-a']?.y).toBe(at['critic-b']?.y);
    expect((at['critic-b']?.x ?? 0) - (at['critic-a']?.x ?? 0)).toBeGreaterThan(240);
    expect(at['end']?.y).toBeGreaterThan(at['critic-a']?.y ?? 0);
  });

  test('every text is escaped', async () => {
    const text = renderGraph(await breakingOut(), { format: 'svg' });
    expect(text).not.toContain('<script>');
    expect(text).toContain('&lt;script&gt;&amp;');
    const tags = text.replaceAll(/<\/?[a-z]+(?: [a-zA-Z:-]+="[^"<>]*")*\/?>/g, '');
    expect(tags).not.toMatch(/[<>]/);
  });
});

test('10,000 targets are drawn in every format', async () => {
  const pipeline = await loadText(layeredYaml(100, 100));
  for (const format of ['ascii', 'mermaid', 'dot', 'svg'] as const) {
    expect(renderGraph(pipeline, { format }).split('\n').length).toBeGreaterThan(10_000);
  }
});

describe('whatever names, checks, labels and workers are called', () => {
  const RUNS = { numRuns: 120 };
  const pipelines = fc
    .tuple(hostile, hostile, hostile, hostile, hostile)
    .map(([name, worker, gate, label, other]): Pipeline => {
      const gates: Gate[] = [{ kind: 'check', name: gate, argv: ['x'], timeoutMs: 1 }];
      const recipe: Target['recipe'] = { kind: 'worker', worker };
      // Names of targets cannot be like this; a renderer does not rely on it.
      const [first, second] = [`a${label}`, `b${other}`];
      return pipelineOf(
        [
          target(first, [], { gates, recipe, whenLabels: [label] }),
          target(second, [first], {
            gates: [...gates, { kind: 'approval', by: 'person' }],
            recipe,
            onReject: first,
          }),
        ],
        { name },
      );
    });
  const statusOf = (pipeline: Pipeline): Record<string, string> =>
    Object.fromEntries(pipeline.targets.map(({ name }) => [name, 'running']));

  test('mermaid gains no node and no edge', () => {
    fc.assert(
      fc.property(pipelines, (pipeline) => {
        const lines = renderGraph(pipeline, { format: 'mermaid', status: statusOf(pipeline) })
          .trimEnd()
          .split(LINE_ENDS);
        const [first, one, two, ...rest] = lines;
        expect(first).toBe('flowchart TD');
        expect(one).toMatch(/^ {2}t0\["[^"<>`%]*(?:<br\/>[^"<>`%]*)*"\]:::is-running$/);
        expect(two).toMatch(/^ {2}t1\{\{"[^"<>`%]*(?:<br\/>[^"<>`%]*)*"\}\}:::is-running$/);
        expect(rest).toEqual([
          '  t0 --> t1',
          '  t1 -. rejected .-> t0',
          expect.stringMatching(/^ {2}classDef is-running /),
        ]);
      }),
      RUNS,
    );
  });

  test('dot gains no node and no edge', () => {
    fc.assert(
      fc.property(pipelines, (pipeline) => {
        const text = renderGraph(pipeline, { format: 'dot' });
        expect(text).not.toMatch(ACTS);
        // What is left without the strings is what Graphviz takes for its language.
        expect(text.replaceAll(/"(?:[^"\\]|\\.)*"/g, 'S')).toBe(
          [
            'digraph S {',
            '  rankdir=TB;',
            '  node [shape=box, style=S, fontname=S];',
            '  S [label=S, fillcolor=S, color=S];',
            '  S [label=S, fillcolor=S, color=S];',
            '  S -> S;',
            '  S -> S [style=dashed, label=S, constraint=false];',
            '}',
            '',
          ].join('\n'),
        );
      }),
      RUNS,
    );
  });

  test('svg is well-formed XML with the text as text', () => {
    fc.assert(
      fc.property(pipelines, (pipeline) => {
        const elements = readXml(renderGraph(pipeline, { format: 'svg', status: statusOf(pipeline) }));
        expect(elements.map(({ name }) => name)).toEqual([
          'svg',
          'title',
          'style',
          'defs',
          'marker',
          'polygon',
          'path',
          'path',
          'g',
          'title',
          'rect',
          'text',
          'text',
          'text',
          'g',
          'title',
          'rect',
          'text',
          'text',
          'text',
        ]);
        expect(elements[1]?.text).toBe(oneLine(pipeline.name));
      }),
      RUNS,
    );
  });

  test('ascii has a line a target', () => {
    fc.assert(
      fc.property(pipelines, (pipeline) => {
        const text = renderGraph(pipeline, { format: 'ascii', status: statusOf(pipeline) });
        expect(text).not.toMatch(ACTS);
        const lines = text.trimEnd().split(LINE_ENDS);
        expect(lines).toHaveLength(5);
        expect(lines[2]).toMatch(/^\[>\] running {2}0 {2}a/);
        expect(lines[4]).toMatch(/^\[>\] running {2}1 {2}b/);
      }),
      RUNS,
    );
  });
});
