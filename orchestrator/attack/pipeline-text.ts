import { readFileSync } from 'node:fs';
import { basename, isAbsolute, join, relative } from 'node:path';
import { isInside } from '../git/git.js';
import type {
  Gate,
  Limits,
  ManualRef,
  Pipeline,
  SandboxRule,
  Target,
  WorkerSpec,
} from '../model/pipeline.js';
import { TOKEN_VARIABLE } from '../../workers/hostile/steps.js';
import { AGENT } from './names.js';

/** What the throw-away pipeline is made from. */
export interface TextRequest {
  readonly pipeline: Pipeline;
  /** Of the person's repository and home: what a sandbox is shown there is shown of the throw-away ones instead. */
  readonly root: string;
  readonly home: string;
  readonly token: string;
  readonly ordersPath: string;
  /** What a check runs. Default: something that always passes. */
  readonly check?: readonly string[];
}

const ms = (value: number): string => `${value}ms`;

const limitsOf = ({ idleMs, timeoutMs, graceMs }: Limits) => ({
  idle: ms(idleMs),
  timeout: ms(timeoutMs),
  grace: ms(graceMs),
});

const gateOf = (gate: Gate, check: readonly string[]): unknown => {
  switch (gate.kind) {
    case 'approval':
      return { approval: gate.by === 'person' ? 'person' : { policy: gate.policy } };
    case 'check':
      return { check: { name: gate.name, run: check } };
    case 'blast-radius':
    case 'not-empty':
    case 'verdict':
      return gate.kind;
  }
};

const HARMLESS = ['/bin/sh', '-c', ':'];

/** Makes the outputs and nothing else. */
const standIn = (outputs: readonly string[]): readonly string[] => [
  '/bin/sh',
  '-c',
  'for path do mkdir -p "$(dirname "$path")" && echo made >"$path"; done',
  'sh',
  ...outputs,
];

const recipeOf = ({ recipe, outputs }: Target): unknown => {
  switch (recipe.kind) {
    case 'builtin':
      return { builtin: recipe.builtin };
    case 'command':
      return { command: standIn(outputs) };
    case 'worker':
      return { worker: recipe.worker };
  }
};

/** Numbers, names, prerequisites, gates, limits and latches stay; of manuals and inputs no attack knows anything. */
const targetOf = (target: Target, manual: string | undefined, check: readonly string[]): unknown => ({
  number: target.number,
  needs: target.needs,
  ...(recipeOf(target) as object),
  ...(target.recipe.kind === 'builtin' ? {} : { makes: target.makes, access: target.access }),
  ...(manual === undefined ? {} : { manual }),
  outputs: target.outputs,
  gates: target.gates.map((gate) => gateOf(gate, check)),
  ...(target.onReject === undefined ? {} : { onReject: target.onReject }),
  attempts: target.attempts,
  limits: limitsOf(target.limits),
  latch: target.latch,
  ...(target.whenLabels === undefined ? {} : { when: { labels: target.whenLabels } }),
});

/** A path of the person's as one of the throw-away repository or home; what lies elsewhere is left out. */
const placed = (path: string, { root, home }: TextRequest): readonly string[] => {
  if (!isAbsolute(path)) return [path];
  if (isInside(path, root)) return [relative(root, path)];
  return isInside(path, home) ? [join('~', relative(home, path))] : [];
};

const sandboxOf = (rule: SandboxRule, request: TextRequest) => ({
  mode: rule.mode,
  network: rule.network ? 'on' : 'off',
  read: rule.read.flatMap((path) => placed(path, request)),
  write: rule.write.flatMap((path) => placed(path, request)),
});

const workerOf = (spec: WorkerSpec, request: TextRequest) => ({
  adapter: 'command',
  command: [AGENT, request.ordersPath],
  env: { [TOKEN_VARIABLE]: request.token },
  sandbox: sandboxOf(spec.sandbox, request),
});

/** Texts that the workers are told, by their path in the throw-away repository. */
export const residentFiles = ({ settings, targets }: Pipeline): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [settings.kernel, ...targets.map(({ manual }) => manual)]
      .filter((manual) => manual !== undefined)
      .map((manual) => [residentName(manual), readFileSync(manual.path, 'utf8')]),
  );

/** Two manuals may have one name. */
export const residentName = ({ path, digest }: ManualRef): string =>
  `manuals/${digest.slice(7, 15)}-${basename(path)}`;

/** Folders that a sandbox is to be able to write; they must exist. */
export const writablePaths = (request: TextRequest): readonly string[] =>
  [
    request.pipeline.settings.sandbox,
    ...Object.values(request.pipeline.workers).map(({ sandbox }) => sandbox),
  ]
    .flatMap(({ write }) => write)
    .flatMap((path) => placed(path, request));

/**
 * The `targets.yaml` of a throw-away repository: the person's pipeline, with the hostile program in the place of every worker,
 * stand-ins for plain commands and for checks. JSON, which is YAML as well.
 */
export const pipelineText = (request: TextRequest): string => {
  const { pipeline, check = HARMLESS } = request;
  const { settings, workers, targets } = pipeline;
  const manualOf = ({ manual }: Target) => (manual === undefined ? undefined : residentName(manual));
  return `${JSON.stringify(
    {
      version: 1,
      name: 'attacked',
      tickets: { source: 'file', path: settings.tickets.path },
      branch: settings.branch,
      remote: settings.remote,
      ...(settings.base === undefined ? {} : { base: settings.base }),
      jobs: settings.jobs,
      rounds: settings.rounds,
      pillars: settings.pillars,
      ...(settings.kernel === undefined ? {} : { kernel: residentName(settings.kernel) }),
      env: settings.env,
      sandbox: sandboxOf(settings.sandbox, request),
      workers: Object.fromEntries(
        Object.entries(workers).map(([name, spec]) => [name, workerOf(spec, request)]),
      ),
      targets: Object.fromEntries(
        targets.map((target) => [target.name, targetOf(target, manualOf(target), check)]),
      ),
    },
    undefined,
    2,
  )}\n`;
};
