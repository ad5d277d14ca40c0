import type { Pipeline, Target } from '../model/pipeline.js';
import { oneLine } from '../model/text.js';
import { gatesOf, lookOf, makerOf, type RenderOptions } from './render-text.js';

const ENTITIES: Readonly<Record<string, string>> = {
  '"': '#quot;',
  '<': '#lt;',
  '>': '#gt;',
  '&': '#amp;',
  '#': '#35;',
  '`': '#96;',
  '%': '#37;',
};

/** Text inside a quoted label. Mermaid has entity codes and no escape character. */
const label = (text: string): string =>
  oneLine(text).replaceAll(/["<>&#`%]/g, (char) => ENTITIES[char] ?? char);

const isAirlock = ({ gates }: Target): boolean => gates.some(({ kind }) => kind === 'approval');

/** A class name that Mermaid takes, from any status. */
const className = (status: string): string => `is-${status.replaceAll(/[^A-Za-z0-9-]/g, '-')}`;

/** `flowchart TD`: targets as boxes, airlocks as hexagons, the way back of a rejection dotted, a class a status. */
export const renderMermaid = (pipeline: Pipeline, { status }: RenderOptions): string => {
  const { targets } = pipeline;
  // Names such as `end` are keywords of Mermaid, so nodes have ids of their own.
  const ids = new Map(targets.map(({ name }, at) => [name, `t${at}`]));
  const nodes = targets.map((target) => {
    const lines = [`${target.number} ${target.name}`, makerOf(target), ...gatesOf(target)];
    const text = `"${lines.map(label).join('<br/>')}"`;
    const shape = isAirlock(target) ? `{{${text}}}` : `[${text}]`;
    const suffix = status === undefined ? '' : `:::${className(status[target.name] ?? 'pending')}`;
    return `  ${ids.get(target.name) ?? ''}${shape}${suffix}`;
  });
  const edges = targets.flatMap((target) => {
    const to = ids.get(target.name) ?? '';
    const back = target.onReject === undefined ? undefined : ids.get(target.onReject);
    return [
      ...target.needs.map((need) => `  ${ids.get(need) ?? ''} --> ${to}`),
      ...(back === undefined ? [] : [`  ${to} -. rejected .-> ${back}`]),
    ];
  });
  const used = new Set(status === undefined ? [] : targets.map(({ name }) => status[name] ?? 'pending'));
  const classes = [...used].toSorted().map((word) => {
    const { fill, stroke } = lookOf(word);
    return `  classDef ${className(word)} fill:${fill},stroke:${stroke},color:#1f2328`;
  });
  return `${['flowchart TD', ...nodes, ...edges, ...classes].join('\n')}\n`;
};
