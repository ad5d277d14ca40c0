import type { Gate, Target } from '../model/pipeline.js';
import { oneLine } from '../model/text.js';

export type GraphFormat = 'ascii' | 'mermaid' | 'dot' | 'svg';

export interface RenderOptions {
  readonly format: GraphFormat;
  /** Status by name of target; without it none is shown. A target that is not in it counts as pending. */
  readonly status?: Readonly<Record<string, string>>;
  /** Terminal colours; only `ascii` has any. */
  readonly colour?: boolean;
}

/** How a status looks: one mark for text, one colour for pictures. */
export interface StatusLook {
  /** One printable ASCII character. */
  readonly mark: string;
  /** SGR code of a terminal. */
  readonly sgr: number;
  readonly fill: string;
  readonly stroke: string;
}

const UNKNOWN: StatusLook = { mark: ' ', sgr: 0, fill: '#ffffff', stroke: '#57606a' };
const ACTIVE: StatusLook = { mark: '>', sgr: 36, fill: '#ddf4ff', stroke: '#0969da' };

const LOOKS: Readonly<Record<string, StatusLook>> = {
  pending: { mark: ' ', sgr: 2, fill: '#f6f8fa', stroke: '#8c959f' },
  active: ACTIVE,
  running: ACTIVE,
  gating: ACTIVE,
  waiting: { mark: '?', sgr: 33, fill: '#fff8c5', stroke: '#9a6700' },
  paused: { mark: '=', sgr: 33, fill: '#fff8c5', stroke: '#9a6700' },
  stopped: { mark: '=', sgr: 33, fill: '#fff8c5', stroke: '#9a6700' },
  failed: { mark: '!', sgr: 31, fill: '#ffebe9', stroke: '#cf222e' },
  done: { mark: 'x', sgr: 32, fill: '#dafbe1', stroke: '#1a7f37' },
  abandoned: { mark: '-', sgr: 2, fill: '#eaeef2', stroke: '#57606a' },
};

export const lookOf = (status: string | undefined): StatusLook =>
  status !== undefined && Object.hasOwn(LOOKS, status) ? (LOOKS[status] ?? UNKNOWN) : UNKNOWN;

/** A name as a line shows it. */
export const nameOf = ({ name }: Target): string => oneLine(name, 64);

/** What makes a target: `worker builder (diff)`, `command`, `builtin push`. */
export const makerOf = ({ name, recipe, makes }: Target): string => {
  switch (recipe.kind) {
    case 'worker':
      return `worker ${oneLine(recipe.worker, 64)} (${makes})`;
    case 'command':
      return makes === 'files' ? 'command' : `command (${makes})`;
    case 'builtin':
      return recipe.builtin === name ? 'builtin' : `builtin ${recipe.builtin}`;
  }
};

const gateText = (gate: Gate): string => {
  switch (gate.kind) {
    case 'approval':
      return gate.by === 'person' ? 'approval by a person' : 'approval by policy';
    case 'check':
      return `check ${oneLine(gate.name, 40)}`;
    case 'blast-radius':
    case 'not-empty':
    case 'verdict':
      return gate.kind;
  }
};

export const gatesOf = (target: Target): readonly string[] => target.gates.map(gateText);

/** Names joined by commas; of a long list the first few and a count. */
export const shortList = (names: readonly string[], most = 4): string =>
  names.length <= most
    ? names.join(', ')
    : `${names.slice(0, most - 1).join(', ')} and ${names.length - most + 1} more`;
