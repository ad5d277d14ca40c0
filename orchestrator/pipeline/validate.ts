import { findCycles, topologicalOrder } from './graph.js';
import { listNames, type Finding, type Path } from './problems.js';
import type { Draft } from './resolve.js';
import type { Scene } from './scene.js';
import { upstreamOf } from './upstream.js';
import { recipeFindings, settingsFindings } from './validate-recipes.js';
import { gateFindings, stepFindings } from './validate-gates.js';
import { manualFindings, warningFindings } from './validate-residents.js';

export interface Verdict {
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly order: readonly Draft[];
}

/** Position in the file, where a name may stand for all items of a foreach, or be made with `{each}`. */
const positionOf = (need: string, origin: string, scene: Scene): number => {
  const written = scene.merged.targets.get(origin)?.needs ?? [];
  const exact = written.indexOf(need);
  return Math.max(0, exact >= 0 ? exact : written.findIndex((text) => text.includes('{each}')));
};

const unknownNeed = (draft: Draft, need: string, path: Path, scene: Scene): Finding => {
  if (scene.merged.dropped.has(need)) {
    const message = `\`${draft.origin}\` needs \`${need}\`, which is dropped with null`;
    return { path, message, fix: `name another target, or keep \`${need}\`` };
  }
  const near = scene.suggest(need, scene.merged.targets.keys());
  return {
    path,
    message: `\`${draft.origin}\` needs \`${need}\`, and there is no such target`,
    fix: near === undefined ? `add a target \`${need}\`, or remove the name` : `did you mean \`${near}\`?`,
  };
};

const needFindings = (scene: Scene): readonly Finding[] => {
  const findings: Finding[] = [];
  for (const draft of scene.drafts) {
    for (const need of draft.needs) {
      if (need !== draft.name && scene.byName.has(need)) continue;
      const path = ['targets', draft.origin, 'needs', positionOf(need, draft.origin, scene)];
      if (need === draft.name)
        findings.push({ path, message: `\`${need}\` needs itself`, fix: 'remove the name' });
      else findings.push(unknownNeed(draft, need, path, scene));
    }
  }
  return findings;
};

const cycleFindings = (scene: Scene, cyclic: readonly Draft[]): readonly Finding[] => {
  if (cyclic.length === 0) return [];
  const cycles = findCycles(cyclic);
  const members = new Set(cycles.flat());
  const behind = cyclic.filter((draft) => !members.has(draft.name) && !draft.needs.includes(draft.name));
  return cycles.map((cycle, at) => {
    const [start = '', next = ''] = cycle;
    const origin = scene.byName.get(start)?.origin ?? start;
    const so =
      at > 0 || behind.length === 0
        ? ''
        : `; ${listNames(
            behind.map(({ name }) => name),
            3,
          )} can never be made either`;
    return {
      path: ['targets', origin, 'needs', positionOf(next, origin, scene)],
      message: `prerequisites go in a circle: ${[...cycle, start].join(' -> ')} (each needs the next)${so}`,
      fix: 'remove one of these `needs`',
    };
  });
};

const numberFindings = (scene: Scene): readonly Finding[] => {
  const owners = new Map<number, Draft>();
  const findings: Finding[] = [];
  for (const draft of scene.drafts) {
    const other = owners.get(draft.number);
    if (other === undefined) owners.set(draft.number, draft);
    else {
      findings.push({
        path: ['targets', draft.origin, 'number'],
        message: `\`${draft.name}\` has the number ${draft.number}, as \`${other.name}\` has`,
        fix: 'give it another number, or leave `number` out',
      });
    }
  }
  return findings;
};

const nothingToDo = (scene: Scene): readonly Finding[] =>
  scene.merged.targets.size > 0 || scene.merged.flawed
    ? []
    : [
        {
          path: ['targets'],
          message: 'the pipeline has no targets',
          expected: '`targets:` with at least one',
          fix: 'add one, or `extends: builtin`',
        },
      ];

/** Looks at the whole pipeline and finds everything that would go wrong later. Pure. */
export const validateResolved = (
  input: Pick<Scene, 'resolved' | 'manuals' | 'merged' | 'suggest'>,
): Verdict => {
  const { drafts } = input.resolved;
  const byName = new Map(drafts.map((draft) => [draft.name, draft]));
  const { order, cyclic } = topologicalOrder(drafts);
  const scene: Scene = { ...input, drafts, byName, order, upstream: upstreamOf(order) };
  return {
    problems: [
      ...input.resolved.findings,
      ...nothingToDo(scene),
      ...needFindings(scene),
      ...cycleFindings(scene, cyclic),
      ...numberFindings(scene),
      ...settingsFindings(scene),
      ...recipeFindings(scene),
      ...gateFindings(scene),
      ...stepFindings(scene),
      ...manualFindings(scene),
    ],
    warnings: warningFindings(scene),
    order,
  };
};
