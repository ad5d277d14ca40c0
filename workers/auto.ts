import type { WorkerSpec } from '../orchestrator/model/pipeline.js';
import type { Worker } from './worker.js';

const problemsOf = (spec: WorkerSpec): readonly string[] => {
  const problems: string[] = [];
  const { name, agents } = spec;
  if (spec.command.length > 0) {
    problems.push(
      `worker \`${name}\` takes whichever agent is ready and so no \`command\`; remove it, or use \`adapter: command\``,
    );
  }
  for (const twice of new Set(agents.filter((agent, index) => agents.indexOf(agent) !== index)))
    problems.push(`\`agents\` of worker \`${name}\` names \`${twice}\` twice; remove one`);
  // A model and further arguments belong to one program.
  for (const key of ['model', 'args'] as const) {
    const value = spec[key];
    if (value === undefined || value.length === 0 || agents.length === 1) continue;
    problems.push(
      `\`${key}\` of worker \`${name}\` would be given to whichever agent is ready; name that one agent as \`adapter\`, or remove \`${key}\``,
    );
  }
  return problems;
};

/** Stands for the first agent that is ready: whoever starts a worker puts that agent's adapter in its place. */
export const autoWorker: Worker = {
  name: 'auto',
  problems: problemsOf,
  invocation: ({ spec }) => {
    throw new Error(`worker ${spec.name}: \`auto\` must be replaced by an agent before anything is started`);
  },
};
