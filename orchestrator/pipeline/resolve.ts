import { DEFAULT_ROUNDS } from '../model/limits.js';
import type { Budget, Limits, Makes, Recipe, Settings, Target, WorkerSpec } from '../model/pipeline.js';
import type { Merged } from './extend.js';
import { expandTargets, numberAll, type Expanded } from './foreach.js';
import type { Finding } from './problems.js';
import { argvOf, resolveGate, resolveLimits } from './resolve-gates.js';
import { impliedWorkers, toSandbox, toWorker, workerFindings } from './resolve-workers.js';
import type { RawTarget } from './schema.js';

/** The six pillars. Source: DESIGN section 2. */
const DEFAULT_PILLARS = [
  'correctness',
  'tests',
  'security',
  'performance',
  'api-compatibility',
  'simplicity',
] as const;

const DEFAULT_JOBS = 4;
const DEFAULT_ATTEMPTS = 2;
const DEFAULT_LIMITS: Limits = { idleMs: 600_000, timeoutMs: 3_600_000, graceMs: 5_000 };

/** Shared by all targets that have none: ten thousand empty lists are not free. */
const NONE: readonly never[] = [];

/** A target with its defaults, before its files are read and its digest is taken. */
export interface Draft extends Omit<Target, 'recipeDigest' | 'manual'> {
  /** Absolute. */
  readonly manualPath?: string;
  /** Its name in the file; for an item of a `foreach` not its own name. */
  readonly origin: string;
  /** Some of its keys were refused, so what it lacks is no news. */
  readonly damaged: boolean;
}

export interface Resolved {
  readonly name: string;
  readonly settings: Omit<Settings, 'kernel'> & { readonly kernelPath?: string };
  readonly workers: Readonly<Record<string, WorkerSpec>>;
  /** In the order of the files; not yet topological. */
  readonly drafts: readonly Draft[];
  readonly findings: readonly Finding[];
}

const RECIPE_KEYS = ['command', 'worker', 'builtin'] as const;

const resolveRecipe = (
  raw: RawTarget,
  origin: string,
  sink: { findings: Finding[]; damaged: boolean },
): Recipe => {
  const given = RECIPE_KEYS.filter((key) => raw[key] !== undefined);
  const [, second] = given;
  if (second !== undefined) {
    const message = `\`${origin}\` has ${given.map((key) => `\`${key}\``).join(' and ')}`;
    sink.findings.push({
      path: ['targets', origin, second],
      at: 'key',
      message,
      expected: 'exactly one of them',
      fix: `remove \`${second}\`, or split the target in two`,
    });
  }
  if (raw.command !== undefined) return { kind: 'command', argv: argvOf(raw.command) };
  if (raw.worker !== undefined) return { kind: 'worker', worker: raw.worker };
  if (raw.builtin !== undefined) return { kind: 'builtin', builtin: raw.builtin };
  if (!sink.damaged) {
    const message = `nothing makes \`${origin}\``;
    sink.findings.push({
      path: ['targets', origin, 'command'],
      message,
      expected: '`command`, `worker` or `builtin`',
      fix: 'add one of them',
    });
  }
  return { kind: 'command', argv: NONE };
};

const accessOf = (makes: Makes): Draft['access'] =>
  makes === 'diff' || makes === 'files' ? 'write' : 'read-only';

interface DraftContext {
  readonly limits: Limits;
  readonly attempts: number;
  readonly damaged: ReadonlySet<string>;
  readonly groups: ReadonlyMap<string, readonly string[]>;
  readonly findings: Finding[];
}

const resolveNeeds = (
  needs: readonly string[] | undefined,
  groups: DraftContext['groups'],
): readonly string[] => {
  if (needs === undefined || needs.length === 0) return NONE;
  return [...new Set(needs.flatMap((need) => groups.get(need) ?? [need]))];
};

const optionalParts = (raw: RawTarget): Partial<Draft> => ({
  ...(raw.manual === undefined ? {} : { manualPath: raw.manual }),
  ...(raw.onReject === undefined ? {} : { onReject: raw.onReject }),
  ...(raw.when === undefined ? {} : { whenLabels: raw.when.labels }),
});

const toDraft = ({ name, origin, raw }: Expanded, number: number, context: DraftContext): Draft => {
  const { findings } = context;
  const path = ['targets', origin];
  const damaged = context.damaged.has(`targets.${origin}`);
  const makes = raw.makes ?? 'files';
  const limits = resolveLimits(raw.limits, context.limits, { findings, path: [...path, 'limits'] });
  const gates = raw.gates?.map((gate, at) =>
    resolveGate(gate, limits, { findings, path: [...path, 'gates', at] }),
  );
  return {
    number,
    name,
    origin,
    damaged,
    needs: resolveNeeds(raw.needs, context.groups),
    recipe: resolveRecipe(raw, origin, { findings, damaged }),
    makes,
    access: raw.access ?? accessOf(makes),
    inputs: raw.inputs ?? NONE,
    outputs: raw.outputs ?? NONE,
    gates: gates ?? NONE,
    attempts: raw.attempts ?? context.attempts,
    limits,
    latch: raw.latch ?? false,
    ...optionalParts(raw),
  };
};

const toSettings = (settings: Merged['settings']): Resolved['settings'] => ({
  tickets: { source: 'file', path: settings.tickets?.path ?? 'tickets/{ticket}.md' },
  remote: settings.remote ?? 'origin',
  ...(settings.base === undefined ? {} : { base: settings.base }),
  branch: settings.branch ?? 'orchestrate/{ticket}',
  jobs: settings.jobs ?? DEFAULT_JOBS,
  rounds: settings.rounds ?? DEFAULT_ROUNDS,
  pillars: settings.pillars ?? DEFAULT_PILLARS,
  ...(settings.kernel === undefined ? {} : { kernelPath: settings.kernel }),
  env: settings.env ?? NONE,
  sandbox: toSandbox(settings.sandbox),
  ignored: settings.ignored ?? NONE,
  ...budgetOf(settings.budget),
});

const budgetOf = (raw: Merged['settings']['budget']): { readonly budget?: Budget } => {
  if (raw === undefined) return {};
  const { costUsd, tokens } = raw;
  return {
    budget: { ...(costUsd === undefined ? {} : { costUsd }), ...(tokens === undefined ? {} : { tokens }) },
  };
};

/** Fills in defaults and expands `foreach`. What cannot be resolved is a finding and gets a harmless stand-in. */
export const resolveMerged = (merged: Merged): Resolved => {
  const findings: Finding[] = [];
  const settings = toSettings(merged.settings);
  const expansion = expandTargets(merged.targets, settings.pillars);
  const limits = resolveLimits(merged.settings.limits, DEFAULT_LIMITS, { findings, path: ['limits'] });
  const attempts = merged.settings.attempts ?? DEFAULT_ATTEMPTS;
  const context = { limits, attempts, damaged: merged.damaged, groups: expansion.groups, findings };
  const numbers = numberAll(expansion.expanded);
  const drafts = expansion.expanded.map((target, at) => toDraft(target, numbers[at] ?? at, context));
  const named = new Map([...impliedWorkers(drafts, merged.workers), ...merged.workers]);
  const workers = Object.fromEntries(
    [...named].map(([name, raw]) => [name, toWorker(name, raw, settings.sandbox)]),
  );
  for (const [name, raw] of merged.workers) {
    if (!merged.damaged.has(`workers.${name}`)) findings.push(...workerFindings(name, raw, merged.workers));
  }
  const name = merged.settings.name ?? 'pipeline';
  return { name, settings, workers, drafts, findings: [...expansion.findings, ...findings] };
};
