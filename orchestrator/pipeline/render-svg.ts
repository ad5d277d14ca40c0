import type { Pipeline, Target } from '../model/pipeline.js';
import { cutTo, oneLine } from '../model/text.js';
import { layersOf } from './graph.js';
import { gatesOf, lookOf, makerOf, shortList, type RenderOptions } from './render-text.js';

const BOX = { width: 240, height: 64 } as const;
const GAP = { column: 28, row: 48 } as const;
const MARGIN = 24;
/** Characters of the small font that fit into a box. */
const FIT = 36;

interface Box {
  readonly target: Target;
  readonly x: number;
  readonly y: number;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escape = (text: string): string =>
  oneLine(text).replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

/** Layers from top to bottom, each centred. */
const layout = (
  targets: readonly Target[],
): { boxes: ReadonlyMap<string, Box>; width: number; height: number } => {
  const layers = layersOf(targets);
  const rows: Target[][] = [];
  for (const target of targets) {
    const layer = layers.get(target.name) ?? 0;
    const row = rows[layer] ?? [];
    row.push(target);
    rows[layer] = row;
  }
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 1);
  const inner = columns * (BOX.width + GAP.column) - GAP.column;
  const boxes = new Map<string, Box>();
  for (const [y, row] of rows.entries()) {
    const left = MARGIN + (inner - (row.length * (BOX.width + GAP.column) - GAP.column)) / 2;
    for (const [x, target] of row.entries()) {
      boxes.set(target.name, {
        target,
        x: left + x * (BOX.width + GAP.column),
        y: MARGIN + y * (BOX.height + GAP.row),
      });
    }
  }
  const height = 2 * MARGIN + Math.max(1, rows.length) * (BOX.height + GAP.row) - GAP.row;
  return { boxes, width: inner + 2 * MARGIN, height };
};

const boxText = ({ target, x, y }: Box): string => {
  const gates = gatesOf(target);
  const lines = [
    `<text x="${x + 12}" y="${y + 20}" class="name">${escape(cutTo(`${target.number} ${target.name}`, 30))}</text>`,
    `<text x="${x + 12}" y="${y + 37}">${escape(cutTo(makerOf(target), FIT))}</text>`,
    gates.length === 0
      ? ''
      : `<text x="${x + 12}" y="${y + 53}">${escape(cutTo(shortList(gates), FIT))}</text>`,
  ];
  return lines.filter((line) => line !== '').join('');
};

const drawBox = (box: Box, status: string | undefined): string => {
  const { fill, stroke } = lookOf(status);
  const { target, x, y } = box;
  const title = [`${target.number} ${target.name}`, makerOf(target), ...gatesOf(target), status ?? ''];
  const shown = title.filter((part) => part !== '').join(', ');
  return `<g><title>${escape(shown)}</title><rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="8" fill="${fill}" stroke="${stroke}"/>${boxText(box)}</g>`;
};

const drawEdge = (from: Box, to: Box): string => {
  const [x1, y1, x2, y2] = [from.x + BOX.width / 2, from.y + BOX.height, to.x + BOX.width / 2, to.y];
  const middle = (y1 + y2) / 2;
  return `<path d="M${x1},${y1} C${x1},${middle} ${x2},${middle} ${x2},${y2}" marker-end="url(#arrow)"/>`;
};

/** The way back of a rejection: along the right side, dashed. */
const drawBack = (from: Box, to: Box): string => {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x + BOX.width, to.y + BOX.height / 2];
  const out = Math.max(x1, x2) + 20;
  return `<path d="M${x1},${y1} C${out},${y1} ${out},${y2} ${x2},${y2}" class="back" marker-end="url(#arrow)"/>`;
};

const STYLE =
  'text{font:11px sans-serif;fill:#57606a}.name{font:bold 13px sans-serif;fill:#1f2328}path{fill:none;stroke:#8c959f}.back{stroke:#cf222e;stroke-dasharray:4 3}';
const ARROW =
  '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><polygon points="0,0 8,4 0,8" fill="#8c959f"/></marker>';

/** A picture of its own, without fonts, scripts or links from elsewhere. */
export const renderSvg = (pipeline: Pipeline, { status }: RenderOptions): string => {
  const { boxes, width, height } = layout(pipeline.targets);
  const edges = [...boxes.values()].flatMap((box) => {
    const back = box.target.onReject === undefined ? undefined : boxes.get(box.target.onReject);
    const up = box.target.needs.flatMap((need) => boxes.get(need) ?? []);
    return [...up.map((from) => drawEdge(from, box)), ...(back === undefined ? [] : [drawBack(box, back)])];
  });
  const nodes = [...boxes.values()].map((box) =>
    drawBox(box, status === undefined ? undefined : (status[box.target.name] ?? 'pending')),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escape(pipeline.name)}</title>`,
    `<style>${STYLE}</style>`,
    `<defs>${ARROW}</defs>`,
    ...edges,
    ...nodes,
    '</svg>',
    '',
  ].join('\n');
};
