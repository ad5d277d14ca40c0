import type { Pipeline } from '../model/pipeline.js';
import { oneLine } from '../model/text.js';
import { gatesOf, lookOf, makerOf, type RenderOptions } from './render-text.js';

/** A quoted DOT string. `\n` between lines is DOT's own, so it is added after escaping. */
const quoted = (lines: readonly string[]): string =>
  `"${lines.map((line) => oneLine(line).replaceAll(/["\\]/g, (char) => `\\${char}`)).join('\\n')}"`;

/** Graphviz DOT, top to bottom. */
export const renderDot = (pipeline: Pipeline, { status }: RenderOptions): string => {
  const nodes = pipeline.targets.map((target) => {
    const { fill, stroke } = lookOf(status?.[target.name] ?? (status === undefined ? undefined : 'pending'));
    const text = quoted([`${target.number} ${target.name}`, makerOf(target), ...gatesOf(target)]);
    return `  ${quoted([target.name])} [label=${text}, fillcolor="${fill}", color="${stroke}"];`;
  });
  const edges = pipeline.targets.flatMap(({ name, needs, onReject }) => [
    ...needs.map((need) => `  ${quoted([need])} -> ${quoted([name])};`),
    ...(onReject === undefined
      ? []
      : [`  ${quoted([name])} -> ${quoted([onReject])} [style=dashed, label="rejected", constraint=false];`]),
  ]);
  return [
    `digraph ${quoted([pipeline.name])} {`,
    '  rankdir=TB;',
    '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
    ...nodes,
    ...edges,
    '}',
    '',
  ].join('\n');
};
