import pLimit from 'p-limit';
import { workerFor } from '../../workers/registry.js';
import type { Agent } from '../../workers/worker.js';
import { AGENTS, type AgentName } from '../model/pipeline.js';
import { findAgent } from '../process/agent-check.js';
import { childEnvironment } from '../process/child-env.js';
import { probe } from '../process/probe.js';
import { versionIn, type Finding } from './doctor-finding.js';
import type { Session } from './session.js';

/** Each program is asked twice, and some take seconds: not all at once. */
const AT_ONCE = 3;

/** One line an agent, and what follows for a critic. No token is spent: nothing is asked of a model. */
export const agentFindings = async (session: Session): Promise<readonly Finding[]> => {
  const limit = pLimit(AT_ONCE);
  const found = await Promise.all(AGENTS.map((name) => limit(() => agentFinding(session, name))));
  const ready = found.filter(({ state }) => state === 'ok');
  return [...found, ...(ready.length === 0 ? [noneReady()] : [familiesOf(ready)])];
};

const agentOf = (name: AgentName): Agent => {
  const { agent } = workerFor({
    name,
    adapter: name,
    command: [],
    agents: [],
    args: [],
    env: {},
    sandbox: { mode: 'off', network: true, read: [], write: [] },
  });
  if (agent === undefined) throw new Error(`${name} is no agent`);
  return agent;
};

const agentFinding = async (
  session: Session,
  name: AgentName,
): Promise<Finding & { readonly name: string }> => {
  const agent = agentOf(name);
  const { env } = session.io;
  const { program, login } = findAgent(agent, { env, cwd: session.cwd });
  if (program === undefined)
    return { name, state: 'missing', detail: 'not on your PATH', fix: agent.install };
  const asked = await askAgent(session, program, agent);
  const detail = `${asked.version}, ${program}`;
  const facts = { name, version: asked.version, program };
  if (asked.missing.length > 0) {
    const fix = `update it: ${agent.install}`;
    return {
      ...facts,
      state: 'problem',
      detail: `${detail}: its help does not know ${asked.missing.join(', ')}`,
      fix,
    };
  }
  if (login === undefined)
    return { ...facts, state: 'problem', detail: `${detail}: not logged in`, fix: agent.login.command };
  return { ...facts, state: 'ok', detail: `${detail}, logged in by ${login}` };
};

const askAgent = async (session: Session, program: string, agent: Agent) => {
  const env = childEnvironment({
    parent: session.io.env,
    allow: [],
    set: { ...agent.quiet, NO_COLOR: '1', CI: '1' },
  });
  const place = { cwd: session.cwd, env };
  const [version, help] = await Promise.all([
    probe(program, ['--version'], place),
    probe(program, agent.helpArgs, place),
  ]);
  const text = `${help.stdout}\n${help.stderr}`;
  return {
    version: versionIn(version.stdout),
    missing: agent.helpHas.filter((flag) => !text.includes(flag)),
  };
};

const noneReady = (): Finding => ({
  name: 'agents',
  state: 'problem',
  detail: 'no agent is ready, so `adapter: auto` has nothing to take; `orchestrate demo` works all the same',
  fix: 'install one and log in, e.g. the first of the list above',
});

/** A critic that shares the builder's model shares its blind spots. */
const familiesOf = (ready: readonly { readonly name: string }[]): Finding => {
  const families = new Map(ready.map(({ name }) => [agentOf(name as AgentName).family, name]));
  const names = [...families.values()];
  if (names.length > 1) {
    return {
      name: 'critic',
      state: 'ok',
      detail: `${names.slice(0, 2).join(' and ')} are of different model families: the built-in pipeline has one build and the other judge`,
    };
  }
  return {
    name: 'critic',
    state: 'note',
    detail: `builder and critic will both be ${names[0] ?? ''}: they share blind spots`,
    fix: 'install and log in to an agent of another model family; the critic then takes it by itself',
  };
};
