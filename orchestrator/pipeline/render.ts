import type { Pipeline } from '../model/pipeline.js';
import { renderAscii } from './render-ascii.js';
import { renderDot } from './render-dot.js';
import { renderMermaid } from './render-mermaid.js';
import { renderSvg } from './render-svg.js';
import type { GraphFormat, RenderOptions } from './render-text.js';

const RENDERERS: Readonly<Record<GraphFormat, (pipeline: Pipeline, options: RenderOptions) => string>> = {
  ascii: renderAscii,
  mermaid: renderMermaid,
  dot: renderDot,
  svg: renderSvg,
};

/** The pipeline as text that a person or a tool reads; ends with a newline. Arrows go from a prerequisite to what needs it. */
export const renderGraph = (pipeline: Pipeline, options: RenderOptions): string =>
  RENDERERS[options.format](pipeline, options);
