import { AGENTS, type SandboxRule, type Target, type WorkerSpec } from '../model/pipeline.js';
import type { Finding } from './problems.js';
import type { RawSandbox, RawWorker } from './schema.js';

const DEFAULT_SANDBOX: SandboxRule = { mode: 'auto', network: true, read: [], write: [] };

const NONE: readonly never[] = [];

/** @param base the rule of the pipeline, for what a worker does not say */
export const toSandbox = (raw: RawSandbox | undefined, base: SandboxRule = DEFAULT_SANDBOX): SandboxRule => {
  if (raw === undefined) return base;
  const { mode, network, read, write } = typeof raw === 'string' ? { mode: raw } : raw;
  return {
    mode: mode ?? base.mode,
    network: network === undefined ? base.network : network === 'on',
    read: read ?? base.read,
    write: write ?? base.write,
  };
};

export const toWorker = (name: string, raw: RawWorker, sandbox: SandboxRule): WorkerSpec => ({
  name,
  adapter: raw.adapter ?? 'command',
  command: raw.command ?? NONE,
  agents: raw.agents ?? NONE,
  ...(raw.unlike === undefined ? {} : { unlike: raw.unlike }),
  ...(raw.model === undefined ? {} : { model: raw.model }),
  args: raw.args ?? NONE,
  ...(raw.maxTurns === undefined ? {} : { maxTurns: raw.maxTurns }),
  sandbox: toSandbox(raw.sandbox, sandbox),
  env: raw.env ?? {},
  ...(raw.label === undefined ? {} : { label: raw.label }),
});

const ADAPTERS = ['auto', ...AGENTS] as const;

/** `worker: auto` and `worker: claude` need no entry under `workers:`; one of that name there is what counts. */
export const impliedWorkers = (
  drafts: readonly Pick<Target, 'recipe'>[],
  defined: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, RawWorker> => {
  const implied = new Map<string, RawWorker>();
  for (const { recipe } of drafts) {
    if (recipe.kind !== 'worker') continue;
    const adapter = ADAPTERS.find((name) => name === recipe.worker);
    if (adapter !== undefined && !defined.has(adapter)) implied.set(adapter, { adapter });
  }
  return implied;
};

/** Keys that only some adapters have a use for. */
const ONLY_AUTO = ['agents', 'unlike'] as const;
const ONLY_AGENTS = ['args', 'maxTurns'] as const;

/** What is wrong with a worker as a whole. What only its adapter knows is asked of that. */
export const workerFindings = (
  name: string,
  raw: RawWorker,
  workers: ReadonlyMap<string, unknown>,
): readonly Finding[] => {
  const path = ['workers', name];
  const findings: Finding[] = [...commandFindings(name, raw)];
  const at = (key: keyof RawWorker, message: string, fix: string): void => {
    if (raw[key] !== undefined) findings.push({ path: [...path, key], at: 'key', message, fix });
  };
  if (raw.adapter === undefined) {
    findings.push({
      path: [...path, 'adapter'],
      message: `worker \`${name}\` has no adapter`,
      expected: '`auto`, `command` or the name of an agent',
      fix: 'add `adapter: auto`',
    });
  }
  if (raw.adapter !== 'auto') {
    for (const key of ONLY_AUTO)
      at(key, `\`${key}\` is only for \`adapter: auto\``, `remove \`${key}\`, or write \`adapter: auto\``);
  }
  if (raw.adapter === 'command' || raw.adapter === 'scripted') {
    for (const key of ONLY_AGENTS)
      at(key, `\`${key}\` is only for agents, and worker \`${name}\` is none`, `remove \`${key}\``);
  }
  if (raw.unlike !== undefined && (!workers.has(raw.unlike) || raw.unlike === name))
    at('unlike', `there is no other worker \`${raw.unlike}\``, 'name another worker of this pipeline');
  return findings;
};

const commandFindings = (name: string, raw: RawWorker): readonly Finding[] => {
  const path = ['workers', name, 'command'];
  if (raw.adapter === 'command' && raw.command === undefined) {
    return [
      {
        path,
        message: `worker \`${name}\` has no command`,
        expected: 'a list of the program and its arguments',
        fix: 'add e.g. `command: [my-agent, --headless]`',
      },
    ];
  }
  if (raw.adapter === undefined || raw.adapter === 'command' || raw.command === undefined) return [];
  const what =
    raw.adapter === 'scripted' ? 'is scripted and runs no command' : `is started by \`${raw.adapter}\``;
  return [
    {
      path,
      at: 'key',
      message: `worker \`${name}\` ${what}`,
      fix: 'remove `command`, or write `adapter: command`',
    },
  ];
};
