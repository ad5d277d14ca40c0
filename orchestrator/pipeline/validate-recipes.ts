import { isBranchName, staysInside } from './git-names.js';
import { listNames, type Finding } from './problems.js';
import type { Draft } from './resolve.js';
import { sleepIn } from './sleep.js';
import type { Scene } from './scene.js';

const SLEEP_FIX =
  'let the orchestrator wait: use a command that ends by itself when the thing is there, or `attempts` and `limits`';

/** A shell that sleeps hides from the watchdog and holds a slot. Source: REQUIREMENTS D3. */
const sleepFinding = (what: string, slept: string, path: Finding['path']): Finding => ({
  path,
  message: `${what} waits by \`${slept}\`; a recipe never sleeps, because waiting is by events and timers of the orchestrator`,
  fix: SLEEP_FIX,
});

const sleeping = (draft: Draft): readonly Finding[] => {
  const path = ['targets', draft.origin];
  const findings: Finding[] = [];
  const slept = draft.recipe.kind === 'command' ? sleepIn(draft.recipe.argv) : undefined;
  if (slept !== undefined)
    findings.push(sleepFinding(`the command of \`${draft.origin}\``, slept, [...path, 'command']));
  for (const [at, gate] of draft.gates.entries()) {
    const inCheck = gate.kind === 'check' ? sleepIn(gate.argv) : undefined;
    if (inCheck === undefined) continue;
    findings.push(sleepFinding(`a check of \`${draft.origin}\``, inCheck, [...path, 'gates', at, 'check']));
  }
  return findings;
};

const workerFinding = (draft: Draft, { resolved, suggest }: Scene): readonly Finding[] => {
  if (draft.recipe.kind !== 'worker' || Object.hasOwn(resolved.workers, draft.recipe.worker)) return [];
  const { worker } = draft.recipe;
  const names = Object.keys(resolved.workers);
  const near = suggest(worker, names);
  return [
    {
      path: ['targets', draft.origin, 'worker'],
      message: `there is no worker \`${worker}\``,
      expected: names.length === 0 ? 'a name under `workers:`' : `one of ${listNames(names, 20)}`,
      fix: near === undefined ? `add \`${worker}\` under \`workers:\`` : `did you mean \`${near}\`?`,
    },
  ];
};

/** What comes back, and who can bring it. */
const makesFindings = (draft: Draft): readonly Finding[] => {
  const { recipe, makes, origin, access } = draft;
  const path = ['targets', origin, 'makes'];
  if (recipe.kind === 'builtin' && makes !== 'files') {
    const message = `\`${origin}\` is built in and makes no ${makes}`;
    return [{ path, message, fix: 'remove `makes`, or use a `worker`' }];
  }
  if (recipe.kind === 'command' && (makes === 'review' || makes === 'plan' || makes === 'notes')) {
    const message = `a plain command cannot make a ${makes}: only a worker has a return file and an \`out/\` folder`;
    return [{ path, message, fix: 'use `worker: NAME`; any program can be one, see `adapter: command`' }];
  }
  if (makes === 'diff' && access !== 'write') {
    const message = `\`${origin}\` makes a diff, but may not write`;
    return [
      { path: ['targets', origin, 'access'], message, fix: 'write `access: write`, or remove the key' },
    ];
  }
  if (makes === 'review' && access === 'write') {
    const message = `\`${origin}\` is a review, and a review never writes`;
    return [
      { path: ['targets', origin, 'access'], message, fix: 'write `access: read-only`, or remove the key' },
    ];
  }
  return [];
};

const fileFindings = (draft: Draft): readonly Finding[] =>
  (['inputs', 'outputs'] as const).flatMap((key) =>
    draft[key].flatMap((text, at) =>
      staysInside(text)
        ? []
        : [
            {
              path: ['targets', draft.origin, key, at],
              message: `\`${text}\` leads out of the tree`,
              expected: 'a path below the tree, without `..`',
              fix: 'write it relative to the tree',
            },
          ],
    ),
  );

export const recipeFindings = (scene: Scene): readonly Finding[] =>
  scene.drafts.flatMap((draft) => [
    ...workerFinding(draft, scene),
    ...(draft.damaged ? [] : makesFindings(draft)),
    ...fileFindings(draft),
    ...sleeping(draft),
  ]);

const ticketFindings = (text: string): readonly Finding[] => {
  const path = ['tickets', 'path'];
  if (!text.includes('{ticket}')) {
    return [
      {
        path,
        message: `\`tickets.path\` is \`${text}\`, the same for every ticket`,
        expected: 'a path with `{ticket}`',
        fix: 'write e.g. `tickets/{ticket}.md`',
      },
    ];
  }
  if (staysInside(text)) return [];
  return [
    {
      path,
      message: `\`tickets.path\` is \`${text}\` and leads out of the repository`,
      expected: 'a path below the repository, without `..`',
      fix: 'write e.g. `tickets/{ticket}.md`',
    },
  ];
};

const branchFindings = (branch: string, base: string | undefined): readonly Finding[] => {
  const findings: Finding[] = [];
  if (!branch.includes('{ticket}')) {
    findings.push({
      path: ['branch'],
      message: `\`branch\` is \`${branch}\`, the same for every ticket`,
      expected: 'a name with `{ticket}`',
      fix: 'write e.g. `orchestrate/{ticket}`',
    });
  }
  if (!isBranchName(branch.replaceAll('{ticket}', '0'))) {
    findings.push({
      path: ['branch'],
      message: `\`branch\` is \`${branch}\`, which git does not take as a branch`,
      expected: 'what `git check-ref-format --branch` accepts',
      fix: 'write e.g. `orchestrate/{ticket}`',
    });
  }
  if (base !== undefined && !isBranchName(base)) {
    findings.push({
      path: ['base'],
      message: `\`base\` is \`${base}\`, which git does not take as a branch`,
      expected: 'a branch name',
      fix: 'write e.g. `main`',
    });
  }
  return findings;
};

const workerEnvFindings = (scene: Scene): readonly Finding[] =>
  Object.values(scene.resolved.workers).flatMap((worker) =>
    Object.keys(worker.env)
      .filter((variable) => variable.startsWith('ORCHESTRATE_'))
      .map((variable) => ({
        path: ['workers', worker.name, 'env', variable],
        at: 'key' as const,
        message: `\`${variable}\` is set by the orchestrator itself`,
        fix: 'use a name that does not start with `ORCHESTRATE_`',
      })),
  );

const repeated = (names: readonly string[], key: string): readonly Finding[] =>
  names.flatMap((name, at) =>
    names.indexOf(name) === at
      ? []
      : [{ path: [key, at], message: `\`${name}\` is listed twice`, fix: 'remove one' }],
  );

export const settingsFindings = (scene: Scene): readonly Finding[] => {
  const { tickets, branch, base, pillars } = scene.resolved.settings;
  return [
    ...ticketFindings(tickets.path),
    ...branchFindings(branch, base),
    ...repeated(pillars, 'pillars'),
    ...workerEnvFindings(scene),
  ];
};
