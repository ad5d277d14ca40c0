import { workerFor } from '../../workers/registry.js';
import type { ChildEnd } from '../model/child.js';
import { AGENTS, type AgentName, type Target, type WorkerSpec } from '../model/pipeline.js';
import { findAgent } from '../process/agent-check.js';
import { policyOf } from '../scheduler/policy.js';
import { stateOf, type FailureFacts, type TicketRun } from './ticket-run.js';

export interface Chosen {
  /** With the adapter of one agent. */
  readonly spec: WorkerSpec;
  /** Absent when the pipeline names the adapter itself. */
  readonly why?: string;
}

/** Agents that could not go on in this run, by worker: the next one of its list is taken. */
const givenUp = new WeakMap<TicketRun, Map<string, Map<AgentName, string>>>();

const givenUpBy = (run: TicketRun, worker: string): Map<AgentName, string> => {
  const all = givenUp.get(run) ?? new Map<string, Map<AgentName, string>>();
  givenUp.set(run, all);
  const found = all.get(worker) ?? new Map<AgentName, string>();
  all.set(worker, found);
  return found;
};

const isAgent = (name: string): name is AgentName => (AGENTS as readonly string[]).includes(name);

const familyOf = (name: AgentName, spec: WorkerSpec): string =>
  workerFor({ ...spec, adapter: name }).agent?.family ?? 'any';

/**
 * The agent of a worker. For `auto`: the first of its list, or of the documented order, that is installed and logged in; with
 * `unlike` the first of another model family than that worker's, where there is one.
 */
export const chooseAgent = (
  run: TicketRun,
  spec: WorkerSpec,
): Chosen | { readonly failure: FailureFacts } => {
  if (spec.adapter !== 'auto') return { spec };
  const place = { env: run.env, cwd: run.paths.mainRoot };
  const states = agentStates(place, spec, givenUpBy(run, spec.name));
  const ready = states.filter(({ problem }) => problem === undefined);
  const other = spec.unlike === undefined ? undefined : familyOfWorker(run, spec.unlike);
  const [first] = ready;
  const preferred = other === undefined ? first : ready.find(({ name }) => familyOf(name, spec) !== other);
  const taken = preferred ?? first;
  if (taken === undefined) return { failure: noAgent(spec, states) };
  const passed = states.slice(0, states.indexOf(taken)).filter(({ problem }) => problem !== undefined);
  return { spec: { ...spec, adapter: taken.name }, why: whyTaken({ taken, passed, other, spec }) };
};

interface AgentState {
  readonly name: AgentName;
  /** Why it cannot be taken. */
  readonly problem?: string;
  readonly login?: string;
}

interface Place {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** Every agent that a worker may be, in its order, with what keeps it from being taken. */
const agentStates = (
  place: Place,
  spec: WorkerSpec,
  out: ReadonlyMap<AgentName, string>,
): readonly AgentState[] =>
  (spec.agents.length > 0 ? spec.agents : AGENTS).map((name) => {
    const { agent } = workerFor({ ...spec, adapter: name });
    if (agent === undefined) return { name, problem: 'is no agent' };
    const { program, login } = findAgent(agent, place);
    if (program === undefined) return { name, problem: 'is not installed' };
    if (login === undefined) return { name, problem: `is not logged in (\`${agent.login.command}\`)` };
    const given = out.get(name);
    return given === undefined ? { name, login } : { name, problem: given };
  });

/** Why no agent can be started for a worker, or `undefined`. Asked before anything is. */
export const agentProblem = (place: Place, spec: WorkerSpec): FailureFacts | undefined => {
  if (spec.adapter === 'auto') {
    const states = agentStates(place, spec, new Map());
    return states.some(({ problem }) => problem === undefined) ? undefined : noAgent(spec, states);
  }
  const { agent } = workerFor(spec);
  if (agent === undefined || findAgent(agent, place).program !== undefined) return undefined;
  return {
    kind: 'program-missing',
    message: `worker \`${spec.name}\` needs the program \`${agent.program}\`, which is not on your PATH`,
    next: `install it (\`${agent.install}\`), or choose another agent; \`orchestrate demo\` runs without any`,
    canRetry: false,
  };
};

const familyOfWorker = (run: TicketRun, name: string): string | undefined => {
  const spec = run.pipeline.workers[name];
  if (spec === undefined) return undefined;
  if (isAgent(spec.adapter)) return familyOf(spec.adapter, spec);
  if (spec.adapter !== 'auto' || spec.unlike !== undefined) return undefined;
  const chosen = chooseAgent(run, spec);
  return 'failure' in chosen || !isAgent(chosen.spec.adapter)
    ? undefined
    : familyOf(chosen.spec.adapter, spec);
};

const whyTaken = (facts: {
  readonly taken: AgentState;
  readonly passed: readonly AgentState[];
  readonly other: string | undefined;
  readonly spec: WorkerSpec;
}): string => {
  const { taken, passed, other, spec } = facts;
  const reasons = [`logged in by ${taken.login ?? 'its own means'}`];
  if (other !== undefined) {
    const isOther = familyOf(taken.name, spec) !== other;
    reasons.push(
      isOther
        ? `another model family than ${spec.unlike ?? ''}`
        : `the same model family as ${spec.unlike ?? ''}, because no other agent is ready`,
    );
  }
  return [...reasons, ...passed.map(({ name, problem }) => `${name} ${problem ?? ''}`)].join('; ');
};

const noAgent = (spec: WorkerSpec, states: readonly AgentState[]): FailureFacts => ({
  kind: 'agent-missing',
  message: `worker \`${spec.name}\`: no agent can be started: ${states.map(({ name, problem }) => `${name} ${problem ?? ''}`).join('; ')}`,
  next: 'install one and log in (`orchestrate doctor` says how); `orchestrate demo` runs without any agent',
  canRetry: false,
});

/** The spec that the running attempt of a target was started with. */
export const startedSpec = (run: TicketRun, target: Target): WorkerSpec => {
  const name = target.recipe.kind === 'worker' ? target.recipe.worker : '';
  const spec = run.pipeline.workers[name];
  if (spec === undefined) throw new Error(`worker ${name} is not in the pipeline`);
  const taken = stateOf(run, target).context.agent?.name;
  return spec.adapter === 'auto' && taken !== undefined && isAgent(taken)
    ? { ...spec, adapter: taken }
    : spec;
};

/** A list of agents is a chain: one that is at its limit, logged out or out of reach gives way to the next in this run. */
export const giveUpAgent = (run: TicketRun, spec: WorkerSpec, end: ChildEnd): void => {
  if (spec.agents.length < 2 || !isAgent(spec.adapter)) return;
  if (!['usage-limit', 'auth', 'overloaded', 'network'].includes(end.kind)) return;
  const policy = policyOf(end);
  givenUpBy(run, spec.name).set(spec.adapter, 'message' in policy ? policy.message : end.kind);
};

/** Whether another agent of the worker's list can take over from one that ended so. */
export const hasSuccessor = (run: TicketRun, target: Target): boolean => {
  const spec = startedSpec(run, target);
  if (spec.agents.length < 2) return false;
  const place = { env: run.env, cwd: run.paths.mainRoot };
  return agentStates(place, spec, givenUpBy(run, spec.name)).some(({ problem }) => problem === undefined);
};
