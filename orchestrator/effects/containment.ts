import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { ContainmentRecord } from '../model/event.js';
import { Problem } from '../model/failure.js';
import type { SandboxRule } from '../model/pipeline.js';
import { findSandbox, sandboxArgv, sandboxProblem, type Found } from '../process/sandbox.js';
import { stateFolder } from '../state/run-dir.js';
import { TURNED_OFF } from './turned-off.js';
import type { FailureFacts, TicketRun } from './ticket-run.js';

/** What holds a child, and what the record says about it. */
export interface Containment extends ContainmentRecord {
  readonly found?: Extract<Found, { readonly kind: 'bubblewrap' }>;
}

let probed: Promise<Found> | undefined;

/** Looked for once a process: the probe starts one. */
export const sandboxHere = (env: NodeJS.ProcessEnv): Promise<Found> => {
  probed ??= findSandbox(env);
  return probed;
};

/**
 * The tier of a child under a rule.
 * @throws `Problem` `sandbox-missing` when one is required and there is none
 */
export const containmentFor = async (run: TicketRun, rule: SandboxRule): Promise<Containment> => {
  if (rule.mode === 'off') return { tier: 'same-user', detail: TURNED_OFF };
  const found = await sandboxHere(run.env);
  if (found.kind === 'bubblewrap') {
    const network = rule.network ? '' : ', no network';
    return { tier: 'sandbox', detail: `bubblewrap ${found.version}${network}`, found };
  }
  if (rule.mode === 'auto') return { tier: 'same-user', detail: found.why };
  throw new Problem(sandboxProblem(rule, found) ?? { kind: 'sandbox-missing', message: found.why });
};

export const recordOf = ({ tier, detail }: Containment): ContainmentRecord => ({ tier, detail });

interface Contained {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly rule: SandboxRule;
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/**
 * What is really started: the program, or the sandbox with the program in it.
 * @throws `Problem` when it cannot be: no such program, or a place that the rule names and that is not there
 */
export const contain = (run: TicketRun, { found }: Containment, request: Contained): readonly string[] => {
  const { argv, cwd, env, rule } = request;
  if (found === undefined) return argv;
  const home = run.env['HOME'] ?? homedir();
  const place = (path: string): string => placeOf(path, home, run.paths.mainRoot);
  return sandboxArgv(found, {
    argv,
    cwd,
    env,
    home,
    read: [...request.read, ...rule.read.map(place)],
    write: [...request.write, ...rule.write.map(place)],
    programs: [join(run.packageRoot, 'dist')],
    hidden: [stateFolder(run.paths.mainRoot), run.home],
    network: rule.network,
  });
};

/** Of a pipeline: absolute, `~/…`, or relative to the repository. */
const placeOf = (path: string, home: string, root: string): string => {
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1));
  return isAbsolute(path) ? path : join(root, path);
};

/** Why something cannot be started under its rule, as a failure of its target. */
export const cannotContain = (error: unknown): FailureFacts => {
  if (!(error instanceof Problem)) throw error;
  return { ...error.failure, canRetry: false };
};
