import type { Pipeline, Target } from '../model/pipeline.js';
import { oneLine } from '../model/text.js';
import { layersOf } from './graph.js';
import { gatesOf, lookOf, makerOf, nameOf, shortList, type RenderOptions } from './render-text.js';

/** Longer names do not push the columns behind them further to the right. */
const MAX_COLUMN = 32;

interface Columns {
  readonly number: number;
  readonly name: number;
  readonly maker: number;
  readonly status: number;
}

const widest = (texts: readonly string[]): number =>
  texts.reduce((width, text) => Math.max(width, Math.min(text.length, MAX_COLUMN)), 0);

const layered = (targets: readonly Target[]): readonly (readonly Target[])[] => {
  const layers = layersOf(targets);
  const rows: Target[][] = [];
  for (const target of targets) {
    const layer = layers.get(target.name) ?? 0;
    const row = rows[layer] ?? [];
    row.push(target);
    rows[layer] = row;
  }
  return rows.map((row) => row.toSorted((a, b) => a.number - b.number));
};

const paint = (text: string, sgr: number, colour: boolean): string =>
  colour && sgr !== 0 ? `\u001b[${sgr}m${text}\u001b[0m` : text;

const branchOf = (at: number, count: number): string => {
  if (count === 1) return '';
  return at === count - 1 ? '`- ' : '+- ';
};

const detailOf = (target: Target): string => {
  const gates = gatesOf(target);
  const parts = [
    target.needs.length === 0 ? '' : `needs ${oneLine(shortList(target.needs))}`,
    gates.length === 0 ? '' : `gates: ${shortList(gates, 6)}`,
    target.onReject === undefined ? '' : `rejected -> ${oneLine(target.onReject)}`,
    target.whenLabels === undefined
      ? ''
      : `when ${target.whenLabels.map((label) => oneLine(label, 40)).join(' or ')}`,
    target.latch ? 'latch' : '',
  ];
  return parts.filter((part) => part !== '').join('; ');
};

/**
 * One line a target, layer by layer: a layer can start when the one above it is done. A layer of many stays a list, so a
 * graph of a thousand targets side by side is a thousand short lines and not one long one.
 */
export const renderAscii = (pipeline: Pipeline, options: RenderOptions): string => {
  const { targets } = pipeline;
  const { status, colour = false } = options;
  const rows = layered(targets);
  const branch = rows.some((row) => row.length > 1) ? 3 : 0;
  const columns: Columns = {
    number: widest(targets.map(({ number }) => String(number))),
    name: widest(targets.map(nameOf)) + branch,
    maker: widest(targets.map(makerOf)),
    status: status === undefined ? 0 : widest(Object.values(status)),
  };
  const statusText = (target: Target): string => {
    if (status === undefined) return '';
    const word = oneLine(status[target.name] ?? 'pending');
    const { mark, sgr } = lookOf(word);
    return `${paint(`[${mark}] ${word.padEnd(columns.status)}`, sgr, colour)}  `;
  };
  const line = (target: Target, at: number, count: number): string => {
    const name = `${branchOf(at, count)}${nameOf(target)}`.padEnd(columns.name);
    const number = String(target.number).padStart(columns.number);
    return `${statusText(target)}${number}  ${name}  ${makerOf(target).padEnd(columns.maker)}  ${detailOf(target)}`.trimEnd();
  };
  const indent = ' '.repeat((status === undefined ? 0 : columns.status + 6) + columns.number + 2);
  const heading = `${oneLine(pipeline.name)}: ${targets.length} ${targets.length === 1 ? 'target' : 'targets'}`;
  const body = rows.map((row) => row.map((target, at) => line(target, at, row.length)).join('\n'));
  return `${heading}\n\n${body.join(`\n${indent}|\n`)}\n`;
};
