import { AGENTS, type Adapter, type AgentName, type WorkerSpec } from '../orchestrator/model/pipeline.js';
import { autoWorker } from './auto.js';
import { claudeWorker } from './claude.js';
import { codexWorker } from './codex.js';
import { commandWorker } from './command.js';
import { copilotWorker } from './copilot.js';
import { geminiWorker } from './gemini.js';
import { opencodeWorker } from './opencode.js';
import { piWorker } from './pi.js';
import { qwenWorker } from './qwen.js';
import { scriptedWorker } from './scripted.js';
import type { Worker } from './worker.js';

/** Every adapter by the name that `adapter:` in targets.yaml uses. */
const WORKERS = {
  auto: autoWorker,
  claude: claudeWorker,
  codex: codexWorker,
  command: commandWorker,
  copilot: copilotWorker,
  gemini: geminiWorker,
  opencode: opencodeWorker,
  pi: piWorker,
  qwen: qwenWorker,
  scripted: scriptedWorker,
} satisfies Record<Adapter, Worker>;

export const workerFor = (spec: WorkerSpec): Worker => WORKERS[spec.adapter];

/** The agents in the order in which `auto` looks for one. */
export const agentsInOrder = (): readonly AgentName[] => AGENTS;

/**
 * What to show beside the name of a worker: its own label, and always the label of its adapter, so that a scripted
 * worker cannot be labelled as something else.
 */
export const labelOf = (spec: WorkerSpec): string | undefined => {
  const labels = [spec.label, workerFor(spec).label].filter((label) => label !== undefined);
  return labels.length === 0 ? undefined : labels.join('; ');
};
